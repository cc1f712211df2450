--------------------------- MODULE EarlyDetection ---------------------------
(***************************************************************************)
(* Writers that give up as soon as they see a conflict coming, on top of   *)
(* CopyOnWrite: the twin of the Python module early_detection.             *)
(***************************************************************************)
EXTENDS CopyOnWrite

CONSTANT EarlyOnly          \* the planted bug: file groups are not compared once more before completion

Marked(w) ==
    {f.group : f \in {g \in world.files : /\ g.requested \notin Completed
                                          /\ g.requested # memory[w].requested
                                          /\ IsAlive(g.requested)}}
ForeseesConflict(w) ==
    LET left == {f.group : f \in memory[w].plan}
    IN  \/ left \cap Marked(w) # {}
        \/ \E c \in Candidates(w) : \E f \in c.files : f.group \in left

\* In place of CopyOnWrite's actions.
CheckAfterDetection(w) ==
    /\ memory[w].phase = "INFLIGHT"
    /\ memory[w].plan = {}
    /\ Believes(w)
    /\ ~Fenced(w)
    /\ IF EarlyOnly THEN ~\E c \in Candidates(w) : KeyCheck /\ c.newKeys \cap memory[w].newKeys # {}
                    ELSE ~Conflicts(w)
    /\ memory' = [memory EXCEPT ![w].phase = "CHECKED", ![w].snapshot = {}]
    /\ UNCHANGED world

AbortEarly(w) ==
    LET m == memory[w]
    IN  /\ m.phase \notin {"START", "COMPLETED", "ABORTED"}
        /\ \/ m.hasLock /\ world.lock # w
           \/ m.phase = "INFLIGHT" /\ m.plan = {} /\ (Fenced(w) \/ (Believes(w) /\ Conflicts(w)))
           \/ m.phase = "INFLIGHT" /\ m.plan # {} /\ ForeseesConflict(w)
        /\ world' = [world EXCEPT !.ghostLive = WithoutLive(m.requested, w)]
        /\ memory' = [memory EXCEPT ![w] = Finished(Over(w, "ABORTED"))]
=============================================================================
