---------------------------- MODULE CopyOnWrite ----------------------------
(***************************************************************************)
(* Concurrent writers on a copy-on-write table, with crashes, expiring     *)
(* heartbeats and leases, and rollbacks of failed writes.                  *)
(*                                                                         *)
(* The same actions, under the same names and in the same order, as the    *)
(* Python model (model/drawstring_model), which says more about each. Here *)
(* clocks are monotonic, rollback is lazy and snapshot times are requested *)
(* times; so no file is ever put twice, and write tokens and put-if-absent *)
(* decide nothing.                                                         *)
(*                                                                         *)
(* world is what all writers share; what begins with ghost exists for the  *)
(* invariants only. memory[w] is what writer w remembers.                  *)
(*                                                                         *)
(* The operators under "What other modules have a say in" are replaced by  *)
(* them, in the configuration of TLC (Rows <- RowsOfLogs, say).            *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS
    Writers,            \* number of writers
    Groups,             \* number of file groups
    Workload,           \* sequence of operations: sets of <<key, written>>
    Optimistic,         \* whether writers lock and compare file groups
    KeyCheck,           \* whether new keys are compared
    MaxCrashes, MaxHeartbeatExpiries, MaxLockExpiries, MaxFaults, FaultsUntil, MaxRenewals

VARIABLES world, memory
vars == <<world, memory>>

FREE == 0
ORPHANED == Writers + 100
DELETED == 0
NOTHING == 0

Min(S) == CHOOSE x \in S : \A y \in S : x <= y
Max(S) == CHOOSE x \in S : \A y \in S : x >= y

Idle == [phase |-> "START", hasLock |-> FALSE, beating |-> FALSE, requested |-> 0, number |-> 0,
         snapshot |-> {}, changes |-> {}, newKeys |-> {}, plan |-> {}, written |-> {}]

Init ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in 1..Writers |-> Idle]

----------------------------------------------------------------------------
(* What other modules have a say in *)

IsWriter(w) == TRUE                 \* whether process w is a writer, with heartbeats and conflicts
KeepsRows(c) == FALSE               \* whether a commit only lays rows out anew
Spared(time) == FALSE               \* whether a pending instant waits to be run, and is no failed write
MayPlace(w, group, times) == TRUE   \* whether new keys may go to a file group
PendingInstants == {}               \* pending instants that are on the timeline of a query
IsCompared(w) == IsWriter(w)        \* whether what process w wrote is compared with what others completed
Clashes(w) == FALSE                 \* whether another module makes a process give up that is about to complete
AllGroups == 1..Groups              \* the file groups that readers know of

----------------------------------------------------------------------------
(* What the actions have in common *)

Locked(w) == Optimistic => memory[w].hasLock /\ world.lock = w
Believes(w) == Optimistic => memory[w].hasLock
MayStart(w) == world.started < Len(Workload) /\ (world.started > 0 \/ w = 1)
Completed == {c.requested : c \in world.commits}
IsAlive(time) == [requested |-> time, expired |-> FALSE] \in world.heartbeats
WithoutBeat(time) == {b \in world.heartbeats : b.requested # time}
WithoutLive(time, w) == {l \in world.ghostLive : l.requested # time \/ l.writer # w}
FaultAllowed ==
    /\ world.crashes + world.heartbeatExpiries + world.lockExpiries < MaxFaults
    /\ world.started <= FaultsUntil

\* The file of a group that is read where the commits requested at times are visible.
Versions(group, times) == {f \in world.files : f.group = group /\ f.requested \in times}
Slice(group, times) == CHOOSE f \in Versions(group, times) :
                           \A g \in Versions(group, times) : g.requested <= f.requested
Rows(group, times) == IF Versions(group, times) = {} THEN {} ELSE Slice(group, times).rows
Base(group, times) == IF Versions(group, times) = {} THEN NOTHING ELSE Slice(group, times).requested
Homes(key, times) == {g \in AllGroups : \E row \in Rows(g, times) : row[1] = key}

SnapshotOf(w) == {<<c.requested, c.completion>> :
                      c \in {d \in world.commits : d.requested < memory[w].requested}}
Basis(w) == {s[1] : s \in SnapshotOf(w)} \cup PendingInstants
Candidates(w) == {c \in world.commits :
                      <<c.requested, c.completion>> \notin memory[w].snapshot /\ ~KeepsRows(c)}
Fenced(w) ==
    LET time == memory[w].requested
    IN  \/ IsWriter(w) /\ ~IsAlive(time)
        \/ time \notin world.requested
        \/ time \notin world.inflight
        \/ \E r \in world.rollbacks : r.target = time
Conflicts(w) ==
    \/ Clashes(w)
    \/ /\ IsCompared(w)
       /\ \/ /\ Optimistic
             /\ \E c \in Candidates(w) : \E f \in c.files : \E g \in memory[w].written : f.group = g.group
          \/ /\ KeyCheck
             /\ \E c \in Candidates(w) : c.newKeys \cap memory[w].newKeys # {}

InHand == {r.target : r \in {s \in world.rollbacks : s.state # "COMPLETED"}}
FailedWrites == {t \in world.requested \cup world.inflight :
                     t \notin Completed /\ t \notin InHand /\ ~IsAlive(t) /\ ~Spared(t)}
Targets(w) ==
    IF memory[w].phase # "ABORTED" THEN FailedWrites
    ELSE {t \in {memory[w].requested} :
              t \in world.requested \cup world.inflight /\ t \notin Completed /\ t \notin InHand}
MayRollBack(w) == memory[w].phase \in {"START", "ABORTED"} /\ Locked(w)
Concerned(w, r) == memory[w].phase = "START" \/ r.target = memory[w].requested
Left(r) == {g \in r.plan : \E f \in world.files : f.group = g /\ f.requested = r.target}
Moved(r, s) == (world.rollbacks \ {r}) \cup {s}
HasRollbackWork == InHand # {} \/ FailedWrites # {}
HasWork(w) == MayStart(w) \/ HasRollbackWork

Finished(m) == IF m.phase \in {"COMPLETED", "ABORTED"} /\ ~m.hasLock /\ ~m.beating THEN Idle ELSE m
Over(w, phase) == [Idle EXCEPT !.phase = phase, !.hasLock = memory[w].hasLock,
                               !.beating = memory[w].beating, !.requested = memory[w].requested]

----------------------------------------------------------------------------
(* A writer's life, in order *)

GenerateRequestedTime(w) ==
    /\ memory[w].phase = "START"
    /\ Believes(w)
    /\ MayStart(w)
    /\ world' = [world EXCEPT !.clock = @ + 1, !.started = @ + 1]
    /\ memory' = [memory EXCEPT ![w].phase = "TIMED", ![w].requested = world.clock + 1,
                                ![w].number = world.started + 1]

StartHeartbeat(w) ==
    LET time == memory[w].requested
    IN  /\ memory[w].phase = "TIMED"
        /\ world' = [world EXCEPT
               !.heartbeats = WithoutBeat(time) \cup {[requested |-> time, expired |-> FALSE]},
               !.ghostLive = @ \cup {[requested |-> time, writer |-> w, onTimeline |-> FALSE]}]
        /\ memory' = [memory EXCEPT ![w].phase = "BEATING", ![w].beating = TRUE]

RequestInstant(w) ==
    LET time == memory[w].requested
        live == [requested |-> time, writer |-> w, onTimeline |-> FALSE]
    IN  /\ memory[w].phase = "BEATING"
        /\ Believes(w)
        /\ time \notin world.requested
        /\ world' = [world EXCEPT
               !.requested = @ \cup {time},
               !.ghostLive = IF live \in @ THEN (@ \ {live}) \cup {[live EXCEPT !.onTimeline = TRUE]} ELSE @]
        /\ memory' = [memory EXCEPT ![w].phase = "REQUESTED"]

\* The file that changes make of a group's slice in the snapshot.
Merged(group, times, changes) ==
    [group |-> group, base |-> Base(group, times), log |-> FALSE,
     rows |-> {row \in Rows(group, times) : \A c \in changes : c[1] # row[1]}
              \cup {c \in changes : c[2] # DELETED}]

LookupKeys(w) ==
    LET m == memory[w]
        times == Basis(w)
        asked == {<<c[1], IF c[2] THEN m.number ELSE DELETED>> : c \in Workload[m.number]}
        new == {c[1] : c \in {d \in asked : d[2] # DELETED /\ Homes(d[1], times) = {}}}
        found == {c \in asked : c[2] # DELETED \/ Homes(c[1], times) # {}}
    IN  /\ m.phase = "REQUESTED"
        /\ ~m.hasLock
        /\ \E placement \in [new -> 1..Groups] :
               LET home(key) == IF key \in new THEN placement[key] ELSE Min(Homes(key, times))
                   touched == {home(c[1]) : c \in found}
               IN  \* File groups are alike: call the one that the first operation chooses first 1.
                   /\ m.number = 1 /\ new # {} => placement[Min(new)] = 1
                   /\ \A key \in new : MayPlace(w, placement[key], times)
                   /\ memory' = [memory EXCEPT ![w].phase = "LOOKED_UP", ![w].snapshot = SnapshotOf(w),
                          ![w].changes = found, ![w].newKeys = new,
                          ![w].plan = {Merged(g, times, {c \in found : home(c[1]) = g}) : g \in touched}]
        /\ UNCHANGED world

StartInflight(w) ==
    /\ memory[w].phase = "LOOKED_UP"
    /\ memory[w].requested \notin world.inflight
    /\ world' = [world EXCEPT !.inflight = @ \cup {memory[w].requested}]
    /\ memory' = [memory EXCEPT ![w].phase = "INFLIGHT"]

WriteFile(w) ==
    /\ memory[w].phase = "INFLIGHT"
    /\ memory[w].plan # {}
    /\ LET first == CHOOSE f \in memory[w].plan : \A g \in memory[w].plan : f.group <= g.group
       IN  /\ world' = [world EXCEPT !.files = @ \cup
                  {[group |-> first.group, requested |-> memory[w].requested,
                    rows |-> first.rows, log |-> first.log]}]
           /\ memory' = [memory EXCEPT ![w].plan = @ \ {first}, ![w].written = @ \cup {first}]

AcquireLock(w) ==
    /\ Optimistic
    /\ \/ memory[w].phase = "START" /\ HasWork(w)
       \/ memory[w].phase = "INFLIGHT" /\ memory[w].plan = {}
    /\ ~memory[w].hasLock
    /\ world.lock = FREE
    /\ world' = [world EXCEPT !.lock = w]
    /\ memory' = [memory EXCEPT ![w].hasLock = TRUE]

CheckConflicts(w) ==
    /\ memory[w].phase = "INFLIGHT"
    /\ memory[w].plan = {}
    /\ Believes(w)
    /\ ~Fenced(w)
    /\ ~Conflicts(w)
    /\ memory' = [memory EXCEPT ![w].phase = "CHECKED", ![w].snapshot = {}]
    /\ UNCHANGED world

UpdateMetadata(w) ==
    /\ memory[w].phase = "CHECKED"
    /\ world' = [world EXCEPT !.metadata = @ \cup {memory[w].requested}]
    /\ memory' = [memory EXCEPT ![w].phase = "UPDATED"]

CompleteInstant(w) ==
    LET m == memory[w]
    IN  /\ m.phase = "UPDATED"
        /\ Locked(w)
        /\ world' = [world EXCEPT
               !.commits = @ \cup {[requested |-> m.requested, completion |-> world.clock + 1,
                                    files |-> m.written, changes |-> m.changes, newKeys |-> m.newKeys]},
               !.clock = @ + 1,
               !.ghostLive = WithoutLive(m.requested, w)]
        /\ memory' = [memory EXCEPT ![w] = Finished(Over(w, "COMPLETED"))]

ReleaseLock(w) ==
    /\ memory[w].phase \in {"START", "REQUESTED", "COMPLETED", "ABORTED"}
    /\ memory[w].hasLock
    /\ world' = [world EXCEPT !.lock = IF @ = w THEN FREE ELSE @]
    /\ memory' = [memory EXCEPT ![w] = Finished([memory[w] EXCEPT !.hasLock = FALSE])]

StopHeartbeat(w) ==
    /\ memory[w].phase \in {"COMPLETED", "ABORTED"}
    /\ ~memory[w].hasLock
    /\ memory[w].beating
    /\ world' = [world EXCEPT !.heartbeats = WithoutBeat(memory[w].requested)]
    /\ memory' = [memory EXCEPT ![w] = Idle]

AbortWrite(w) ==
    LET m == memory[w]
    IN  /\ m.phase \notin {"START", "COMPLETED", "ABORTED"}
        /\ \/ m.hasLock /\ world.lock # w
           \/ m.phase = "INFLIGHT" /\ m.plan = {} /\ (Fenced(w) \/ (Believes(w) /\ Conflicts(w)))
        /\ world' = [world EXCEPT !.ghostLive = WithoutLive(m.requested, w)]
        /\ memory' = [memory EXCEPT ![w] = Finished(Over(w, "ABORTED"))]

----------------------------------------------------------------------------
(* Rolling failed writes back *)

RequestRollback(w) ==
    /\ MayRollBack(w)
    /\ \E target \in Targets(w) :
           world' = [world EXCEPT
               !.rollbacks = @ \cup {[requested |-> world.clock + 1, target |-> target, state |-> "REQUESTED",
                    completion |-> NOTHING, ghostRemoved |-> FALSE,
                    plan |-> {f.group : f \in {g \in world.files : g.requested = target}}]},
               !.clock = @ + 1]
    /\ UNCHANGED memory

StartRollback(w) ==
    /\ MayRollBack(w)
    /\ \E r \in world.rollbacks :
           /\ r.state = "REQUESTED" /\ Concerned(w, r)
           /\ world' = [world EXCEPT !.rollbacks = Moved(r, [r EXCEPT !.state = "INFLIGHT"])]
    /\ UNCHANGED memory

DeleteFile(w) ==
    /\ MayRollBack(w)
    /\ \E r \in world.rollbacks :
           /\ r.state = "INFLIGHT" /\ Concerned(w, r)
           /\ Left(r) # {}
           /\ world' = [world EXCEPT !.files =
                  {f \in @ : f.requested # r.target \/ f.group # Min(Left(r))}]
    /\ UNCHANGED memory

RemoveInstant(w) ==
    /\ MayRollBack(w)
    /\ \E r \in world.rollbacks :
           /\ r.state = "INFLIGHT" /\ Concerned(w, r)
           /\ Left(r) = {} /\ ~r.ghostRemoved
           /\ world' = [world EXCEPT
                  !.requested = @ \ {r.target}, !.inflight = @ \ {r.target}, !.metadata = @ \ {r.target},
                  !.rollbacks = Moved(r, [r EXCEPT !.ghostRemoved = TRUE])]
    /\ UNCHANGED memory

CompleteRollback(w) ==
    /\ MayRollBack(w)
    /\ \E r \in world.rollbacks :
           /\ r.state = "INFLIGHT" /\ Concerned(w, r)
           /\ r.ghostRemoved
           /\ world' = [world EXCEPT
                  !.heartbeats = WithoutBeat(r.target),
                  !.clock = @ + 1,
                  !.rollbacks = Moved(r, [r EXCEPT !.state = "COMPLETED", !.completion = world.clock + 1])]
    /\ UNCHANGED memory

----------------------------------------------------------------------------
(* What happens to a writer, and a reader *)

RenewHeartbeat(w) ==
    LET time == memory[w].requested
    IN  /\ memory[w].phase \notin {"START", "TIMED"}
        /\ memory[w].beating
        /\ [requested |-> time, expired |-> TRUE] \in world.heartbeats
        /\ world.renewals < MaxRenewals
        /\ world' = [world EXCEPT !.renewals = @ + 1,
               !.heartbeats = WithoutBeat(time) \cup {[requested |-> time, expired |-> FALSE]}]
        /\ UNCHANGED memory

ExpireHeartbeat ==
    LET live == {l.requested : l \in world.ghostLive}
        spent == world.heartbeatExpiries >= MaxHeartbeatExpiries \/ ~FaultAllowed
    IN  /\ \E b \in world.heartbeats :
               /\ ~b.expired
               /\ ~(spent /\ b.requested \in live)
               /\ world' = [world EXCEPT
                      !.heartbeats = WithoutBeat(b.requested) \cup {[b EXCEPT !.expired = TRUE]},
                      !.heartbeatExpiries = IF b.requested \in live THEN @ + 1 ELSE @,
                      !.ghostLive = {l \in @ : l.requested # b.requested}]
        /\ UNCHANGED memory

ExpireLock ==
    /\ world.lock # FREE
    /\ world.lock = ORPHANED \/ (world.lockExpiries < MaxLockExpiries /\ FaultAllowed)
    /\ world' = [world EXCEPT !.lock = FREE,
                              !.lockExpiries = IF world.lock = ORPHANED THEN @ ELSE @ + 1]
    /\ UNCHANGED memory

Crash(w) ==
    /\ memory[w] # Idle
    /\ world.crashes < MaxCrashes /\ FaultAllowed
    /\ world' = [world EXCEPT !.crashes = @ + 1,
                              !.lock = IF @ = w THEN ORPHANED ELSE @,
                              !.ghostLive = WithoutLive(memory[w].requested, w)]
    /\ memory' = [memory EXCEPT ![w] = Idle]

\* Readers take no lock and change nothing: the invariants read at every time instead.
ReadSnapshot == UNCHANGED vars

Next ==
    \/ \E w \in 1..Writers :
           \/ GenerateRequestedTime(w) \/ StartHeartbeat(w) \/ RequestInstant(w) \/ LookupKeys(w)
           \/ StartInflight(w) \/ WriteFile(w) \/ AcquireLock(w) \/ CheckConflicts(w)
           \/ UpdateMetadata(w) \/ CompleteInstant(w) \/ ReleaseLock(w) \/ StopHeartbeat(w)
           \/ AbortWrite(w)
           \/ RequestRollback(w) \/ StartRollback(w) \/ DeleteFile(w) \/ RemoveInstant(w)
           \/ CompleteRollback(w)
           \/ RenewHeartbeat(w) \/ Crash(w)
    \/ ExpireHeartbeat \/ ExpireLock \/ ReadSnapshot

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
(* The promises *)

Visible(time) == {c \in world.commits : c.requested <= time}
VisibleTimes(time) == {c.requested : c \in Visible(time)} \cup {t \in PendingInstants : t <= time}
Serial(time) ==
    UNION {{change \in c.changes :
                /\ change[2] # DELETED
                /\ \A d \in Visible(time) : d.requested > c.requested =>
                       \A other \in d.changes : other[1] # change[1]} : c \in Visible(time)}

ConsistentRead ==
    \A time \in Completed : UNION {Rows(g, VisibleTimes(time)) : g \in AllGroups} = Serial(time)

NoLostUpdate ==
    \A c \in {d \in world.commits : ~KeepsRows(d)} : \A f \in c.files :
        LET before == {d.requested : d \in {e \in world.commits :
                           ~KeepsRows(e) /\ e.requested < c.requested /\ \E g \in e.files : g.group = f.group}}
        IN  f.base = IF before = {} THEN NOTHING ELSE Max(before)

NoDuplicateKeys ==
    \A time \in Completed : \A g, h \in AllGroups :
        g # h => {row[1] : row \in Rows(g, VisibleTimes(time))}
                 \cap {row[1] : row \in Rows(h, VisibleTimes(time))} = {}

CompletedWritesStay ==
    \A c \in world.commits :
        /\ \A d \in world.commits : d.requested = c.requested => d = c
        /\ \A f \in c.files :
               [group |-> f.group, requested |-> c.requested, rows |-> f.rows, log |-> f.log] \in world.files

LiveWritersAreLetBe ==
    \A r \in world.rollbacks : \A l \in world.ghostLive :
        r.state # "COMPLETED" /\ l.onTimeline => r.target # l.requested

LegalTransitions ==
    /\ \A c \in world.commits :
           /\ c.requested \in world.requested /\ c.requested \in world.inflight
           /\ c.requested \in world.metadata
           /\ \A r \in world.rollbacks : r.target # c.requested
    /\ \A time \in world.inflight :
           time \in world.requested \/ \E r \in world.rollbacks : r.target = time
=============================================================================
