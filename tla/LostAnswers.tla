---------------------------- MODULE LostAnswers ----------------------------
(***************************************************************************)
(* Puts that take effect although their writer is not told, on top of      *)
(* CopyOnWrite: the twin of the Python module lost_answers. A writer in    *)
(* world.unheard has put its file, and is going to put it again; what the  *)
(* file says then tells it that it is its own. Where it takes every        *)
(* refusal for another's (~Compares), it gives up.                         *)
(*                                                                         *)
(* Actions that change are here once more, under names of their own that   *)
(* the configuration puts in place of CopyOnWrite's.                       *)
(***************************************************************************)
EXTENDS CopyOnWrite

CONSTANTS
    MaxLosses,          \* how many answers are lost
    Compares            \* whether a writer looks what the file that is in its way says

LostInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                unheard |-> {}, losses |-> 0, ghostDenied |-> {},
                heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in 1..Writers |-> Idle]

Unheard(w) == w \in world.unheard
Own(w) == Compares /\ Unheard(w)
OwnLock(w) == world.lock = w /\ ~memory[w].hasLock
UnheardCommit(w) == Unheard(w) /\ memory[w].requested \in Completed
WorksInLock(w) ==
    \/ memory[w].phase = "START" /\ HasWork(w)
    \/ memory[w].phase = "INFLIGHT" /\ memory[w].plan = {}

\* What the puts make of the world; world.unheard is for their actions to say.
Live(w) == [requested |-> memory[w].requested, writer |-> w, onTimeline |-> FALSE]
WithRequest(w, unheard) ==
    [world EXCEPT
        !.requested = @ \cup {memory[w].requested},
        !.unheard = unheard,
        !.ghostLive = IF Live(w) \in @ THEN (@ \ {Live(w)}) \cup {[Live(w) EXCEPT !.onTimeline = TRUE]} ELSE @]
WithInflight(w, unheard) == [world EXCEPT !.inflight = @ \cup {memory[w].requested}, !.unheard = unheard]
WithCommit(w, unheard) ==
    LET m == memory[w]
    IN  [world EXCEPT
            !.commits = @ \cup {[requested |-> m.requested, completion |-> world.clock + 1,
                                 files |-> m.written, changes |-> m.changes, newKeys |-> m.newKeys]},
            !.clock = @ + 1,
            !.unheard = unheard,
            !.ghostLive = WithoutLive(m.requested, w)]
Heard(w) == world.unheard \ {w}

----------------------------------------------------------------------------
(* In place of CopyOnWrite's actions *)

RequestInstantAgain(w) ==
    /\ memory[w].phase = "BEATING"
    /\ Believes(w)
    /\ memory[w].requested \notin world.requested \/ Own(w)
    /\ world' = WithRequest(w, Heard(w))
    /\ memory' = [memory EXCEPT ![w].phase = "REQUESTED"]

StartInflightAgain(w) ==
    /\ memory[w].phase = "LOOKED_UP"
    /\ memory[w].requested \notin world.inflight \/ Own(w)
    /\ world' = WithInflight(w, Heard(w))
    /\ memory' = [memory EXCEPT ![w].phase = "INFLIGHT"]

AcquireOwnLock(w) ==
    /\ Optimistic
    /\ WorksInLock(w)
    /\ ~memory[w].hasLock
    /\ world.lock = FREE \/ OwnLock(w)
    /\ world' = [world EXCEPT !.lock = w]
    /\ memory' = [memory EXCEPT ![w].hasLock = TRUE]

CompleteInstantAgain(w) ==
    /\ memory[w].phase = "UPDATED"
    /\ \/ ~UnheardCommit(w) /\ Locked(w) /\ world' = WithCommit(w, Heard(w))
       \/ UnheardCommit(w) /\ Compares /\ world' = [world EXCEPT !.unheard = Heard(w)]
    /\ memory' = [memory EXCEPT ![w] = Finished(Over(w, "COMPLETED"))]

\* A writer gives up for CopyOnWrite's reasons, and where a file is in its way that it takes for another's. Before its
\* instant is requested it then lets instant and heartbeat of its time be: they are somebody else's, it thinks.
Refused(w) ==
    \/ memory[w].phase = "BEATING" /\ memory[w].requested \in world.requested
    \/ memory[w].phase = "LOOKED_UP" /\ memory[w].requested \in world.inflight
    \/ memory[w].phase = "UPDATED" /\ UnheardCommit(w)
AbortUnlessOwn(w) ==
    LET m == memory[w]
        lets(phase) == Finished([Idle EXCEPT !.phase = phase, !.hasLock = m.hasLock])
    IN  /\ m.phase \notin {"START", "COMPLETED", "ABORTED"}
        /\ ~Own(w)
        /\ \/ /\ \/ m.hasLock /\ world.lock # w
                 \/ Refused(w) /\ m.phase # "BEATING"
                 \/ m.phase = "INFLIGHT" /\ m.plan = {} /\ (Fenced(w) \/ (Believes(w) /\ Conflicts(w)))
              /\ memory' = [memory EXCEPT ![w] = Finished(Over(w, "ABORTED"))]
           \/ /\ Refused(w) /\ m.phase = "BEATING"
              /\ memory' = [memory EXCEPT ![w] = lets("ABORTED")]
        /\ world' = [world EXCEPT
               !.ghostLive = WithoutLive(m.requested, w),
               !.ghostDenied = IF UnheardCommit(w) THEN @ \cup {m.requested} ELSE @,
               !.unheard = Heard(w)]

CrashUnheard(w) ==
    /\ memory[w] # Idle
    /\ world.crashes < MaxCrashes /\ FaultAllowed
    /\ world' = [world EXCEPT !.crashes = @ + 1,
                              !.lock = IF @ = w THEN ORPHANED ELSE @,
                              !.unheard = Heard(w),
                              !.ghostLive = WithoutLive(memory[w].requested, w)]
    /\ memory' = [memory EXCEPT ![w] = Idle]

----------------------------------------------------------------------------
(* The lost answer *)

LoseAnswer(w) ==
    LET all == world.unheard \cup {w}
        lost(after) == [after EXCEPT !.losses = @ + 1]
    IN  /\ world.losses < MaxLosses
        /\ \/ /\ memory[w].phase = "BEATING" /\ ~Unheard(w)
              /\ Believes(w)
              /\ memory[w].requested \notin world.requested
              /\ world' = lost(WithRequest(w, all))
           \/ /\ memory[w].phase = "LOOKED_UP" /\ ~Unheard(w)
              /\ memory[w].requested \notin world.inflight
              /\ world' = lost(WithInflight(w, all))
           \/ /\ memory[w].phase = "UPDATED" /\ ~Unheard(w)
              /\ Locked(w)
              /\ world' = lost(WithCommit(w, all))
           \/ /\ Optimistic
              /\ WorksInLock(w)
              /\ ~memory[w].hasLock
              /\ world.lock = FREE
              /\ world' = lost([world EXCEPT !.lock = IF Compares THEN w ELSE ORPHANED])
        /\ UNCHANGED memory

LostNext == Next \/ \E w \in 1..Writers : LoseAnswer(w)
LostSpec == LostInit /\ [][LostNext]_vars

----------------------------------------------------------------------------
(* The promise *)

OutcomesAreTrue == world.ghostDenied = {}
=============================================================================
