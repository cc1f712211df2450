----------------------------- MODULE Clustering -----------------------------
(***************************************************************************)
(* Clustering, on top of CopyOnWrite: the twin of the Python module        *)
(* clustering. Process Writers + 1 is the clusterer; the file groups       *)
(* beyond Groups are those that it makes.                                  *)
(***************************************************************************)
EXTENDS CopyOnWrite

CONSTANTS
    Schedules,          \* how many clusterings are planned
    Rejects,            \* whether writers give way to planned clusterings, or clusterings to faster writers
    HidesThePast        \* whether replaced file groups are hidden from readers of every time

Clusterer == Writers + 1
Processes == 1..Clusterer

ClusteringInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                clusterings |-> {}, heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in Processes |-> Idle]

----------------------------------------------------------------------------
(* Plans, and what became of them *)

CompletedClusterings == {p \in world.clusterings : p.requested \in Completed}
PendingClusterings == {p \in world.clusterings : p.requested \in world.requested \ Completed}
Taken(p) == {i.group : i \in p.inputs}
Replaced(times) ==
    IF Bug = "REPLACE_BEFORE_COMPLETION" THEN UNION {Taken(p) : p \in world.clusterings}
    ELSE UNION {Taken(p) : p \in {q \in CompletedClusterings : HidesThePast \/ q.requested \in times}}

\* Whether a file group of a plan has a later version than the planned one.
Stale(p) == \E c \in world.commits : \E f \in c.files : \E i \in p.inputs :
                f.group = i.group /\ c.requested > i.base

\* In place of CopyOnWrite's operators.
AllGroupsOfClustering == 1..(Groups + Schedules)
VersionsNotReplaced(group, times) ==
    IF group \in Replaced(times) THEN {} ELSE {f \in world.files : f.group = group /\ f.requested \in times}

TakenByOthers == IF Bug = "CLUSTER_TAKEN_GROUPS" THEN {} ELSE UNION {Taken(p) : p \in PendingClusterings}
Free ==
    {[group |-> g, base |-> Slice(g, Completed).requested] :
         g \in {h \in AllGroupsOfClustering \ TakenByOthers :
                    Versions(h, Completed) # {}}}
MayCluster == Cardinality(world.clusterings) < Schedules /\ Free # {}

\* In place of CopyOnWrite's operators.
IsNoClusterer(w) == w # Clusterer
IsClusteringPlan(time) == \E p \in world.clusterings : p.requested = time /\ (Rejects \/ ~Stale(p))
MayPlaceInOpen(w, group, times) == Bug = "INSERT_INTO_REPLACED" \/ group \notin Replaced(times)
HasWorkOfAnyProcess(w) == IF w = Clusterer THEN MayCluster ELSE MayStart(w) \/ HasRollbackWork
Careful == Bug # "UPDATE_UNDER_CLUSTERING"
ClashesOfClustering(w) ==
    IF ~Careful THEN FALSE
    ELSE IF w = Clusterer THEN \E p \in PendingClusterings : p.requested = memory[w].requested /\ Stale(p)
    ELSE \E p \in {q \in CompletedClusterings : \A s \in memory[w].snapshot : s[1] # q.requested}
                  \cup (IF Rejects THEN PendingClusterings ELSE {}) :
             \E f \in memory[w].written : f.group \in Taken(p)

----------------------------------------------------------------------------
(* Clustering *)

ScheduleClustering(w) ==
    /\ w = Clusterer
    /\ memory[w].phase = "START"
    /\ Locked(w)
    /\ MayCluster
    /\ world' = [world EXCEPT
           !.clusterings = @ \cup {[requested |-> world.clock + 1, inputs |-> Free,
                                    output |-> Groups + Cardinality(world.clusterings) + 1]},
           !.requested = @ \cup {world.clock + 1},
           !.clock = @ + 1]
    /\ UNCHANGED memory

RunClustering(w) ==
    /\ w = Clusterer
    /\ memory[w].phase = "START"
    /\ ~memory[w].hasLock
    /\ \E p \in PendingClusterings :
           /\ Careful => ~Stale(p)
           /\ world' = [world EXCEPT !.inflight = @ \cup {p.requested},
                                     !.files = {f \in @ : f.requested # p.requested}]
           /\ memory' = [memory EXCEPT ![w].phase = "INFLIGHT", ![w].requested = p.requested,
                  ![w].plan = {[group |-> p.output, base |-> NOTHING, log |-> FALSE,
                                rows |-> UNION {f.rows : f \in {g \in world.files :
                                    [group |-> g.group, base |-> g.requested] \in p.inputs}}]}]

NextOfClusterer(w) ==
    \/ WriteFile(w) \/ AcquireLock(w) \/ CheckConflicts(w) \/ UpdateMetadata(w) \/ CompleteInstant(w)
    \/ ReleaseLock(w) \/ AbortWrite(w)
    \/ ScheduleClustering(w) \/ RunClustering(w)
    \/ Crash(w)

ClusteringNext == Next \/ NextOfClusterer(Clusterer)
ClusteringSpec == ClusteringInit /\ [][ClusteringNext]_vars

----------------------------------------------------------------------------
(* The promise *)

ClusteringKeepsRows ==
    \A p \in CompletedClusterings :
        LET before == {t \in Completed : t < p.requested}
        IN  UNION {Rows(g, before) : g \in AllGroups} = UNION {Rows(g, before \cup {p.requested}) : g \in AllGroups}
=============================================================================
