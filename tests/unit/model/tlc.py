"""The models of ``tla/manifest.toml``: what each is in Python, and how TLC is run on it.

``make test`` runs the small ones (``tests/unit/model/test_tla.py`` compares TLC and the explorer, model by model),
``make tla`` those and the medium ones, ``make tla-large`` the large ones. A module of the model finds its place
in `MODULES`, `PROMISES` and, where a model needs other switches, in `VARIANTS`.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import shutil
import subprocess
import time
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drawstring_model.config import (
    CLEANED,
    CLUSTERED,
    COPY_ON_WRITE,
    MERGE_ON_READ,
    RESTORED,
    Bounds,
    ConcurrencyControl,
    Config,
    PlantedBug,
    SnapshotTime,
)
from drawstring_model.invariants import Promise
from drawstring_model.modules.archival import Archival, SecondArchiver
from drawstring_model.modules.cleaning import Cleaning, CleaningPolicy
from drawstring_model.modules.clustering import Clustering, UpdateStrategy
from drawstring_model.modules.compaction import Compaction
from drawstring_model.modules.early_detection import EarlyDetection
from drawstring_model.modules.incremental import Incremental, ReadOn
from drawstring_model.modules.indexing import Indexing
from drawstring_model.modules.log_compaction import LogCompaction
from drawstring_model.modules.log_files import LogFiles, MergeRule
from drawstring_model.modules.lost_answers import LostAnswers
from drawstring_model.modules.metadata_table import MetadataTable
from drawstring_model.modules.non_blocking import NonBlocking
from drawstring_model.modules.partition_deletes import PartitionDeleteModule
from drawstring_model.modules.queries import QueryModule
from drawstring_model.modules.query_types import QueryTypes
from drawstring_model.modules.restored_metadata import RestoredMetadataModule
from drawstring_model.modules.restores import RestoreModule
from drawstring_model.modules.retries import Retries
from drawstring_model.modules.savepoints import SavepointModule

Model = Mapping[str, Any]
"""An entry of the manifest."""

TLA = Path(__file__).resolve().parents[3] / "tla"
MANIFEST = tomllib.loads((TLA / "manifest.toml").read_text(encoding="utf-8"))
ALL_MODELS: dict[str, Model] = MANIFEST["models"]


def models_of(*sizes: str) -> dict[str, Model]:
    """The models of the sizes, in the manifest's order."""
    return {name: model for name, model in ALL_MODELS.items() if model.get("size", "small") in sizes}


OF_MERGE_ON_READ = {
    "LatestSnapshot": Promise.LATEST_SNAPSHOT,
    "NoResurrectedDelete": Promise.NO_RESURRECTED_DELETE,
    "PlannedFilesStay": Promise.PLANNED_FILES_STAY,
}
OF_COPY_ON_WRITE = {
    "ConsistentRead": Promise.CONSISTENT_READ,
    "NoLostUpdate": Promise.NO_LOST_UPDATE,
    "NoDuplicateKeys": Promise.NO_DUPLICATE_KEYS,
    "CompletedWritesStay": Promise.NO_UNDONE_WRITE,
    "LiveWritersAreLetBe": Promise.LIVE_WRITER_KEPT,
    "LegalTransitions": Promise.LEGAL_TRANSITIONS,
}
OF_LOG_COMPACTION = {"MergedLogsUnneeded": Promise.MERGED_LOGS_UNNEEDED}
OF_INDEXING = {"IndexAgrees": Promise.INDEX_AGREES}
OF_NON_BLOCKING = {"IncrementalReads": Promise.INCREMENTAL_READS}
OF_QUERY_TYPES = {"CapturedChanges": Promise.CAPTURED_CHANGES, "ReadOptimizedReads": Promise.READ_OPTIMIZED}
OF_CLUSTERING = {"ClusteringKeepsRows": Promise.CLUSTERING_KEEPS_ROWS}
OF_LOST_ANSWERS = {"OutcomesAreTrue": Promise.TRUE_OUTCOMES}
OF_INCREMENTAL = {"NothingIsMissed": Promise.INCREMENTAL_READS}
OF_RETRIES = {"AppliedOnce": Promise.APPLIED_ONCE}
OF_ARCHIVAL = {"HistoryIsWhole": Promise.HISTORY_IS_WHOLE, "ArchivedChanges": Promise.INCREMENTAL_READS}
OF_CLEANING = {
    "ConsistentReadInRetention": Promise.CONSISTENT_READ,
    "NoLostUpdate": Promise.NO_LOST_UPDATE,
    "NoDuplicateKeysInRetention": Promise.NO_DUPLICATE_KEYS,
    "UncleanedWritesStay": Promise.NO_UNDONE_WRITE,
    "LiveWritersAreLetBe": Promise.LIVE_WRITER_KEPT,
    "LegalTransitions": Promise.LEGAL_TRANSITIONS,
    "QueriesKeepFiles": Promise.QUERIES_KEEP_FILES,
}
OF_METADATA_TABLE = {"MetadataAgrees": Promise.METADATA_AGREES}
OF_SAVEPOINTS = {
    **{name: promise for name, promise in OF_CLEANING.items() if name != "LegalTransitions"},
    "TransitionsAreLegal": Promise.LEGAL_TRANSITIONS,
    "SavepointsStay": Promise.SAVEPOINTS_STAY,
    "RestoresAreExact": Promise.RESTORES_ARE_EXACT,
}
OF_RESTORED_METADATA = OF_SAVEPOINTS | {"MetadataAgreesAfterRestores": Promise.METADATA_AGREES}
PROMISES = {
    "CopyOnWrite": OF_COPY_ON_WRITE,
    "MergeOnRead": OF_COPY_ON_WRITE | OF_MERGE_ON_READ,
    "Clustering": OF_COPY_ON_WRITE | OF_CLUSTERING,
    "Cleaning": OF_CLEANING,
    "Incremental": OF_COPY_ON_WRITE | OF_INCREMENTAL,
    "Retries": OF_COPY_ON_WRITE | OF_RETRIES,
    "EarlyDetection": OF_COPY_ON_WRITE,
    "PartitionDeletes": OF_COPY_ON_WRITE | OF_CLUSTERING,
    "LostAnswers": OF_COPY_ON_WRITE | OF_LOST_ANSWERS,
    "Archival": OF_COPY_ON_WRITE | OF_ARCHIVAL,
    "Indexing": OF_COPY_ON_WRITE | OF_INDEXING,
    "LogCompaction": OF_COPY_ON_WRITE | OF_MERGE_ON_READ | OF_LOG_COMPACTION,
    "MetadataTable": OF_CLEANING | OF_METADATA_TABLE,
    "NonBlocking": OF_COPY_ON_WRITE | OF_MERGE_ON_READ | OF_NON_BLOCKING,
    "Savepoints": OF_SAVEPOINTS,
    "RestoredMetadata": OF_RESTORED_METADATA,
    "QueryTypes": OF_COPY_ON_WRITE | OF_MERGE_ON_READ | OF_NON_BLOCKING | OF_QUERY_TYPES,
}


def buckets(checkpoint=SnapshotTime.COMPLETION, *, begun_by_pending=False, **switches):
    """The modules of writers of buckets beside a compaction."""
    log_files = LogFiles(begun_by_pending=begun_by_pending, **switches)
    return (*COPY_ON_WRITE, log_files, Compaction(), NonBlocking(checkpoint))


def told(**switches):
    """The modules of writers that tell the metadata table; without a cleaner that has anything to do."""
    return (*COPY_ON_WRITE, QueryModule(queries=0), Cleaning(cleans=0), MetadataTable(**switches))


def restored(*, waits=True, **switches):
    """The modules of a savepoint, and of a restore to it."""
    return (*RESTORED[:-2], SavepointModule(waits=waits), RestoreModule(**switches))


NAMES = {name: promise for names in PROMISES.values() for name, promise in names.items()}
MODULES = {
    "CopyOnWrite": COPY_ON_WRITE,
    "MergeOnRead": MERGE_ON_READ,
    "Clustering": CLUSTERED,
    "Cleaning": CLEANED,
    "Incremental": (*COPY_ON_WRITE, Incremental(read_on=ReadOn.FENCED)),
    "Retries": (*COPY_ON_WRITE, Retries()),
    "EarlyDetection": (*COPY_ON_WRITE, EarlyDetection()),
    "PartitionDeletes": (*CLUSTERED, PartitionDeleteModule()),
    "LostAnswers": (*COPY_ON_WRITE, LostAnswers()),
    "Archival": (*COPY_ON_WRITE, Archival()),
    "Indexing": (*COPY_ON_WRITE, Indexing()),
    "LogCompaction": (*COPY_ON_WRITE, LogFiles(), LogCompaction()),
    "MetadataTable": told(),
    "NonBlocking": buckets(order=SnapshotTime.COMPLETION),
    "Savepoints": RESTORED,
    "RestoredMetadata": (*RESTORED, MetadataTable(), RestoredMetadataModule()),
    "QueryTypes": (*buckets(order=SnapshotTime.COMPLETION), QueryTypes()),
}
# What a model's own constants are in Python: modules with other switches.
VARIANTS = {
    "cleaning_unannounced": (*COPY_ON_WRITE, QueryModule(), Cleaning(heeds_plans=False)),
    "cleaning_by_versions": (
        *COPY_ON_WRITE,
        QueryModule(),
        Cleaning(policy=CleaningPolicy.KEEP_LATEST_FILE_VERSIONS),
    ),
    "restored_metadata_without_listing": (
        *COPY_ON_WRITE,
        QueryModule(queries=0),
        Cleaning(policy=CleaningPolicy.KEEP_LATEST_FILE_VERSIONS),
        SavepointModule(),
        RestoreModule(),
        MetadataTable(compactions=0),
        RestoredMetadataModule(syncs=False),
    ),
    "metadata_table_as_the_text": told(leaves_out_pending=False),
    "metadata_table_and_clean": (
        *COPY_ON_WRITE,
        QueryModule(queries=0),
        Cleaning(policy=CleaningPolicy.KEEP_LATEST_FILE_VERSIONS),
        MetadataTable(),
    ),
    "archival_in_any_order": (*COPY_ON_WRITE, Archival(in_order=False)),
    "archival_by_two": (*COPY_ON_WRITE, Archival(locks=False), SecondArchiver()),
    "archival_by_two_of_three": (*COPY_ON_WRITE, Archival(locks=False), SecondArchiver()),
    "restore_unheeded": restored(heeded=False),
    "restore_unlocked": restored(locks=False),
    "restore_by_completion": restored(by=SnapshotTime.COMPLETION),
    "savepoint_beside_a_pending_write": restored(waits=False),
    "savepoint_and_clean": (
        *COPY_ON_WRITE,
        QueryModule(queries=0),
        Cleaning(policy=CleaningPolicy.KEEP_LATEST_FILE_VERSIONS),
        SavepointModule(),
        RestoreModule(restores=0),
    ),
    "clustering_gives_way": (*COPY_ON_WRITE, Clustering(update=UpdateStrategy.ALLOW)),
    "incremental_by_requests": (*COPY_ON_WRITE, Incremental(read_on=ReadOn.REQUESTED)),
    "non_blocking_greatest": buckets(merge=MergeRule.GREATEST),
    "non_blocking_by_requests": buckets(),
    "non_blocking_slices_by_requests": buckets(order=SnapshotTime.COMPLETION, slice_by=SnapshotTime.REQUESTED),
    "non_blocking_begun_by_pending": buckets(order=SnapshotTime.COMPLETION, begun_by_pending=True),
    "non_blocking_read_on_by_requests": buckets(SnapshotTime.REQUESTED, order=SnapshotTime.COMPLETION),
    "query_types_by_requests": (*buckets(order=SnapshotTime.COMPLETION), QueryTypes(images=SnapshotTime.REQUESTED)),
    "clustering_hides_the_past": (*COPY_ON_WRITE, Clustering(hides_the_past=True)),
}

# What a model's own constants are in Python: a planted bug.
PLANTED = {
    "archival_before_the_manifest": PlantedBug.DROP_BEFORE_MANIFEST,
    "lost_answers_denied": PlantedBug.REFUSED_BY_ITSELF,
    "partition_delete_careless": PlantedBug.DELETE_UNDER_CLUSTERING,
    "retries_while_alive": PlantedBug.RETRY_WHILE_ALIVE,
    "early_detection_alone": PlantedBug.DETECT_EARLY_ONLY,
}


def twins_of(module: str, *bugs: PlantedBug, **constants: object) -> dict[PlantedBug, tuple[str, dict[str, object]]]:
    """What `bugs` are in the twin of a module that knows them by name, with constants unlike the manifest's."""
    return {bug: (module, {"Bug": f'"{bug}"', **constants}) for bug in bugs}


TWINS: dict[PlantedBug, tuple[str, dict[str, object]]] = {
    PlantedBug.REFUSED_BY_ITSELF: ("LostAnswers", {"Compares": False}),
    PlantedBug.RETRY_WHILE_ALIVE: ("Retries", {"WhileAlive": True}),
    PlantedBug.DETECT_EARLY_ONLY: ("EarlyDetection", {"EarlyOnly": True}),
    PlantedBug.DELETE_UNDER_CLUSTERING: ("PartitionDeletes", {"Careless": True}),
    PlantedBug.LOG_COMPACT_BESIDE_PENDING: ("LogCompaction", {"Waits": False}),
    PlantedBug.DROP_BEFORE_MANIFEST: ("Archival", {"AfterManifest": False}),
    **twins_of(
        "Archival",
        PlantedBug.ARCHIVE_PAST_PENDING,
        PlantedBug.DROP_COMPLETED_FIRST,
        PlantedBug.LOSE_COMPLETION_TIMES,
        PlantedBug.IGNORE_ARCHIVED,
        PlantedBug.CHANGES_OF_ACTIVE,
    ),
    **twins_of(
        "Clustering",
        PlantedBug.UPDATE_UNDER_CLUSTERING,
        PlantedBug.REPLACE_BEFORE_COMPLETION,
        PlantedBug.INSERT_INTO_REPLACED,
    ),
    **twins_of("Clustering", PlantedBug.CLUSTER_TAKEN_GROUPS, Schedules=2),
    **twins_of(
        "Savepoints",
        PlantedBug.CLEAN_SAVEPOINTED_SLICES,
        PlantedBug.SAVEPOINT_OF_CLEANED,
        MaxCleans=1,
        MaxRestores=0,
    ),
    **twins_of("Savepoints", PlantedBug.RESTORE_LEAVES_PENDING, PlantedBug.RESTORE_OLDEST_FIRST),
    **twins_of("Cleaning", PlantedBug.CLEAN_ONE_TOO_MANY),
    **twins_of("Cleaning", PlantedBug.CLEAN_COUNTS_PENDING, ByVersions=True),
    **twins_of("Incremental", PlantedBug.FENCE_OF_INFLIGHT),
    **twins_of(
        "Indexing",
        PlantedBug.SKIP_CATCH_UP,
        PlantedBug.INDEX_WITHOUT_WAITING,
        PlantedBug.WRITERS_IGNORE_INDEX,
    ),
    **twins_of("LogCompaction", PlantedBug.LOG_COMPACT_WITHOUT_DELETES),
    **twins_of("MergeOnRead", PlantedBug.SKIP_DELETE_BLOCKS),
    **twins_of(
        "MetadataTable",
        PlantedBug.COMPACT_PENDING_METADATA,
        PlantedBug.SKIP_METADATA_ROLLBACK,
        PlantedBug.UNFENCED_METADATA,
    ),
}
"""What a planted bug of a module is in TLA+: the module's twin, and its constants that differ from the manifest's."""


def module_of(model: Model) -> str:
    """The TLA+ module that a model is one of."""
    return model.get("module", "CopyOnWrite")


def promised(model: Model) -> list[str]:
    """The names of the promises that the model is expected to keep."""
    return [name for name in PROMISES[module_of(model)] if name not in model.get("but", ())]


def config_of(model: Model) -> Config:
    """A model as the explorer takes it."""
    workload = tuple(tuple((key, written) for key, written in operation) for operation in model["workload"])
    bounds = Bounds(
        workload=workload,
        groups=model["groups"],
        crashes=model["crashes"],
        heartbeat_expiries=model["heartbeat_expiries"],
        lock_expiries=model["lock_expiries"],
        faults=model["faults"],
        faults_until=model.get("faults_until", 3),
        renewals=model["renewals"],
    )
    name = next(name for name, each in ALL_MODELS.items() if each is model)
    return Config(
        concurrency=ConcurrencyControl(model["concurrency"]),
        key_check=model["key_check"],
        planted=PLANTED.get(name),
        modules=VARIANTS.get(name, MODULES[module_of(model)]),
        bounds=bounds,
    )


class TlcMissingError(Exception):
    """TLC, or the Java that it runs on, is not there; the message says which."""


@dataclass(frozen=True)
class Checked:
    """What one run of TLC said.

    Attributes:
        output: all of it.
        seconds: how long it took, with the start of Java.

    """

    output: str
    seconds: float

    @property
    def is_clean(self) -> bool:
        """Whether TLC came to the end and found nothing wrong."""
        return "Model checking completed. No error has been found." in self.output

    @property
    def states(self) -> int:
        """Distinct states."""
        return int(re.findall(r"([\d,]+) distinct states found", self.output)[-1].replace(",", ""))

    @property
    def checking_seconds(self) -> float:
        """How long the search itself took, by TLC's clock of whole seconds, or the whole run where it says less."""
        found = re.search(r"Finished in (?:(\d+)min )?(\d+)s", self.output)
        return 60.0 * int(found[1] or 0) + int(found[2]) if found else self.seconds

    @property
    def violated(self) -> str | None:
        """The invariant that is broken."""
        found = re.search(r"Invariant (\w+) is violated", self.output)
        return found[1] if found else None

    @property
    def breaks_liveness(self) -> bool:
        """Whether a behaviour was found that never does what it has to do some time."""
        return "Temporal properties were violated." in self.output

    @property
    def length(self) -> int:
        """States in the history that TLC shows; 0 where it shows none."""
        return len(re.findall(r"^State \d+:", self.output, re.MULTILINE))


def jar() -> Path:
    """TLC of the development environment, checked by its hash; raises `TlcMissingError`."""
    if shutil.which("java") is None:
        raise TlcMissingError("TLC needs Java, and there is none")
    wanted = MANIFEST["jar"]
    try:
        files = importlib.metadata.files(wanted["distribution"]) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise TlcMissingError(f"the package {wanted['distribution']} that carries TLC is not installed") from error
    path = next(Path(str(file.locate())) for file in files if file.name == wanted["file"])
    if hashlib.sha256(path.read_bytes()).hexdigest() != wanted["sha256"]:
        raise ValueError(f"{path} is not the TLC that tla/manifest.toml names")
    return path


def run_tlc(
    folder: Path,
    model: Model,
    invariants: Iterable[str] = (),
    *,
    properties: Iterable[str] = (),
    specification: str | None = None,
    workers: int = 1,
    timeout_s: float = 600,
) -> Checked:
    """Run TLC on a model in an empty folder, without symmetry; `properties` are temporal ones."""
    path = jar()
    for module in TLA.glob("*.tla"):
        shutil.copy(module, folder)
    (folder / "MC.tla").write_text(_extended(model), encoding="utf-8")
    (folder / "MC.cfg").write_text(_configured(model, invariants, properties, specification), encoding="utf-8")
    command = ["java", "-XX:+UseParallelGC", f"-Xmx{model.get('heap_gb', 1)}g", "-cp", str(path), "tlc2.TLC"]
    command += ["-deadlock", "-workers", str(workers), "MC"]
    started = time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout_s, check=False)
    return Checked(done.stdout, time.monotonic() - started)


def _tla(value: object) -> str:
    return {True: "TRUE", False: "FALSE"}[value] if isinstance(value, bool) else str(value)


def _extended(model: Model) -> str:
    """The module that TLC is given: the model's, and its workload."""
    operations = ", ".join(
        "{" + ", ".join(f"<<{key}, {_tla(written)}>>" for key, written in operation) + "}"
        for operation in model["workload"]
    )
    return f"---- MODULE MC ----\nEXTENDS {module_of(model)}\nMCWorkload == <<{operations}>>\n====\n"


def _configured(model: Model, invariants: Iterable[str], properties: Iterable[str], specification: str | None) -> str:
    """The configuration that TLC is given."""
    constants = {
        "Writers": 2,
        "Groups": model["groups"],
        "Bug": '"NONE"',
        "Optimistic": model["concurrency"] == "OPTIMISTIC",
        "KeyCheck": model["key_check"],
        "MaxCrashes": model["crashes"],
        "MaxHeartbeatExpiries": model["heartbeat_expiries"],
        "MaxLockExpiries": model["lock_expiries"],
        "MaxFaults": model["faults"],
        "FaultsUntil": model.get("faults_until", 3),
        "MaxRenewals": model["renewals"],
    }
    module = MANIFEST["modules"].get(module_of(model), {})
    constants |= module.get("constants", {}) | model.get("constants", {})
    lines = [f"SPECIFICATION {specification or module.get('specification', 'Spec')}"]
    lines += ["CONSTANT Workload <- MCWorkload"]
    lines += [f"CONSTANT {name} <- {other}" for name, other in module.get("in_place_of", {}).items()]
    lines += [f"CONSTANT {name} = {_tla(value)}" for name, value in constants.items()]
    lines += [f"INVARIANT {name}" for name in invariants]
    lines += [f"PROPERTY {name}" for name in properties]
    return "\n".join(lines) + "\n"
