------------------------------- MODULE Locks -------------------------------
(***************************************************************************)
(* The table lock as a lease, which runs out while its holder sleeps: what *)
(* a process believes is its memory, who holds the lock is the world's.    *)
(***************************************************************************)
EXTENDS Table

Locked(w) == Optimistic => memory[w].hasLock /\ world.lock = w
Believes(w) == Optimistic => memory[w].hasLock

----------------------------------------------------------------------------
(* What happens to the lock *)

ExpireLock ==
    /\ world.lock # FREE
    /\ world.lock = ORPHANED \/ (world.lockExpiries < MaxLockExpiries /\ FaultAllowed)
    /\ world' = [world EXCEPT !.lock = FREE,
                              !.lockExpiries = IF world.lock = ORPHANED THEN @ ELSE @ + 1]
    /\ UNCHANGED memory
=============================================================================
