------------------------------ MODULE Archival ------------------------------
(***************************************************************************)
(* Archival on top of CopyOnWrite: the twin of the Python modules archival *)
(* and archived. Processes Writers + 1 to Writers + Archivers archive.     *)
(*                                                                         *)
(* An archiver's memory is that of a writer: plan holds its instants,      *)
(* snapshot the files that the manifest named which it read, number is     *)
(* that manifest's, newKeys is not empty once its own manifest is there.   *)
(***************************************************************************)
EXTENDS CopyOnWrite

CONSTANTS
    Archivers,          \* number of archivers
    Retained,           \* how many completed writes stay on the active timeline
    Locks,              \* whether archivers take the table lock
    InOrder,            \* whether completed files are dropped in ascending order, or in any
    AfterManifest       \* whether files are dropped only once the manifest is there

Processes == 1..(Writers + Archivers)

ArchivalInit ==
    /\ world = [requested |-> {}, inflight |-> {}, commits |-> {}, rollbacks |-> {}, files |-> {},
                archived |-> {}, manifest |-> 0, listed |-> {}, noPending |-> {}, dropped |-> {},
                heartbeats |-> {}, metadata |-> {}, lock |-> FREE, clock |-> 0, started |-> 0,
                crashes |-> 0, heartbeatExpiries |-> 0, lockExpiries |-> 0, renewals |-> 0,
                ghostLive |-> {}]
    /\ memory = [w \in Processes |-> Idle]

----------------------------------------------------------------------------
(* The two timelines *)

ActiveCompleted == Completed \ world.dropped
ActivePending == ((world.requested \cup world.inflight) \ Completed) \ world.noPending
HasStart == ActiveCompleted \cup ActivePending # {}
Start == Min(ActiveCompleted \cup ActivePending)

CompletionOf(time) == (CHOOSE c \in world.commits : c.requested = time).completion
Name(entries) == <<Min({e[1] : e \in entries}), Max({e[1] : e \in entries})>>
Entries == UNION {f \in world.archived : Name(f) \in world.listed}

\* What is older than the active timeline counts as completed, once there is an archive.
CountsAsCompleted(time) ==
    \/ time \in ActiveCompleted
    \/ HasStart /\ time < Start /\ world.archived # {} /\ Bug # "IGNORE_ARCHIVED"

\* In place of CopyOnWrite's operators.
IsNoArchiver(w) == w <= Writers
VersionsAsFound(group, times) ==
    {f \in world.files :
        /\ f.group = group
        /\ IF world.archived = {} \/ ~HasStart THEN f.requested \in times
           ELSE /\ f.requested \in times \/ (f.requested \notin Completed /\ \E t \in times : f.requested <= t)
                /\ CountsAsCompleted(f.requested)}

----------------------------------------------------------------------------
(* What is archived *)

\* The last completed write before the first pending one, or that one itself.
HasStop == ActivePending # {} /\ Bug # "ARCHIVE_PAST_PENDING"
Stop ==
    LET before == {t \in ActiveCompleted : t < Min(ActivePending)}
    IN  IF before = {} THEN Min(ActivePending) ELSE Max(before)
\* All but the last of them, and nothing from where archival has to stop.
InstantsToArchive ==
    {t \in ActiveCompleted :
        /\ HasStop => t < Stop
        /\ Cardinality({u \in ActiveCompleted : u > t}) >= Retained}
HasWorkOfArchival(w) ==
    IF w <= Writers THEN MayStart(w) \/ HasRollbackWork ELSE Locks /\ InstantsToArchive # {}

----------------------------------------------------------------------------
(* An archiver's run *)

IsRunning(w) == memory[w].plan # {}
IsPublished(w) == memory[w].newKeys # {}
MayWork(w) == Locks => Believes(w)
EntriesOf(times) == {<<t, IF Bug = "LOSE_COMPLETION_TIMES" THEN NOTHING ELSE CompletionOf(t)>> : t \in times}
Freed(w) == [Idle EXCEPT !.hasLock = memory[w].hasLock]

WriteArchivedFile(w) ==
    LET entries == EntriesOf(InstantsToArchive)
        isListed == Name(entries) \in world.listed
    IN  /\ MayWork(w) /\ (Locks => Locked(w))
        /\ ~IsRunning(w)
        /\ InstantsToArchive # {}
        /\ world' = [world EXCEPT !.archived =
               IF isListed THEN @ ELSE {f \in @ : Name(f) # Name(entries)} \cup {entries}]
        /\ memory' = [memory EXCEPT ![w].plan = InstantsToArchive, ![w].number = world.manifest,
               ![w].snapshot = world.listed, ![w].newKeys = IF isListed THEN {1} ELSE {}]

\* Where another archiver has made a manifest of that number the put is refused, and the run is over.
PublishManifest(w) ==
    LET m == memory[w]
    IN  /\ MayWork(w)
        /\ IsRunning(w) /\ ~IsPublished(w)
        /\ IF world.manifest > m.number
           THEN /\ memory' = [memory EXCEPT ![w] = Freed(w)]
                /\ UNCHANGED world
           ELSE /\ world' = [world EXCEPT !.manifest = m.number + 1,
                                          !.listed = m.snapshot \cup {Name(EntriesOf(m.plan))}]
                /\ memory' = [memory EXCEPT ![w].newKeys = {1}]

WithPending(w) == memory[w].plan \ world.noPending
WithCompleted(w) == memory[w].plan \ world.dropped
\* The archiver's memory after dropping, where `pending` and `completed` are left to it.
After(w, pending, completed) == IF pending \cup completed = {} THEN Freed(w) ELSE memory[w]
MayDrop(w) == MayWork(w) /\ IsRunning(w) /\ (AfterManifest => IsPublished(w))

DropPendingFiles(w) ==
    LET time == Min(WithPending(w))
    IN  /\ MayDrop(w)
        /\ WithPending(w) # {}
        /\ world' = [world EXCEPT !.noPending = @ \cup {time}]
        /\ memory' = [memory EXCEPT ![w] = After(w, WithPending(w) \ {time}, WithCompleted(w))]

DropCompletedFile(w) ==
    /\ MayDrop(w)
    /\ Bug # "DROP_COMPLETED_FIRST" => WithPending(w) = {}
    /\ \E time \in WithCompleted(w) :
           /\ InOrder => time = Min(WithCompleted(w))
           /\ world' = [world EXCEPT !.dropped = @ \cup {time}]
           /\ memory' = [memory EXCEPT ![w] = After(w, WithPending(w), WithCompleted(w) \ {time})]

NextOfArchiver(w) ==
    \/ AcquireLock(w) \/ (~IsRunning(w) /\ ReleaseLock(w)) \/ Crash(w)
    \/ WriteArchivedFile(w) \/ PublishManifest(w) \/ DropPendingFiles(w) \/ DropCompletedFile(w)

ArchivalNext == Next \/ \E w \in Processes \ 1..Writers : NextOfArchiver(w)
ArchivalSpec == ArchivalInit /\ [][ArchivalNext]_vars

----------------------------------------------------------------------------
(* The promises *)

HistoryIsWhole ==
    /\ \A t \in world.dropped : (\E e \in Entries : e[1] = t) /\ t \in world.noPending
    /\ \A e \in Entries : e[1] \in Completed /\ e[2] = CompletionOf(e[1])
    /\ world.noPending \subseteq Completed

\* What a reader of changes finds behind a checkpoint, on both timelines.
Found(checkpoint) ==
    {t \in ActiveCompleted : CompletionOf(t) > checkpoint}
    \cup {e[1] : e \in {d \in IF Bug = "CHANGES_OF_ACTIVE" THEN {} ELSE Entries :
                             d[1] \notin ActiveCompleted /\ d[2] > checkpoint}}
ArchivedChanges ==
    \A checkpoint \in {0} \cup {c.completion : c \in world.commits} :
        Found(checkpoint) = {c.requested : c \in {d \in world.commits : d.completion > checkpoint}}
=============================================================================
