-------------------------- MODULE PartitionDeletes --------------------------
(***************************************************************************)
(* A delete of the one partition beside writers and a clustering, on top   *)
(* of Clustering: the twin of the Python module partition_deletes. Process *)
(* Writers + 2 is the deleter.                                             *)
(***************************************************************************)
EXTENDS Clustering

CONSTANTS
    MaxDeletes,         \* how many deletes begin
    Careless            \* the planted bug: whether delete and clustering do not look at each other

Deleter == Writers + 2

DeletesInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                clusterings |-> {}, deletes |-> {},
                heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in 1..Deleter |-> Idle]

CompletedDeletes == {d \in world.deletes : d.requested \in Completed}
Deleted(times) == UNION {d.groups : d \in {e \in CompletedDeletes : e.requested \in times}}
DeletedByNow == UNION {d.groups : d \in CompletedDeletes}
ToDelete == {g \in AllGroups : Versions(g, Completed) # {}}
Clustered(groups) == \E p \in PendingClusterings : Taken(p) \cap groups # {}

----------------------------------------------------------------------------
(* In place of the operators and actions of CopyOnWrite and Clustering *)

IsOneOfTheWriters(w) == w \in 1..Writers
IsPlanOrDelete(time) == IsClusteringPlan(time) \/ \E d \in world.deletes : d.requested = time
MayPlaceInWhatIsLeft(w, group, times) == group \notin Replaced(times) \cup Deleted(times)
HasWorkOfAll(w) ==
    IF w = Clusterer THEN MayCluster ELSE w # Deleter /\ (MayStart(w) \/ HasRollbackWork)
VersionsNotDeleted(group, times) ==
    IF group \in Replaced(times) \cup Deleted(times) THEN {}
    ELSE {f \in world.files : f.group = group /\ f.requested \in times}

Unseen(w, c) == \A s \in memory[w].snapshot : s[1] # c.requested
ClashesOfDeletes(w) ==
    IF w = Deleter
    THEN LET own == (CHOOSE d \in world.deletes : d.requested = memory[w].requested).groups
         IN  \/ \E c \in world.commits : Unseen(w, c) /\ \E f \in c.files : f.group \in own
             \/ ~Careless /\ \E p \in CompletedClusterings : Taken(p) \cap own # {}
    ELSE \/ ClashesOfClustering(w)
         \/ /\ w = Clusterer /\ ~Careless
            /\ \E p \in PendingClusterings : p.requested = memory[w].requested /\ Taken(p) \cap DeletedByNow # {}
         \/ /\ w # Clusterer
            /\ \E d \in CompletedDeletes : Unseen(w, d) /\ \E f \in memory[w].written : f.group \in d.groups

RunClusteringUndeleted(w) ==
    /\ w = Clusterer
    /\ memory[w].phase = "START"
    /\ ~memory[w].hasLock
    /\ \E p \in PendingClusterings :
           /\ ~Stale(p)
           /\ Careless \/ Taken(p) \cap DeletedByNow = {}
           /\ world' = [world EXCEPT !.inflight = @ \cup {p.requested},
                                     !.files = {f \in @ : f.requested # p.requested}]
           /\ memory' = [memory EXCEPT ![w].phase = "INFLIGHT", ![w].requested = p.requested,
                  ![w].plan = {[group |-> p.output, base |-> NOTHING, log |-> FALSE,
                                rows |-> UNION {f.rows : f \in {g \in world.files :
                                    [group |-> g.group, base |-> g.requested] \in p.inputs}}]}]

----------------------------------------------------------------------------
(* The delete *)

DeletePartition(w) ==
    LET time == world.clock + 1
    IN  /\ w = Deleter
        /\ memory[w].phase = "START"
        /\ ~memory[w].hasLock
        /\ Cardinality(world.deletes) < MaxDeletes
        /\ ToDelete # {}
        /\ Careless \/ ~Clustered(ToDelete)
        /\ world' = [world EXCEPT !.deletes = @ \cup {[requested |-> time, groups |-> ToDelete]},
                                  !.requested = @ \cup {time}, !.inflight = @ \cup {time}, !.clock = time]
        /\ memory' = [memory EXCEPT ![w].phase = "INFLIGHT", ![w].requested = time,
               ![w].snapshot = {<<c.requested, c.completion>> : c \in world.commits},
               ![w].changes = {<<row[1], DELETED>> : row \in UNION {Rows(g, Completed) : g \in ToDelete}}]

NextOfDeleter(w) ==
    \/ AcquireLock(w) \/ CheckConflicts(w) \/ UpdateMetadata(w) \/ CompleteInstant(w)
    \/ ReleaseLock(w) \/ AbortWrite(w)
    \/ DeletePartition(w)
    \/ Crash(w)

DeletesNext == ClusteringNext \/ NextOfDeleter(Deleter)
DeletesSpec == DeletesInit /\ [][DeletesNext]_vars
=============================================================================
