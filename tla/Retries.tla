------------------------------ MODULE Retries ------------------------------
(***************************************************************************)
(* Operations that were given up and are tried again with a new instant,   *)
(* on top of CopyOnWrite: the twin of the Python module retries.           *)
(***************************************************************************)
EXTENDS CopyOnWrite

CONSTANTS
    MaxRetries,         \* how many operations are tried again
    WhileAlive          \* the planted bug: whether any operation may be, that was ever started

RetriesInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                waiting |-> {}, retries |-> 0,
                heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in 1..Writers |-> Idle]

Waiting == IF WhileAlive THEN 1..world.started ELSE world.waiting
MayRetry == world.retries < MaxRetries /\ Waiting # {}

----------------------------------------------------------------------------
(* In place of CopyOnWrite's *)

HasWorkOrRetries(w) == MayStart(w) \/ HasRollbackWork \/ MayRetry

AbortAndWait(w) ==
    LET m == memory[w]
    IN  /\ m.phase \notin {"START", "COMPLETED", "ABORTED"}
        /\ \/ m.hasLock /\ world.lock # w
           \/ m.phase = "INFLIGHT" /\ m.plan = {} /\ (Fenced(w) \/ (Believes(w) /\ Conflicts(w)))
        /\ world' = [world EXCEPT !.ghostLive = WithoutLive(m.requested, w), !.waiting = @ \cup {m.number}]
        /\ memory' = [memory EXCEPT ![w] = Finished(Over(w, "ABORTED"))]

----------------------------------------------------------------------------

RetryWrite(w) ==
    /\ memory[w].phase = "START"
    /\ Believes(w)
    /\ MayRetry
    /\ \E operation \in Waiting :
           /\ world' = [world EXCEPT !.clock = @ + 1, !.retries = @ + 1, !.waiting = @ \ {operation}]
           /\ memory' = [memory EXCEPT ![w].phase = "TIMED", ![w].requested = world.clock + 1,
                                       ![w].number = operation]

RetriesNext == Next \/ \E w \in 1..Writers : RetryWrite(w)
RetriesSpec == RetriesInit /\ [][RetriesNext]_vars

----------------------------------------------------------------------------
(* The promise *)

Values(c) == {change[2] : change \in c.changes} \ {DELETED}
AppliedOnce == \A c, d \in world.commits : c # d => Values(c) \cap Values(d) = {}
=============================================================================
