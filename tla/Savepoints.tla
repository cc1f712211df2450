----------------------------- MODULE Savepoints -----------------------------
(***************************************************************************)
(* Savepoints and restores to them, on top of Cleaning: the twin of the    *)
(* Python modules savepoints and restores. Process Writers + 3 is the      *)
(* operator, who has no memory but that of the lock.                       *)
(***************************************************************************)
EXTENDS Cleaning

CONSTANTS
    Waits,              \* whether a savepoint waits for pending writes that were requested before its write
    LocksRestores,      \* whether restores are planned and completed under the table lock
    HeededByWriters,    \* whether writers that were requested before a restore give up
    ByCompletion,       \* whether the completion time of a write decides whether it is taken back
    MaxSavepoints, MaxRestores

Operator == Writers + 3

SavepointsInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                cleans |-> {}, queries |-> 0, running |-> {}, savepoints |-> {}, restores |-> {},
                heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in 1..Operator |-> Idle]

----------------------------------------------------------------------------
(* What may be saved and taken back *)

NamesOfSavepoints == UNION {s.files : s \in world.savepoints}
IsKept(time) ==
    /\ ~Refused(time)
    /\ \A n \in Removed :
           ~ /\ n[2] <= time
             /\ \E c \in world.commits : c.requested = n[2]
             /\ \A c \in world.commits : n[2] < c.requested /\ c.requested <= time =>
                    \A f \in c.files : f.group # n[1]
KeptBySavepoints == IF Bug = "CLEAN_SAVEPOINTED_SLICES" THEN {} ELSE NamesOfSavepoints
MaySave(time) ==
    /\ Cardinality(world.savepoints) < MaxSavepoints
    /\ \A s \in world.savepoints : s.requested # time
    /\ Bug # "SAVEPOINT_OF_CLEANED" => IsKept(time)
    /\ Waits => \A t \in PendingWrites : t > time

PendingRestores == {r \in world.restores : r.state # "COMPLETED"}
MayRestore == Cardinality(world.restores) < MaxRestores /\ PendingRestores = {} /\ world.savepoints # {}

\* Its end is what counts of a write by completion times; what is pending comes last.
End(time) ==
    IF time \in Completed THEN (CHOOSE c \in world.commits : c.requested = time).completion ELSE world.clock + time
Rank(time) == IF ByCompletion THEN End(time) ELSE time
ToTakeBack(time) ==
    LET all == IF Bug = "RESTORE_LEAVES_PENDING" THEN Completed ELSE world.requested \cup world.inflight
        targets == {t \in all : Rank(t) > Rank(time)}
        before(u, t) == IF Bug = "RESTORE_OLDEST_FIRST" THEN Rank(u) < Rank(t) ELSE Rank(u) > Rank(t)
    IN  [i \in 1..Cardinality(targets) |->
            CHOOSE t \in targets : Cardinality({u \in targets : before(u, t)}) = i - 1]

Times(r) == {r.plan[i] : i \in DOMAIN r.plan}
StillThere(r) == {i \in DOMAIN r.plan : r.plan[i] \in world.requested \cup world.inflight}
Turn(r) == r.plan[Min(StillThere(r))]
IsTakenBack(r) == r.state = "INFLIGHT" /\ StillThere(r) = {}
Running == {r \in world.restores : r.state = "INFLIGHT" /\ StillThere(r) # {}}
FilesOf(time) == {f \in world.files : f.requested = time}
Became(r, s) == (world.restores \ {r}) \cup {s}

\* In place of others' operators and actions.
HasWorkWithOperator(w) ==
    IF w # Operator THEN HasWorkOfCleaning(w)
    ELSE \/ \E time \in Completed : MaySave(time)
         \/ LocksRestores /\ (MayRestore \/ \E r \in world.restores : IsTakenBack(r))
ClashesWithRestores(w) ==
    \/ ClashesOfCleaning(w)
    \/ HeededByWriters /\ \E r \in world.restores : r.requested > memory[w].requested
GenerateRequestedTimeUnlessRestoring(w) ==
    /\ memory[w].phase = "START"
    /\ Believes(w)
    /\ MayStart(w)
    /\ PendingRestores = {}
    /\ world' = [world EXCEPT !.clock = @ + 1, !.started = @ + 1]
    /\ memory' = [memory EXCEPT ![w].phase = "TIMED", ![w].requested = world.clock + 1,
                                ![w].number = world.started + 1]

----------------------------------------------------------------------------
(* The operator *)

CreateSavepoint(w) ==
    /\ w = Operator
    /\ Locked(w)
    /\ PendingRestores = {}
    /\ \E time \in Completed :
           /\ MaySave(time)
           /\ world' = [world EXCEPT
                  !.savepoints = @ \cup {[requested |-> time, completion |-> world.clock + 1,
                                          files |-> FilesRead(time)]},
                  !.clock = @ + 1]
    /\ UNCHANGED memory

ScheduleRestore(w) ==
    /\ w = Operator
    /\ LocksRestores => Locked(w)
    /\ MayRestore
    /\ \E s \in world.savepoints :
           world' = [world EXCEPT
               !.restores = @ \cup {[requested |-> world.clock + 1, savepoint |-> s.requested, state |-> "REQUESTED",
                                     completion |-> NOTHING, plan |-> ToTakeBack(s.requested)]},
               !.clock = @ + 1]
    /\ UNCHANGED memory

RunRestore(w) ==
    /\ w = Operator
    /\ ~memory[w].hasLock
    /\ \E r \in world.restores :
           /\ r.state = "REQUESTED"
           /\ world' = [world EXCEPT !.restores = Became(r, [r EXCEPT !.state = "INFLIGHT"])]
    /\ UNCHANGED memory

UndoCompletion(w) ==
    /\ w = Operator
    /\ ~memory[w].hasLock
    /\ \E r \in Running :
           /\ Turn(r) \in Completed
           /\ world' = [world EXCEPT !.commits = {c \in @ : c.requested # Turn(r)}]
    /\ UNCHANGED memory

UndoWrite(w) ==
    /\ w = Operator
    /\ ~memory[w].hasLock
    /\ \E r \in Running :
           /\ Turn(r) \notin Completed
           /\ FilesOf(Turn(r)) # {}
           /\ LET first == Min({f.group : f \in FilesOf(Turn(r))})
              IN  world' = [world EXCEPT !.files = {f \in @ : f.requested # Turn(r) \/ f.group # first}]
    /\ UNCHANGED memory

UndoRequest(w) ==
    /\ w = Operator
    /\ ~memory[w].hasLock
    /\ \E r \in Running :
           /\ Turn(r) \notin Completed
           /\ FilesOf(Turn(r)) = {}
           /\ world' = [world EXCEPT !.requested = @ \ {Turn(r)}, !.inflight = @ \ {Turn(r)}]
    /\ UNCHANGED memory

CompleteRestore(w) ==
    /\ w = Operator
    /\ LocksRestores => Locked(w)
    /\ \E r \in world.restores :
           /\ IsTakenBack(r)
           /\ world' = [world EXCEPT
                  !.restores = Became(r, [r EXCEPT !.state = "COMPLETED", !.completion = world.clock + 1]),
                  !.metadata = @ \ Times(r),
                  !.clock = @ + 1]
    /\ UNCHANGED memory

NextOfOperator(w) ==
    \/ AcquireLock(w) \/ ReleaseLock(w) \/ Crash(w)
    \/ CreateSavepoint(w) \/ ScheduleRestore(w) \/ RunRestore(w)
    \/ UndoCompletion(w) \/ UndoWrite(w) \/ UndoRequest(w) \/ CompleteRestore(w)

SavepointsNext == CleaningNext \/ NextOfOperator(Operator)
SavepointsSpec == SavepointsInit /\ [][SavepointsNext]_vars

----------------------------------------------------------------------------
(* The promises *)

SavepointsStay == NamesOfSavepoints \subseteq There

RestoresAreExact ==
    \A r \in world.restores :
        r.state = "COMPLETED" /\ (\A c \in world.commits : c.completion <= r.completion) =>
            /\ \A t \in world.requested : ~(r.savepoint < t /\ t < r.requested)
            /\ FilesRead(IF Completed = {} THEN 0 ELSE Max(Completed))
                   = (CHOOSE s \in world.savepoints : s.requested = r.savepoint).files

TransitionsAreLegal ==
    /\ \A c \in world.commits :
           /\ c.requested \in world.requested /\ c.requested \in world.inflight
           /\ c.requested \in world.metadata
           /\ \A r \in world.rollbacks : r.target # c.requested
    /\ \A time \in world.inflight :
           \/ time \in world.requested
           \/ \E r \in world.rollbacks : r.target = time
           \/ \E r \in world.restores : time \in Times(r)
=============================================================================
