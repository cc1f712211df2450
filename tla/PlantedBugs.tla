---------------------------- MODULE PlantedBugs ----------------------------
(***************************************************************************)
(* CopyOnWrite with one rule broken on purpose, to see that TLC finds what *)
(* the explorer finds. The twins of modules ask for their bugs themselves. *)
(* Each operator stands in place of the one that its name begins with.     *)
(***************************************************************************)
EXTENDS CopyOnWrite

ConflictsButFor(w) ==
    /\ IsWriter(w)
    /\ \/ /\ Optimistic /\ Bug # "SKIP_CONFLICT_CHECK"
          /\ \E c \in Candidates(w) : \E f \in c.files : \E g \in memory[w].written : f.group = g.group
       \/ /\ KeyCheck /\ Bug # "SKIP_KEY_CHECK"
          /\ \E c \in Candidates(w) : c.newKeys \cap memory[w].newKeys # {}

SnapshotOfBug(w) ==
    {<<c.requested, c.completion>> :
        c \in {d \in world.commits : d.requested < memory[w].requested \/ Bug = "SNAPSHOT_AHEAD_OF_TIME"}}

BasisWithBug(w) ==
    IF Bug = "LOOKUP_AHEAD_OF_TIME" THEN Completed ELSE {s[1] : s \in SnapshotOf(w)}

LockedOrUnfenced(w) ==
    Optimistic => /\ memory[w].hasLock
                  /\ world.lock = w \/ (Bug = "NO_FENCING" /\ memory[w].phase = "UPDATED")

FailedWritesOfBug ==
    {t \in world.requested \cup world.inflight :
        /\ t \notin Completed \/ Bug = "STALE_ROLLBACK_LIST"
        /\ t \notin InHand
        /\ ~IsAlive(t) \/ Bug = "IGNORE_HEARTBEAT"}

FencedButFor(w) ==
    LET time == memory[w].requested
    IN  \/ ~IsAlive(time)
        \/ /\ Bug # "IGNORE_ROLLBACK"
           /\ \/ time \notin world.requested
              \/ time \notin world.inflight
              \/ \E r \in world.rollbacks : r.target = time

VisibleTimesOfBug(time) ==
    {c.requested : c \in Visible(time)}
    \cup (IF Bug = "READ_UNCOMMITTED" THEN {f.requested : f \in {g \in world.files : g.requested <= time}} ELSE {})

UpdateMetadataOrNot(w) ==
    /\ memory[w].phase = "CHECKED"
    /\ world' = [world EXCEPT !.metadata = IF Bug = "SKIP_UPDATE_METADATA" THEN @ ELSE @ \cup {memory[w].requested}]
    /\ memory' = [memory EXCEPT ![w].phase = "UPDATED"]
=============================================================================
