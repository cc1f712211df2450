-------------------------- MODULE RestoredMetadata --------------------------
(***************************************************************************)
(* A restore's half in the metadata table, on top of both: the twin of the *)
(* Python module restored_metadata.                                        *)
(***************************************************************************)
EXTENDS MetadataTable, Savepoints

CONSTANT Syncs      \* whether the metadata table is told what lies on storage

RestoredInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                cleans |-> {}, queries |-> 0, running |-> {}, savepoints |-> {}, restores |-> {},
                listed |-> {}, blocks |-> {}, compactions |-> 0, restored |-> {},
                heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in 1..Operator |-> Idle]

FilesOfCompleted == {Name(f) : f \in {g \in world.files : g.requested \in Completed}}

RestoreMetadata(w) ==
    /\ w = Operator
    /\ LocksRestores => Locked(w)
    /\ \E r \in world.restores :
           /\ IsTakenBack(r)
           /\ r.requested \notin world.restored
           /\ LET kept == {b \in CompletedBlocks : b.requested <= r.savepoint}
                  listing == MergedListing(world.listed, kept)
                  difference == [requested |-> world.clock + 1, completion |-> world.clock + 1,
                                 added |-> FilesOfCompleted \ listing, deleted |-> listing \ FilesOfCompleted]
              IN  world' = [world EXCEPT
                      !.blocks = IF Syncs THEN kept \cup {difference} ELSE kept,
                      !.restored = @ \cup {r.requested},
                      !.clock = @ + 1]
    /\ UNCHANGED memory

\* In place of Savepoints' action.
CompleteRestoreTold(w) ==
    /\ w = Operator
    /\ LocksRestores => Locked(w)
    /\ \E r \in world.restores :
           /\ IsTakenBack(r)
           /\ r.requested \in world.restored
           /\ world' = [world EXCEPT
                  !.restores = Became(r, [r EXCEPT !.state = "COMPLETED", !.completion = world.clock + 1]),
                  !.metadata = @ \ Times(r),
                  !.clock = @ + 1]
    /\ UNCHANGED memory

RestoredNext == SavepointsNext \/ NextOfMetadata \/ RestoreMetadata(Operator)
RestoredSpec == RestoredInit /\ [][RestoredNext]_vars

----------------------------------------------------------------------------
(* The promise *)

MetadataAgreesAfterRestores ==
    LET times == UNION {Times(r) : r \in PendingRestores}
        listing == MergedListing(world.listed, ValidBlocks)
        going == UNION {c.plan : c \in PendingCleans}
                 \cup {n \in listing \cup FilesOfCompleted : n[2] \in times}
    IN  listing \ going = FilesOfCompleted \ going
=============================================================================
