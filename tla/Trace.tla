------------------------------- MODULE Trace -------------------------------
(***************************************************************************)
(* Whether a history that was recorded of the implementation is a          *)
(* behaviour of CopyOnWrite: its events are taken one after the other, in  *)
(* their order, each by the action of its name with its parameters.        *)
(*                                                                         *)
(* The module Recorded is generated (drawstring_sim.tla_trace): Events is  *)
(* a sequence of records. The history is a behaviour if Untold is violated *)
(* (then all events were taken); if nothing is violated, the number of     *)
(* distinct states is the number of the event that cannot be taken.        *)
(*                                                                         *)
(* Where CopyOnWrite proposes one of several moves because they are alike, *)
(* or leaves out what may always happen, a history has any of them:        *)
(*  - any writer starts first, as long as there is something to do;        *)
(*  - files are written and deleted in any order, not by file group;       *)
(*  - a write fails for reasons of its own, or finds out early that it was *)
(*    taken for dead; and whoever gave up takes the lock to clean up.      *)
(***************************************************************************)
EXTENDS CopyOnWrite, Recorded

VARIABLE at

Untold == at <= Len(Events)

AnyMayStart(w) == world.started < Len(Workload)     \* in place of MayStart

----------------------------------------------------------------------------
(* What CopyOnWrite does not propose *)

WriteAnyFile(w, group) ==
    /\ memory[w].phase = "INFLIGHT"
    /\ \E file \in memory[w].plan :
           /\ file.group = group
           /\ world' = [world EXCEPT !.files = @ \cup
                  {[group |-> group, requested |-> memory[w].requested, rows |-> file.rows, log |-> file.log]}]
           /\ memory' = [memory EXCEPT ![w].plan = @ \ {file}, ![w].written = @ \cup {file}]

DeleteAnyFile(w, rollback, group) ==
    /\ MayRollBack(w)
    /\ \E r \in world.rollbacks :
           /\ r.requested = rollback /\ r.state = "INFLIGHT" /\ Concerned(w, r)
           /\ \E file \in world.files :
                  /\ file.group = group /\ file.requested = r.target
                  /\ world' = [world EXCEPT !.files = @ \ {file}]
    /\ UNCHANGED memory

FailWrite(w) ==
    LET m == memory[w]
    IN  /\ m.phase \notin {"START", "COMPLETED", "ABORTED"}
        /\ world' = [world EXCEPT !.ghostLive = WithoutLive(m.requested, w)]
        /\ memory' = [memory EXCEPT ![w] = Finished(Over(w, "ABORTED"))]

AcquireLockAgain(w) ==
    /\ Optimistic
    /\ memory[w].phase \in {"REQUESTED", "ABORTED"}
    /\ ~memory[w].hasLock
    /\ world.lock = FREE
    /\ world' = [world EXCEPT !.lock = w]
    /\ memory' = [memory EXCEPT ![w].hasLock = TRUE]

IsTakenForDead(w) ==
    LET time == memory[w].requested
    IN  ~IsAlive(time) \/ time \notin world.requested \/ \E r \in world.rollbacks : r.target = time

----------------------------------------------------------------------------
(* The events *)

Places(w, placement) ==
    /\ memory'[w].newKeys = {p[1] : p \in placement}
    /\ \A p \in placement : \E file \in memory'[w].plan :
           file.group = p[2] /\ \E row \in file.rows : row[1] = p[1]
Writes(rows) == {file.rows : file \in world'.files \ world.files} = {rows}
Target(e) == {r \in world'.rollbacks \ world.rollbacks : r.requested = e.target} # {}

AbortsFor(w, reason) ==
    \/ reason \in {"CONFLICT", "KEY_CONFLICT"} /\ Conflicts(w) /\ AbortWrite(w)
    \/ reason = "LOST_LOCK" /\ memory[w].hasLock /\ world.lock # w /\ AbortWrite(w)
    \/ reason = "FENCED" /\ IsTakenForDead(w) /\ FailWrite(w)
    \/ reason = "FAILED" /\ FailWrite(w)

Take(e) ==
    \/ e.step = "GenerateRequestedTime" /\ GenerateRequestedTime(e.writer) /\ world'.clock = e.time
    \/ e.step = "StartHeartbeat" /\ StartHeartbeat(e.writer)
    \/ e.step = "RequestInstant" /\ RequestInstant(e.writer)
    \/ e.step = "LookupKeys" /\ LookupKeys(e.writer) /\ Places(e.writer, e.placement)
    \/ e.step = "StartInflight" /\ StartInflight(e.writer)
    \/ e.step = "WriteFile" /\ WriteAnyFile(e.writer, e.group) /\ Writes(e.rows)
    \/ e.step = "AcquireLock" /\ (AcquireLock(e.writer) \/ AcquireLockAgain(e.writer))
    \/ e.step = "CheckConflicts" /\ CheckConflicts(e.writer)
    \/ e.step = "UpdateMetadata" /\ UpdateMetadata(e.writer)
    \/ e.step = "CompleteInstant" /\ CompleteInstant(e.writer) /\ world'.clock = e.time
    \/ e.step = "ReleaseLock" /\ ReleaseLock(e.writer)
    \/ e.step = "StopHeartbeat" /\ StopHeartbeat(e.writer)
    \/ e.step = "AbortWrite" /\ AbortsFor(e.writer, e.reason)
    \/ e.step = "RequestRollback" /\ RequestRollback(e.writer) /\ world'.clock = e.time
           /\ \E r \in world'.rollbacks \ world.rollbacks : r.target = e.target
    \/ e.step = "StartRollback" /\ StartRollback(e.writer) /\ Target(e)
    \/ e.step = "DeleteFile" /\ DeleteAnyFile(e.writer, e.target, e.group)
    \/ e.step = "RemoveInstant" /\ RemoveInstant(e.writer) /\ Target(e)
    \/ e.step = "CompleteRollback" /\ CompleteRollback(e.writer) /\ Target(e) /\ world'.clock = e.time
    \/ e.step = "RenewHeartbeat" /\ RenewHeartbeat(e.writer)
    \/ e.step = "ExpireHeartbeat" /\ ExpireHeartbeat /\ IsAlive(e.time)
           /\ [requested |-> e.time, expired |-> TRUE] \in world'.heartbeats
    \/ e.step = "ExpireLock" /\ ExpireLock
    \/ e.step = "Crash" /\ Crash(e.writer)

TraceInit == Init /\ at = 1
TraceNext == Untold /\ at' = at + 1 /\ Take(Events[at])
TraceSpec == TraceInit /\ [][TraceNext]_<<world, memory, at>>
=============================================================================
