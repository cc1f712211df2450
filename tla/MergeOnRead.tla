---------------------------- MODULE MergeOnRead ----------------------------
(***************************************************************************)
(* Log files and compaction, on top of CopyOnWrite: the twin of the Python *)
(* modules log_files and compaction. Process Writers + 1 is the compactor. *)
(*                                                                         *)
(* The actions of a writer are those of CopyOnWrite. What a module answers *)
(* in Python is here an operator that takes the place of CopyOnWrite's in  *)
(* the configuration of TLC; tla/manifest.toml lists them.                 *)
(***************************************************************************)
EXTENDS CopyOnWrite

CONSTANT Schedules          \* how many compactions are planned

Compactor == Writers + 1
Processes == 1..Compactor

MorInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                plans |-> {}, heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in Processes |-> Idle]

----------------------------------------------------------------------------
(* File slices *)

Pending == {p \in world.plans : p.requested \notin Completed}
Planned(group) == {p.requested : p \in {q \in Pending : \E i \in q.inputs : i.group = group}}
BaseFiles(group) == {f \in world.files : f.group = group /\ ~f.log /\ f.requested \notin Planned(group)}
Starts(group) == {f.requested : f \in BaseFiles(group)} \cup Planned(group)

\* Where the slices begin that are read: the latest, and the one before it while its compaction is pending.
Chosen(group, times) ==
    LET readable == Starts(group) \cap times
        last == Max(readable)
    IN  IF readable = {} THEN {}
        ELSE IF last \in Planned(group) /\ readable # {last} THEN {last, Max(readable \ {last})}
        ELSE {last}

\* A log file belongs to the latest slice that began before its commit completed.
StartOf(group, time) ==
    LET completion == (CHOOSE c \in world.commits : c.requested = time).completion
        before == {s \in Starts(group) : s <= completion}
    IN  IF before = {} THEN time ELSE Max(before)
Logs(group, times) ==
    {f \in world.files : /\ f.group = group /\ f.log
                         /\ f.requested \in times \cap Completed
                         /\ StartOf(group, f.requested) \in Chosen(group, times)}

MergedRows(base, logs) ==
    {row \in base : \A f \in logs : \A c \in f.rows : c[1] # row[1]}
    \cup UNION {{c \in f.rows : /\ c[2] # DELETED
                                /\ \A g \in logs : g.requested > f.requested =>
                                       \A d \in g.rows : d[1] # c[1]} : f \in logs}
RowsOfBase(group, time) == UNION {f.rows : f \in {g \in BaseFiles(group) : g.requested = time}}

\* In place of CopyOnWrite's operators.
RowsOfLogs(group, times) ==
    IF Chosen(group, times) = {} THEN {}
    ELSE MergedRows(RowsOfBase(group, Min(Chosen(group, times))), Logs(group, times))
BaseOfLogs(group, times) ==
    LET versions == {c.requested : c \in {d \in world.commits :
                        /\ d.requested \in times
                        /\ ~KeepsRows(d)
                        /\ \E f \in d.files : f.group = group}}
    IN  IF versions = {} THEN NOTHING ELSE Max(versions)
MergedIntoLogs(group, times, changes) ==
    [group |-> group, base |-> BaseOfLogs(group, times), log |-> Chosen(group, times) # {}, rows |-> changes]
MayPlaceInLogs(w, group, times) == Chosen(group, times) # {} \/ group = memory[w].number

----------------------------------------------------------------------------
(* Compaction *)

BaseTime(group, time) == IF \E f \in BaseFiles(group) : f.requested = time THEN time ELSE NOTHING
Taken == {i.group : i \in UNION {p.inputs : p \in Pending}}
Inputs ==
    {[group |-> g, base |-> BaseTime(g, Min(Chosen(g, Completed))), logs |-> {f.requested : f \in Logs(g, Completed)}] :
         g \in {h \in (1..Groups) \ Taken : Logs(h, Completed) # {}}}
HeldOff == FALSE            \* whether another module holds a compaction off
Blocks(file) ==
    [file EXCEPT !.rows = {c \in @ : c[2] # DELETED \/ Bug # "SKIP_DELETE_BLOCKS"}]
MaySchedule == Cardinality(world.plans) < Schedules /\ Inputs # {}

\* In place of CopyOnWrite's operators.
IsNoCompactor(w) == w # Compactor
IsCompaction(c) == \E p \in world.plans : p.requested = c.requested
IsPlan(time) == \E p \in world.plans : p.requested = time
PendingCompactions == {p.requested : p \in Pending}
HasWorkOfAny(w) == IF w = Compactor THEN MaySchedule ELSE MayStart(w) \/ HasRollbackWork

ScheduleCompaction(w) ==
    /\ w = Compactor
    /\ memory[w].phase = "START"
    /\ Locked(w)
    /\ MaySchedule
    /\ ~HeldOff
    /\ world' = [world EXCEPT !.plans = @ \cup {[requested |-> world.clock + 1, inputs |-> Inputs]},
                              !.requested = @ \cup {world.clock + 1},
                              !.clock = @ + 1]
    /\ UNCHANGED memory

RunCompaction(w) ==
    /\ w = Compactor
    /\ memory[w].phase = "START"
    /\ ~memory[w].hasLock
    /\ \E p \in Pending :
           /\ world' = [world EXCEPT !.inflight = @ \cup {p.requested},
                                     !.files = {f \in @ : f.requested # p.requested}]
           /\ memory' = [memory EXCEPT ![w].phase = "INFLIGHT", ![w].requested = p.requested,
                  ![w].plan = {[group |-> i.group, base |-> i.base, log |-> FALSE,
                                rows |-> MergedRows(RowsOfBase(i.group, i.base),
                                    {Blocks(f) : f \in {g \in world.files :
                                        g.group = i.group /\ g.log /\ g.requested \in i.logs}})]
                               : i \in p.inputs}]

NextOfCompactor(w) ==
    \/ WriteFile(w) \/ AcquireLock(w) \/ CheckConflicts(w) \/ UpdateMetadata(w) \/ CompleteInstant(w)
    \/ ReleaseLock(w) \/ AbortWrite(w)
    \/ ScheduleCompaction(w) \/ RunCompaction(w)
    \/ Crash(w)

MorNext == Next \/ NextOfCompactor(Compactor)
MorSpec == MorInit /\ [][MorNext]_vars

----------------------------------------------------------------------------
(* The promises *)

SerialOfAll ==
    UNION {{change \in c.changes :
                /\ change[2] # DELETED
                /\ \A d \in world.commits : d.requested > c.requested =>
                       \A other \in d.changes : other[1] # change[1]} : c \in world.commits}
Latest == UNION {Rows(g, Completed \cup PendingInstants) : g \in 1..Groups}

LatestSnapshot == Latest = SerialOfAll
NoResurrectedDelete == {row[1] : row \in Latest} \subseteq {row[1] : row \in SerialOfAll}
PlannedFilesStay ==
    \A p \in Pending : \A i \in p.inputs :
        /\ i.base # NOTHING => \E f \in world.files : f.group = i.group /\ ~f.log /\ f.requested = i.base
        /\ \A t \in i.logs : \E f \in world.files : f.group = i.group /\ f.log /\ f.requested = t
=============================================================================
