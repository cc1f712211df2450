---------------------------- MODULE NonBlocking ----------------------------
(***************************************************************************)
(* Writers of buckets that all complete, on top of MergeOnRead: the twin   *)
(* of the Python module non_blocking, with the switches of log_files.      *)
(* Where a slice begins is said here in one expression, in Python by       *)
(* taking the log files one after the other.                               *)
(***************************************************************************)
EXTENDS MergeOnRead

CONSTANTS
    OrderByCompletion,      \* whether log files are merged in the order of completion times, or of requested times
    SliceByCompletion,      \* the time that decides which slice a log file belongs to
    BegunByPending,         \* whether the log file of a pending write begins the first slice of a bucket
    Greatest,               \* whether the greatest value of a key stays, in place of the last
    ReadOnByCompletion      \* the time by which readers of changes read on

Completion(time) == (CHOOSE c \in world.commits : c.requested = time).completion
Bucket(key) == ((key - 1) % Groups) + 1

----------------------------------------------------------------------------
(* In place of MergeOnRead's operators *)

Decisive(time) == IF SliceByCompletion THEN Completion(time) ELSE time
StartsOfBuckets(group) ==
    LET begun == {f.requested : f \in BaseFiles(group)} \cup Planned(group)
        logs == {f.requested : f \in {g \in world.files : g.group = group /\ g.log}}
        homeless == IF begun = {} THEN IF BegunByPending THEN logs ELSE logs \cap Completed
                    ELSE {t \in logs \cap Completed : \A s \in begun : s > Decisive(t)}
    IN  begun \cup (IF homeless = {} THEN {} ELSE {Min(homeless)})
StartInBucket(group, time) ==
    LET before == {s \in Starts(group) : s <= Decisive(time)}
    IN  IF before = {} THEN time ELSE Max(before)

Place(time) == IF OrderByCompletion THEN Completion(time) ELSE time
MergedInOrder(base, logs) ==
    IF Greatest
    THEN LET rows == base \cup UNION {f.rows : f \in logs}
         IN  {row \in rows : \A other \in rows : other[1] = row[1] => other[2] <= row[2]}
    ELSE {row \in base : \A f \in logs : \A c \in f.rows : c[1] # row[1]}
         \cup UNION {{c \in f.rows : /\ c[2] # DELETED
                                     /\ \A g \in logs : Place(g.requested) > Place(f.requested) =>
                                            \A d \in g.rows : d[1] # c[1]} : f \in logs}
SerialByRule == MergedInOrder({}, {[requested |-> c.requested, rows |-> c.changes] : c \in world.commits})
NobodyIsCompared(w) == FALSE

LookupBuckets(w) ==
    LET m == memory[w]
        changes == {<<c[1], IF c[2] THEN m.number ELSE DELETED>> : c \in Workload[m.number]}
    IN  /\ m.phase = "REQUESTED"
        /\ ~m.hasLock
        /\ memory' = [memory EXCEPT ![w].phase = "LOOKED_UP", ![w].changes = changes,
               ![w].plan = {[group |-> g, base |-> NOTHING, log |-> TRUE,
                             rows |-> {c \in changes : Bucket(c[1]) = g}] : g \in {Bucket(c[1]) : c \in changes}}]
        /\ UNCHANGED world

----------------------------------------------------------------------------
(* The promise *)

TimeToReadOn(c) == IF ReadOnByCompletion THEN c.completion ELSE c.requested
IncrementalReads ==
    \A last \in world.commits :
        LET read == {c \in world.commits : c.completion <= last.completion}
        IN  \A c \in world.commits \ read :
                KeepsRows(c) \/ TimeToReadOn(c) > Max({TimeToReadOn(d) : d \in read})
=============================================================================
