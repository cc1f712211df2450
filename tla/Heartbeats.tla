---------------------------- MODULE Heartbeats -----------------------------
(***************************************************************************)
(* Heartbeats: how others tell a writer that works from one that is dead.  *)
(* An operation whose heartbeat once expired counts as failed, whatever    *)
(* becomes of it.                                                          *)
(***************************************************************************)
EXTENDS Table

IsAlive(time) == [requested |-> time, expired |-> FALSE] \in world.heartbeats
WithoutBeat(time) == {b \in world.heartbeats : b.requested # time}
WithoutLive(time, w) == {l \in world.ghostLive : l.requested # time \/ l.writer # w}

----------------------------------------------------------------------------
(* What a writer does *)

StartHeartbeat(w) ==
    LET time == memory[w].requested
    IN  /\ memory[w].phase = "TIMED"
        /\ world' = [world EXCEPT
               !.heartbeats = WithoutBeat(time) \cup {[requested |-> time, expired |-> FALSE]},
               !.ghostLive = @ \cup {[requested |-> time, writer |-> w, onTimeline |-> FALSE]}]
        /\ memory' = [memory EXCEPT ![w].phase = "BEATING", ![w].beating = TRUE]

StopHeartbeat(w) ==
    /\ memory[w].phase \in {"COMPLETED", "ABORTED"}
    /\ ~memory[w].hasLock
    /\ memory[w].beating
    /\ world' = [world EXCEPT !.heartbeats = WithoutBeat(memory[w].requested)]
    /\ memory' = [memory EXCEPT ![w] = Idle]

RenewHeartbeat(w) ==
    LET time == memory[w].requested
    IN  /\ memory[w].phase \notin {"START", "TIMED"}
        /\ memory[w].beating
        /\ [requested |-> time, expired |-> TRUE] \in world.heartbeats
        /\ world.renewals < MaxRenewals
        /\ world' = [world EXCEPT !.renewals = @ + 1,
               !.heartbeats = WithoutBeat(time) \cup {[requested |-> time, expired |-> FALSE]}]
        /\ UNCHANGED memory

----------------------------------------------------------------------------
(* What happens to a heartbeat *)

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
=============================================================================
