------------------------------- MODULE Table -------------------------------
(***************************************************************************)
(* What all processes share, and what each remembers: the timeline, the    *)
(* storage, the lock, the clock.                                           *)
(*                                                                         *)
(* The same names as in the Python model (model/drawstring_model), which   *)
(* says more about each. Here clocks are monotonic, rollback is lazy and   *)
(* snapshot times are requested times; so no file is ever put twice, and   *)
(* write tokens and put-if-absent decide nothing.                          *)
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
    Bug,                \* the rule that is broken on purpose, by the name of a PlantedBug in Python; "NONE" for none
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

MayStart(w) == world.started < Len(Workload) /\ (world.started > 0 \/ w = 1)
Completed == {c.requested : c \in world.commits}

FaultAllowed ==
    /\ world.crashes + world.heartbeatExpiries + world.lockExpiries < MaxFaults
    /\ world.started <= FaultsUntil

Finished(m) == IF m.phase \in {"COMPLETED", "ABORTED"} /\ ~m.hasLock /\ ~m.beating THEN Idle ELSE m

Over(w, phase) == [Idle EXCEPT !.phase = phase, !.hasLock = memory[w].hasLock,
                               !.beating = memory[w].beating, !.requested = memory[w].requested]
=============================================================================
