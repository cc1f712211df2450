---------------------------- MODULE LogCompaction ----------------------------
(***************************************************************************)
(* Log compaction, on top of MergeOnRead: the twin of the Python module    *)
(* log_compaction. Process Writers + 2 is the log compactor.               *)
(***************************************************************************)
EXTENDS MergeOnRead

CONSTANT LogSchedules, Waits    \* how many log compactions are planned; whether plans wait for pending writes

LogCompactor == Writers + 2

LogCompactionInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                plans |-> {}, logPlans |-> {}, heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0,
                started |-> 0, crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in 1..LogCompactor |-> Idle]

----------------------------------------------------------------------------
(* Plans *)

PendingLogPlans == {p \in world.logPlans : p.requested \notin Completed}
TakenByLogPlans == {i.group : i \in UNION {p.inputs : p \in PendingLogPlans}}
IsAnyPlan(time) == \E p \in world.plans \cup world.logPlans : p.requested = time
PendingWrites == {t \in world.requested \ Completed : ~IsAnyPlan(t)}
LogInputs ==
    IF Waits /\ PendingWrites # {} THEN {}
    ELSE {[group |-> g, logs |-> {f.requested : f \in Logs(g, Completed)}] :
              g \in {h \in (1..Groups) \ (Taken \cup TakenByLogPlans) : Logs(h, Completed) # {}}}
MayLogCompact == Cardinality(world.logPlans) < LogSchedules /\ LogInputs # {}

\* In place of the operators of MergeOnRead and CopyOnWrite.
IsOneOfTheWriters(w) == w <= Writers
IsCompactionOfAnyKind(c) == IsAnyPlan(c.requested)
HasWorkOfThree(w) ==
    IF w = Compactor THEN MaySchedule ELSE IF w = LogCompactor THEN MayLogCompact ELSE MayStart(w) \/ HasRollbackWork
KeepsOff == {i.group : i \in Inputs} \cap TakenByLogPlans # {}

----------------------------------------------------------------------------
(* Log compaction *)

LastChanges(logs) ==
    UNION {{c \in f.rows : \A g \in logs : g.requested > f.requested => \A d \in g.rows : d[1] # c[1]} : f \in logs}

Carried(logs) == {c \in LastChanges(logs) : c[2] # DELETED \/ Bug # "LOG_COMPACT_WITHOUT_DELETES"}

ScheduleLogCompaction(w) ==
    /\ w = LogCompactor
    /\ memory[w].phase = "START"
    /\ Locked(w)
    /\ MayLogCompact
    /\ world' = [world EXCEPT !.logPlans = @ \cup {[requested |-> world.clock + 1, inputs |-> LogInputs]},
                              !.requested = @ \cup {world.clock + 1},
                              !.clock = @ + 1]
    /\ UNCHANGED memory

RunLogCompaction(w) ==
    /\ w = LogCompactor
    /\ memory[w].phase = "START"
    /\ ~memory[w].hasLock
    /\ \E p \in PendingLogPlans :
           /\ world' = [world EXCEPT !.inflight = @ \cup {p.requested},
                                     !.files = {f \in @ : f.requested # p.requested}]
           /\ memory' = [memory EXCEPT ![w].phase = "INFLIGHT", ![w].requested = p.requested,
                  ![w].plan = {[group |-> i.group, base |-> NOTHING, log |-> TRUE,
                                rows |-> Carried({f \in world.files :
                                             f.group = i.group /\ f.log /\ f.requested \in i.logs})]
                               : i \in p.inputs}]

NextOfLogCompactor(w) ==
    \/ WriteFile(w) \/ AcquireLock(w) \/ CheckConflicts(w) \/ UpdateMetadata(w) \/ CompleteInstant(w)
    \/ ReleaseLock(w) \/ AbortWrite(w)
    \/ ScheduleLogCompaction(w) \/ RunLogCompaction(w)
    \/ Crash(w)

LogCompactionNext == MorNext \/ NextOfLogCompactor(LogCompactor)
LogCompactionSpec == LogCompactionInit /\ [][LogCompactionNext]_vars

----------------------------------------------------------------------------
(* The promise *)

MergedLogs(group) ==
    UNION {i.logs : i \in {j \in UNION {p.inputs : p \in world.logPlans \ PendingLogPlans} : j.group = group}}
LatestWithout ==
    LET now == Completed \cup PendingInstants
    IN  UNION {IF Chosen(g, now) = {} THEN {}
               ELSE MergedRows(RowsOfBase(g, Min(Chosen(g, now))),
                               {f \in Logs(g, now) : f.requested \notin MergedLogs(g)}) : g \in 1..Groups}
MergedLogsUnneeded == Latest = LatestWithout
=============================================================================
