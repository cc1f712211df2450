---------------------------- MODULE QueryTypes ----------------------------
(***************************************************************************)
(* Queries of changes and read-optimized queries, on top of NonBlocking:   *)
(* the twin of the Python module query_types. There are no actions: both   *)
(* are functions of the world. The operators of MergeOnRead say what is    *)
(* read now; the ones here what was read when only some had completed.     *)
(***************************************************************************)
EXTENDS NonBlocking

CONSTANT ImagesByCompletion     \* the time by which "right before a write" is meant

Times(done) == {c.requested : c \in done}
ChangesRows(c) == c.changes # {}

----------------------------------------------------------------------------
(* The table when the commits in done were all that had completed *)

UndonePlans(done) == {p \in world.plans : p.requested \notin Times(done)}
PlannedThen(group, done) == {p.requested : p \in {q \in UndonePlans(done) : \E i \in q.inputs : i.group = group}}
BasesThen(group, done) ==
    {f \in world.files : f.group = group /\ ~f.log /\ f.requested \notin PlannedThen(group, done)}
LogsThen(group, done) == {f \in world.files : f.group = group /\ f.log /\ f.requested \in Times(done)}
StartsThen(group, done) ==
    LET begun == {f.requested : f \in BasesThen(group, done)} \cup PlannedThen(group, done)
        homeless == {t \in {f.requested : f \in LogsThen(group, done)} : \A s \in begun : s > Decisive(t)}
    IN  begun \cup (IF homeless = {} THEN {} ELSE {Min(homeless)})
StartThen(group, time, done) ==
    LET before == {s \in StartsThen(group, done) : s <= Decisive(time)}
    IN  IF before = {} THEN time ELSE Max(before)
ChosenThen(group, done, now) ==
    LET begun == {p.requested : p \in {q \in UndonePlans(done) : q.requested < now}}
        readable == StartsThen(group, done) \cap (Times(done) \cup begun)
        last == Max(readable)
    IN  IF readable = {} THEN {}
        ELSE IF last \in PlannedThen(group, done) /\ readable # {last} THEN {last, Max(readable \ {last})}
        ELSE {last}
RowsThen(group, done, now) ==
    LET chosen == ChosenThen(group, done, now)
    IN  IF chosen = {} THEN {}
        ELSE MergedInOrder(UNION {f.rows : f \in {g \in BasesThen(group, done) : g.requested = Min(chosen)}},
                           {f \in LogsThen(group, done) : StartThen(group, f.requested, done) \in chosen})

SerialThen(done) ==
    UNION {{change \in c.changes :
                /\ change[2] # DELETED
                /\ \A d \in done : d.completion > c.completion => \A other \in d.changes : other[1] # change[1]}
           : c \in done}

----------------------------------------------------------------------------
(* Images of changes *)

Value(rows, key) == IF \E row \in rows : row[1] = key THEN (CHOOSE row \in rows : row[1] = key)[2] ELSE NOTHING
Differences(before, after) ==
    {<<key, Value(before, key), Value(after, key)>> :
         key \in {k \in {row[1] : row \in before \cup after} : Value(before, k) # Value(after, k)}}
Earlier(c) ==
    {d \in world.commits : IF ImagesByCompletion \/ ~ChangesRows(d)
                           THEN d.completion < c.completion
                           ELSE d.requested < c.requested}
Captured(c) ==
    LET groups == {f.group : f \in c.files}
    IN  IF ~ChangesRows(c) THEN {}
        ELSE Differences(UNION {RowsThen(g, Earlier(c), c.completion) : g \in groups},
                         UNION {RowsThen(g, Earlier(c) \cup {c}, c.completion) : g \in groups})

----------------------------------------------------------------------------
(* The promises *)

CapturedChanges ==
    \A c \in world.commits :
        Captured(c) = Differences(SerialThen({d \in world.commits : d.completion < c.completion}),
                                  SerialThen({d \in world.commits : d.completion <= c.completion}))

Mentions(c, key) == \E f \in c.files : \E row \in f.rows : row[1] = key
IsIn(key, group, done) ==
    \E c \in done :
        /\ \E f \in c.files : f.group = group /\ \E row \in f.rows : row[1] = key
        /\ \A d \in done : d.completion > c.completion => ~Mentions(d, key)
ReadOptimizedReads ==
    \A group \in 1..Groups :
        LET bases == {f \in world.files : f.group = group /\ ~f.log /\ f.requested \in Completed}
            begun == Max({f.requested : f \in bases})
            own == CHOOSE c \in world.commits : c.requested = begun
            now == IF ChangesRows(own) THEN own.completion ELSE begun
            done == {c \in world.commits : c = own \/ c.completion < now}
        IN  bases # {} =>
                \A base \in {f \in bases : f.requested = begun} :
                    base.rows = {row \in SerialThen(done) : IsIn(row[1], group, done)}
=============================================================================
