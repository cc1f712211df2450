------------------------------ MODULE Writer -------------------------------
(***************************************************************************)
(* A writer's life, in order, and optimistic control: under the lock it    *)
(* compares its work with what completed since its snapshot, and gives     *)
(* way. It may crash at any point.                                         *)
(***************************************************************************)
EXTENDS Reader, Rollback

HasWork(w) == MayStart(w) \/ HasRollbackWork

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

----------------------------------------------------------------------------
(* The actions *)

GenerateRequestedTime(w) ==
    /\ memory[w].phase = "START"
    /\ Believes(w)
    /\ MayStart(w)
    /\ world' = [world EXCEPT !.clock = @ + 1, !.started = @ + 1]
    /\ memory' = [memory EXCEPT ![w].phase = "TIMED", ![w].requested = world.clock + 1,
                                ![w].number = world.started + 1]

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

AbortWrite(w) ==
    LET m == memory[w]
    IN  /\ m.phase \notin {"START", "COMPLETED", "ABORTED"}
        /\ \/ m.hasLock /\ world.lock # w
           \/ m.phase = "INFLIGHT" /\ m.plan = {} /\ (Fenced(w) \/ (Believes(w) /\ Conflicts(w)))
        /\ world' = [world EXCEPT !.ghostLive = WithoutLive(m.requested, w)]
        /\ memory' = [memory EXCEPT ![w] = Finished(Over(w, "ABORTED"))]

----------------------------------------------------------------------------
(* What happens to a writer *)

Crash(w) ==
    /\ memory[w] # Idle
    /\ world.crashes < MaxCrashes /\ FaultAllowed
    /\ world' = [world EXCEPT !.crashes = @ + 1,
                              !.lock = IF @ = w THEN ORPHANED ELSE @,
                              !.ghostLive = WithoutLive(memory[w].requested, w)]
    /\ memory' = [memory EXCEPT ![w] = Idle]
=============================================================================
