---------------------------- MODULE CopyOnWrite ----------------------------
(***************************************************************************)
(* Concurrent writers on a copy-on-write table, with crashes, expiring     *)
(* heartbeats and leases, and rollbacks of failed writes: the actions of   *)
(* Writer, Heartbeats, Locks, Rollback and Reader together, under the same *)
(* names and in the same order as in the Python model.                     *)
(*                                                                         *)
(* Table has the state; what is promised of readers is in Reader.          *)
(***************************************************************************)
EXTENDS Writer

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

NoLostUpdate ==
    \A c \in {d \in world.commits : ~KeepsRows(d)} : \A f \in c.files :
        LET before == {d.requested : d \in {e \in world.commits :
                           ~KeepsRows(e) /\ e.requested < c.requested /\ \E g \in e.files : g.group = f.group}}
        IN  f.base = IF before = {} THEN NOTHING ELSE Max(before)

CompletedWritesStay ==
    \A c \in world.commits :
        /\ \A d \in world.commits : d.requested = c.requested => d = c
        /\ \A f \in c.files :
               [group |-> f.group, requested |-> c.requested, rows |-> f.rows, log |-> f.log] \in world.files

LegalTransitions ==
    /\ \A c \in world.commits :
           /\ c.requested \in world.requested /\ c.requested \in world.inflight
           /\ c.requested \in world.metadata
           /\ \A r \in world.rollbacks : r.target # c.requested
    /\ \A time \in world.inflight :
           time \in world.requested \/ \E r \in world.rollbacks : r.target = time
=============================================================================
