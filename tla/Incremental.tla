---------------------------- MODULE Incremental ----------------------------
(***************************************************************************)
(* A consumer of changes that reads on from where it stopped, on top of    *)
(* CopyOnWrite: the twin of the Python module incremental. Process         *)
(* Writers + 1 is the consumer; it has no memory but the checkpoint.       *)
(***************************************************************************)
EXTENDS CopyOnWrite

CONSTANTS
    MaxPulls,           \* how often the consumer asks
    ByCompletion,       \* whether it reads on by completion times, or by requested times
    UpToFence           \* whether it waits for the first pending instant

Consumer == Writers + 1

IncrementalInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                checkpoint |-> 0, given |-> {}, pulls |-> 0,
                heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in 1..Consumer |-> Idle]

TimeOf(c) == IF ByCompletion THEN c.completion ELSE c.requested
Seen == (IF Bug = "FENCE_OF_INFLIGHT" THEN {} ELSE world.requested) \cup world.inflight
PendingOnTimeline == {t \in Seen \ Completed : ~Spared(t)}
NewCommits ==
    {c \in world.commits : /\ TimeOf(c) > world.checkpoint
                           /\ UpToFence => \A t \in PendingOnTimeline : c.requested < t
                           /\ ~KeepsRows(c)}

\* In place of CopyOnWrite's operator.
IsNoConsumer(w) == w # Consumer

PullChanges(w) ==
    /\ w = Consumer
    /\ world.pulls < MaxPulls
    /\ NewCommits # {}
    /\ world' = [world EXCEPT !.checkpoint = Max({TimeOf(c) : c \in NewCommits}),
                              !.given = @ \cup {c.requested : c \in NewCommits},
                              !.pulls = @ + 1]
    /\ UNCHANGED memory

IncrementalNext == Next \/ PullChanges(Consumer)
IncrementalSpec == IncrementalInit /\ [][IncrementalNext]_vars

----------------------------------------------------------------------------
(* The promise *)

NothingIsMissed ==
    \A c \in world.commits : TimeOf(c) <= world.checkpoint /\ ~KeepsRows(c) => c.requested \in world.given
=============================================================================
