------------------------------ MODULE Indexing ------------------------------
(***************************************************************************)
(* An index that is built beside writers, on top of CopyOnWrite: the twin  *)
(* of the Python module indexing. Process Writers + 1 is the indexer. What *)
(* it adds to others' actions is here these actions once more.             *)
(***************************************************************************)
EXTENDS CopyOnWrite

Indexer == Writers + 1
NoIndex == [planned |-> 0, base |-> {}, built |-> FALSE, entries |-> {}, aware |-> {}, completed |-> FALSE]

IndexingInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                index |-> NoIndex, heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in 1..Indexer |-> Idle]

Known == world.index.base \cup world.index.entries
Missed == Completed \ Known
Unaware == world.inflight \ (Completed \cup world.index.aware)
Ready ==
    /\ world.index.built /\ ~world.index.completed
    /\ Bug # "SKIP_CATCH_UP" => Missed = {}
    /\ Bug # "INDEX_WITHOUT_WAITING" => Unaware = {}

----------------------------------------------------------------------------
(* In place of CopyOnWrite's operators and actions *)

IsNoIndexer(w) == w # Indexer
HasWorkWithIndexer(w) ==
    IF w = Indexer THEN IF world.index.planned # 0 THEN Ready ELSE world.commits # {}
    ELSE MayStart(w) \/ HasRollbackWork

StartInflightAware(w) ==
    LET time == memory[w].requested
    IN  /\ memory[w].phase = "LOOKED_UP"
        /\ time \notin world.inflight
        /\ world' = [world EXCEPT !.inflight = @ \cup {time},
               !.index.aware = IF world.index.planned # 0 THEN @ \cup {time} ELSE @]
        /\ memory' = [memory EXCEPT ![w].phase = "INFLIGHT"]

UpdateMetadataAndIndex(w) ==
    LET time == memory[w].requested
    IN  /\ memory[w].phase = "CHECKED"
        /\ world' = [world EXCEPT !.metadata = @ \cup {time},
               !.index.entries =
                   IF time \in world.index.aware /\ Bug # "WRITERS_IGNORE_INDEX" THEN @ \cup {time} ELSE @]
        /\ memory' = [memory EXCEPT ![w].phase = "UPDATED"]

RemoveInstantFromIndex(w) ==
    /\ MayRollBack(w)
    /\ \E r \in world.rollbacks :
           /\ r.state = "INFLIGHT" /\ Concerned(w, r)
           /\ Left(r) = {} /\ ~r.ghostRemoved
           /\ world' = [world EXCEPT
                  !.requested = @ \ {r.target}, !.inflight = @ \ {r.target}, !.metadata = @ \ {r.target},
                  !.index.entries = @ \ {r.target}, !.index.aware = @ \ {r.target},
                  !.rollbacks = Moved(r, [r EXCEPT !.ghostRemoved = TRUE])]
    /\ UNCHANGED memory

----------------------------------------------------------------------------
(* The indexer *)

Rests(w) == w = Indexer /\ memory[w].phase = "START"

ScheduleIndexing(w) ==
    /\ Rests(w)
    /\ Locked(w)
    /\ world.index.planned = 0 /\ world.commits # {}
    /\ world' = [world EXCEPT !.index = [NoIndex EXCEPT !.planned = world.clock + 1, !.base = Completed],
                              !.clock = @ + 1]
    /\ UNCHANGED memory

BuildIndex(w) ==
    /\ Rests(w)
    /\ ~memory[w].hasLock
    /\ world.index.planned # 0 /\ ~world.index.built
    /\ world' = [world EXCEPT !.index.built = TRUE]
    /\ UNCHANGED memory

CatchUpIndex(w) ==
    /\ Rests(w)
    /\ ~memory[w].hasLock
    /\ world.index.built /\ ~world.index.completed
    /\ Missed # {} /\ Bug # "SKIP_CATCH_UP"
    /\ world' = [world EXCEPT !.index.entries = @ \cup {Min(Missed)}]
    /\ UNCHANGED memory

CompleteIndexing(w) ==
    /\ Rests(w)
    /\ Locked(w)
    /\ Ready
    /\ world' = [world EXCEPT !.index.completed = TRUE]
    /\ UNCHANGED memory

NextOfIndexer(w) ==
    \/ AcquireLock(w) \/ ReleaseLock(w)
    \/ ScheduleIndexing(w) \/ BuildIndex(w) \/ CatchUpIndex(w) \/ CompleteIndexing(w)
    \/ Crash(w)

IndexingNext == Next \/ NextOfIndexer(Indexer)
IndexingSpec == IndexingInit /\ [][IndexingNext]_vars

----------------------------------------------------------------------------
(* The promise *)

Content ==
    LET indexed == {c \in world.commits : c.requested \in Known}
        lasting(c) == {change \in c.changes : /\ change[2] # DELETED
                          /\ \A d \in indexed : d.requested > c.requested =>
                                 \A other \in d.changes : other[1] # change[1]}
    IN  UNION {{<<change[1], Min(Homes(change[1], {t \in Completed : t <= c.requested}))>> : change \in lasting(c)}
               : c \in indexed}
IndexAgrees ==
    world.index.completed =>
        Content = UNION {{<<row[1], g>> : row \in Rows(g, Completed)} : g \in AllGroups}
=============================================================================
