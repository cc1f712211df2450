------------------------------ MODULE Liveness ------------------------------
(***************************************************************************)
(* What has to happen some time: every writer comes to rest. Its operation *)
(* completes or is given up, whatever it held is given back, and what a    *)
(* crashed writer left is rolled back.                                     *)
(*                                                                         *)
(* A writer is not obliged to crash, and its heartbeat and its lease are   *)
(* not obliged to run out while it lives; so the bounds of a model of this *)
(* module allow neither, and what ExpireHeartbeat and ExpireLock are fair  *)
(* to is the dead. The fairness of a writer's steps is strong: most are    *)
(* enabled only while it holds the lock, and somebody else may hold it     *)
(* every now and then.                                                     *)
(*                                                                         *)
(* Two bugs are planted, to see that the property notices. No symmetry is  *)
(* used, and no constraint: either makes TLC blind to some behaviours.     *)
(***************************************************************************)
EXTENDS CopyOnWrite

Others(w) == {v \in 1..Writers : v # w /\ memory[v].phase = "INFLIGHT"}

\* The steps that bring an operation or a rollback nearer to its end: there are finitely many of them. A writer may
\* take the lock and give it back without end; so neither of the two is among them.
Advance(w) ==
    \/ GenerateRequestedTime(w) \/ StartHeartbeat(w) \/ RequestInstant(w) \/ LookupKeys(w)
    \/ StartInflight(w) \/ WriteFile(w) \/ UpdateMetadata(w) \/ CompleteInstant(w)
    \/ StopHeartbeat(w) \/ AbortWrite(w)
    \/ RequestRollback(w) \/ StartRollback(w) \/ DeleteFile(w) \/ RemoveInstant(w) \/ CompleteRollback(w)

\* One condition for many steps: TLC's work doubles with each condition.
FairWriters ==
    \A w \in 1..Writers :
        /\ SF_vars(Advance(w) \/ CheckConflicts(w))
        /\ SF_vars(AcquireLock(w))
        /\ WF_vars(ReleaseLock(w))

LiveSpec == Init /\ [][Next]_vars /\ FairWriters /\ WF_vars(ExpireHeartbeat \/ ExpireLock)

\* The planted deadlock: the lock is no lease, and a dead holder keeps it.
NoLeaseSpec ==
    /\ Init /\ [][Next /\ (world.lock = ORPHANED => world'.lock = ORPHANED)]_vars
    /\ FairWriters /\ WF_vars(ExpireHeartbeat)

\* The planted livelock: who holds the lock gives it back unused while another writer is under way, and so does that one.
GiveBack(w) ==
    /\ memory[w].phase = "INFLIGHT" /\ memory[w].hasLock /\ world.lock = w /\ Others(w) # {}
    /\ world' = [world EXCEPT !.lock = FREE]
    /\ memory' = [memory EXCEPT ![w].hasLock = FALSE]

Politely(w) == Others(w) = {} /\ CheckConflicts(w)

PoliteNext ==
    \/ /\ Next
       /\ \A w \in 1..Writers :
            (memory[w].phase = "INFLIGHT" /\ memory'[w].phase = "CHECKED") => Others(w) = {}
    \/ \E w \in 1..Writers : GiveBack(w)

PoliteSpec ==
    /\ Init /\ [][PoliteNext]_vars
    /\ \A w \in 1..Writers :
        /\ SF_vars(Advance(w) \/ Politely(w))
        /\ SF_vars(AcquireLock(w))
        /\ WF_vars(ReleaseLock(w) \/ GiveBack(w))
    /\ WF_vars(ExpireHeartbeat \/ ExpireLock)

----------------------------------------------------------------------------
(* The property *)

\* From some time on every writer rests, nobody holds the lock, and nothing is pending.
EveryWriterFinishes ==
    <>[](/\ \A w \in 1..Writers : memory[w] = Idle
         /\ world.lock = FREE
         /\ world.started = Len(Workload)
         /\ world.requested \subseteq {c.requested : c \in world.commits})
=============================================================================
