--------------------------- MODULE MetadataTable ---------------------------
(***************************************************************************)
(* The metadata table and its own timeline, on top of Cleaning: the twin   *)
(* of the Python module metadata_table. What it adds to others' actions is *)
(* here these actions once more. Without cleans and queries the reader and *)
(* the cleaner have nothing to do.                                         *)
(*                                                                         *)
(* A block is about one action; it has a completion once its deltacommit   *)
(* is complete, and until then NOTHING.                                    *)
(***************************************************************************)
EXTENDS Cleaning

CONSTANTS
    LeavesOutPending,   \* whether readers leave out blocks whose instant is pending in the table
    MaxCompactions

MetadataInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                cleans |-> {}, queries |-> 0, running |-> {},
                listed |-> {}, blocks |-> {}, compactions |-> 0,
                heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in Processes |-> Idle]

\* The block that a process is going to write; none while it has nothing to tell.
ToTell(w) ==
    IF memory[w].phase = "CHECKED"
    THEN {[requested |-> memory[w].requested, deleted |-> {}, completion |-> NOTHING,
           added |-> {<<f.group, memory[w].requested>> : f \in memory[w].written}]}
    ELSE IF w = Cleaner /\ memory[w].phase = "START"
    THEN {[requested |-> c.requested, deleted |-> c.plan, completion |-> NOTHING, added |-> {}]
              : c \in {d \in world.cleans : IsRun(d)}}
    ELSE {}

CompletedBlocks == {b \in world.blocks : b.completion # NOTHING}
CompletedActions == Completed \cup {c.requested : c \in world.cleans \ PendingCleans}
PendingActions == (world.requested \cup world.inflight \cup {c.requested : c \in PendingCleans}) \ CompletedActions
ValidBlocks == {b \in CompletedBlocks : LeavesOutPending => b.requested \notin PendingActions}
MergedListing(listed, blocks) ==
    (listed \cup UNION {b.added : b \in blocks}) \ UNION {b.deleted : b \in blocks}

\* What may be taken back yet is not compacted, nor what completed after it was requested.
MayBeTakenBack == {b.requested : b \in {c \in CompletedBlocks : c.requested \in PendingActions}}
BlocksToCompact ==
    {b \in CompletedBlocks : Bug = "COMPACT_PENDING_METADATA" \/ \A time \in MayBeTakenBack : b.completion < time}

TakenBack(target) == {b \in CompletedBlocks : b.requested = target /\ Bug # "SKIP_METADATA_ROLLBACK"}
KnowsClean(c) == \E b \in CompletedBlocks : b.requested = c.requested /\ b.deleted # {}

----------------------------------------------------------------------------
(* The metadata table *)

CompactMetadata(w) ==
    /\ memory[w].phase = "CHECKED"
    /\ Locked(w)
    /\ world.compactions < MaxCompactions
    /\ ToTell(w) \cap world.blocks = {}
    /\ BlocksToCompact # {}
    /\ world' = [world EXCEPT !.listed = MergedListing(@, BlocksToCompact),
                              !.blocks = @ \ BlocksToCompact, !.compactions = @ + 1]
    /\ UNCHANGED memory

WriteMetadata(w) ==
    /\ Locked(w)
    /\ \E b \in ToTell(w) :
           /\ b \notin world.blocks
           /\ b.deleted # {} => \A c \in PendingCleans : ~KnowsClean(c)
           /\ world' = [world EXCEPT !.blocks = {c \in CompletedBlocks : c.requested # b.requested} \cup {b}]
    /\ UNCHANGED memory

RollbackMetadata(w) ==
    /\ MayRollBack(w)
    /\ \E r \in world.rollbacks :
           /\ r.state = "INFLIGHT" /\ Concerned(w, r)
           /\ Left(r) = {}
           /\ TakenBack(r.target) # {}
           /\ world' = [world EXCEPT !.blocks = @ \ TakenBack(r.target)]
    /\ UNCHANGED memory

----------------------------------------------------------------------------
(* In place of CopyOnWrite's and Cleaning's actions *)

UpdateMetadataOfTable(w) ==
    \E b \in ToTell(w) :
        /\ b \in world.blocks
        /\ Bug # "UNFENCED_METADATA" => Locked(w)
        /\ world' = [world EXCEPT
               !.blocks = (@ \ {b}) \cup {[b EXCEPT !.completion = world.clock]},
               !.metadata = IF w = Cleaner THEN @ ELSE @ \cup {b.requested}]
        /\ memory' = IF w = Cleaner THEN memory ELSE [memory EXCEPT ![w].phase = "UPDATED"]

RemoveInstantTakenBack(w) ==
    /\ MayRollBack(w)
    /\ \E r \in world.rollbacks :
           /\ r.state = "INFLIGHT" /\ Concerned(w, r)
           /\ Left(r) = {} /\ ~r.ghostRemoved
           /\ TakenBack(r.target) = {}
           /\ world' = [world EXCEPT
                  !.requested = @ \ {r.target}, !.inflight = @ \ {r.target}, !.metadata = @ \ {r.target},
                  !.rollbacks = Moved(r, [r EXCEPT !.ghostRemoved = TRUE])]
    /\ UNCHANGED memory

CompleteKnownClean(w) ==
    /\ w = Cleaner
    /\ Locked(w)
    /\ \E c \in world.cleans :
           /\ IsRun(c)
           /\ KnowsClean(c)
           /\ world' = [world EXCEPT
                  !.cleans = Changed(c, [c EXCEPT !.state = "COMPLETED", !.completion = world.clock + 1]),
                  !.clock = @ + 1]
    /\ UNCHANGED memory

NextOfMetadata ==
    \/ \E w \in 1..Writers : CompactMetadata(w) \/ WriteMetadata(w) \/ RollbackMetadata(w)
    \/ WriteMetadata(Cleaner) \/ UpdateMetadataOfTable(Cleaner)

MetadataNext == CleaningNext \/ NextOfMetadata
MetadataSpec == MetadataInit /\ [][MetadataNext]_vars

----------------------------------------------------------------------------
(* The promise *)

MetadataAgrees ==
    LET going == UNION {c.plan : c \in PendingCleans}
        there == {Name(f) : f \in {g \in world.files : g.requested \in Completed}}
    IN  MergedListing(world.listed, ValidBlocks) \ going = there \ going
=============================================================================
