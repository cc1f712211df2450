------------------------------ MODULE Cleaning ------------------------------
(***************************************************************************)
(* Cleaning beside a running query, on top of CopyOnWrite: the twin of the *)
(* Python modules queries and cleaning. Process Writers + 1 is the reader, *)
(* Writers + 2 the cleaner; both have no memory but that of the lock.      *)
(***************************************************************************)
EXTENDS CopyOnWrite

CONSTANTS
    ByVersions,         \* whether versions of each file group are kept, or the slices of the last commits
    Retained,           \* how many of them
    HeedsPlans,         \* whether readers refuse times before the earliest commit of a pending clean, too
    MaxCleans, MaxQueries

Reader == Writers + 1
Cleaner == Writers + 2
Processes == 1..Cleaner

CleaningInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                cleans |-> {}, queries |-> 0, running |-> {},
                heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in Processes |-> Idle]

Name(f) == <<f.group, f.requested>>
There == {Name(f) : f \in world.files}
First(names) == CHOOSE n \in names : \A m \in names : n[1] < m[1] \/ (n[1] = m[1] /\ n[2] <= m[2])

----------------------------------------------------------------------------
(* What is kept *)

Newest(times) == {t \in times : Cardinality({u \in times : u >= t}) <= Retained}
PendingWrites == (world.requested \cup world.inflight) \ Completed

\* The earliest commit that is kept, never later than the first pending write; 0 where all are.
Earliest ==
    IF ByVersions \/ Cardinality(Completed) <= Retained THEN 0
    ELSE IF PendingWrites = {} \/ Min(PendingWrites) > Min(Newest(Completed)) THEN Min(Newest(Completed))
    ELSE LET before == {t \in Completed : t < Min(PendingWrites)}
         IN  IF before = {} THEN 0 ELSE Max(before)

Counted(time) == time \in Completed \/ Bug = "CLEAN_COUNTS_PENDING"
Starts(group) == {t \in {f.requested : f \in {g \in world.files : g.group = group}} : Counted(t)}
Kept(group) ==
    LET starts == Starts(group)
        before == IF Bug = "CLEAN_ONE_TOO_MANY" THEN {} ELSE {s \in starts : s < Earliest}
    IN  IF ByVersions THEN Newest(starts)
        ELSE {s \in starts : s >= Earliest} \cup {Max(starts)}
             \cup (IF before = {} THEN {} ELSE {Max(before)})
NeededByOthers == {}    \* what another module keeps, in whose configuration this operator is replaced
FilesToClean ==
    IF ~ByVersions /\ Earliest = 0 THEN {}
    ELSE {n \in There : Counted(n[2]) /\ n[2] \notin Kept(n[1]) /\ n \notin NeededByOthers}

PendingCleans == {c \in world.cleans : c.state # "COMPLETED"}
MayPlan == Cardinality(world.cleans) < MaxCleans /\ PendingCleans = {} /\ FilesToClean # {}
IsRun(c) == c.state = "INFLIGHT" /\ c.plan \cap There = {}
Changed(c, d) == (world.cleans \ {c}) \cup {d}

Heeded == {c \in world.cleans : HeedsPlans \/ c.state = "COMPLETED"}
Refused(time) ==
    Heeded # {} /\ time < (CHOOSE c \in Heeded : \A d \in Heeded : c.requested >= d.requested).earliest
Removed == UNION {c.plan : c \in world.cleans}

\* In place of CopyOnWrite's operators.
IsOneOfTheWriters(w) == w <= Writers
HasWorkOfCleaning(w) ==
    IF w = Cleaner THEN MayPlan \/ \E c \in world.cleans : IsRun(c)
    ELSE w # Reader /\ (MayStart(w) \/ HasRollbackWork)
ClashesOfCleaning(w) ==
    LET seen == {c \in world.commits : <<c.requested, c.completion>> \in memory[w].snapshot}
    IN  \E n \in Removed :
            /\ \E c \in seen : c.requested = n[2]
            /\ \A c \in seen : c.requested > n[2] => \A f \in c.files : f.group # n[1]

----------------------------------------------------------------------------
(* Cleaning *)

ScheduleClean(w) ==
    /\ w = Cleaner
    /\ memory[w].phase = "START"
    /\ Locked(w)
    /\ MayPlan
    /\ world' = [world EXCEPT
           !.cleans = @ \cup {[requested |-> world.clock + 1, state |-> "REQUESTED", completion |-> NOTHING,
                               earliest |-> Earliest, plan |-> FilesToClean]},
           !.clock = @ + 1]
    /\ UNCHANGED memory

RunClean(w) ==
    /\ w = Cleaner
    /\ ~memory[w].hasLock
    /\ \E c \in world.cleans :
           /\ c.state = "REQUESTED"
           /\ world' = [world EXCEPT !.cleans = Changed(c, [c EXCEPT !.state = "INFLIGHT"])]
    /\ UNCHANGED memory

CleanFile(w) ==
    /\ w = Cleaner
    /\ ~memory[w].hasLock
    /\ \E c \in world.cleans :
           /\ c.state = "INFLIGHT"
           /\ c.plan \cap There # {}
           /\ world' = [world EXCEPT !.files = {f \in @ : Name(f) # First(c.plan \cap There)}]
    /\ UNCHANGED memory

CompleteClean(w) ==
    /\ w = Cleaner
    /\ Locked(w)
    /\ \E c \in world.cleans :
           /\ IsRun(c)
           /\ world' = [world EXCEPT
                  !.cleans = Changed(c, [c EXCEPT !.state = "COMPLETED", !.completion = world.clock + 1]),
                  !.clock = @ + 1]
    /\ UNCHANGED memory

----------------------------------------------------------------------------
(* A query *)

FilesRead(time) ==
    {Name(Slice(g, VisibleTimes(time))) : g \in {h \in AllGroups : Versions(h, VisibleTimes(time)) # {}}}

PlanQuery(w) ==
    /\ w = Reader
    /\ world.running = {}
    /\ world.queries < MaxQueries
    /\ \E time \in Completed :
           /\ ~Refused(time)
           /\ FilesRead(time) # {}
           /\ world' = [world EXCEPT !.queries = @ + 1,
                                     !.running = {[asOf |-> time, left |-> FilesRead(time)]}]
    /\ UNCHANGED memory

\* With the last file, and with one that is gone, the query is over.
OpenFile(w) ==
    /\ w = Reader
    /\ \E q \in world.running :
           LET next == First(q.left)
           IN  world' = [world EXCEPT !.running =
                   IF next \notin There \/ q.left = {next} THEN {} ELSE {[q EXCEPT !.left = @ \ {next}]}]
    /\ UNCHANGED memory

NextOfCleaner(w) ==
    \/ AcquireLock(w) \/ ReleaseLock(w) \/ Crash(w)
    \/ ScheduleClean(w) \/ RunClean(w) \/ CleanFile(w) \/ CompleteClean(w)

CleaningNext == Next \/ NextOfCleaner(Cleaner) \/ PlanQuery(Reader) \/ OpenFile(Reader)
CleaningSpec == CleaningInit /\ [][CleaningNext]_vars

----------------------------------------------------------------------------
(* The promises *)

ConsistentReadInRetention ==
    \A time \in Completed :
        ~Refused(time) => UNION {Rows(g, VisibleTimes(time)) : g \in AllGroups} = Serial(time)

NoDuplicateKeysInRetention ==
    \A time \in Completed : ~Refused(time) => \A g, h \in AllGroups :
        g # h => {row[1] : row \in Rows(g, VisibleTimes(time))}
                 \cap {row[1] : row \in Rows(h, VisibleTimes(time))} = {}

UncleanedWritesStay ==
    \A c \in world.commits :
        /\ \A d \in world.commits : d.requested = c.requested => d = c
        /\ \A f \in c.files : <<f.group, c.requested>> \notin Removed =>
               [group |-> f.group, requested |-> c.requested, rows |-> f.rows, log |-> f.log] \in world.files

QueriesKeepFiles ==
    \A q \in world.running : \A n \in q.left \ There :
        LET later == {c \in world.commits :
                          c.requested > q.asOf /\ (ByVersions => \E f \in c.files : f.group = n[1])}
        IN  Cardinality(later) > (IF ByVersions THEN Retained - 1 ELSE Retained)
=============================================================================
