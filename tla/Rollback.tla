----------------------------- MODULE Rollback ------------------------------
(***************************************************************************)
(* Rolling failed writes back, by any writer that is between two           *)
(* operations, and by one that gave its own up. All progress is in the     *)
(* world, so an interrupted rollback is continued by whoever comes next.   *)
(***************************************************************************)
EXTENDS Heartbeats, Locks

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

----------------------------------------------------------------------------
(* The actions *)

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
(* The promise *)

LiveWritersAreLetBe ==
    \A r \in world.rollbacks : \A l \in world.ghostLive :
        r.state # "COMPLETED" /\ l.onTimeline => r.target # l.requested
=============================================================================
