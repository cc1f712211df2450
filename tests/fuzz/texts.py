"""Properties, partition metafiles and JSON: definitions of indexes, histories of schemas; and the archived timeline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from random import Random

from drawstring.metadata.index_definitions import index_definitions
from drawstring.read.schema_history import load_history
from drawstring.table_config import load_table_config
from drawstring.timeline.archived import has_archive, load_archived, read_archived_payloads
from drawstring.timeline.load import load_timeline
from drawstring_spec.layout import PROPERTIES_FILE
from drawstring_spec.partition_metadata import PartitionMetadata

from . import golden
from .mutators import damage, damage_json
from .tables import context_of
from .target import Answer, Files, Target, cuts_are_told


@cache
def _properties() -> tuple[bytes, ...]:
    return tuple(golden.matching(r"^\.hoodie/hoodie\.properties$"))[::6]


def _read_properties(content: bytes) -> Answer:
    config = load_table_config(Files({PROPERTIES_FILE: content}))
    return (str(sorted(config.properties.items())), str(config))


def _with_damaged_line(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    lines = content.split(b"\n")
    other = chance.choice(others).split(b"\n")
    lines[chance.randrange(len(lines))] = damage(chance.choice((*lines, *other)) or b"a=b", chance, others)
    return b"\n".join(lines)


@cache
def _metafiles() -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(golden.matching(r"\.hoodie_partition_metadata$", per_case=3)))[:6]


def _read_metafile(content: bytes) -> Answer:
    return (str(PartitionMetadata.parse(content)),)


@cache
def _definitions() -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(golden.matching(r"index_defs/index\.json$")))


_DEFINITIONS_TABLE = "index_expression"


def _read_definitions(content: bytes) -> Answer:
    files = dict(golden.files_of(_DEFINITIONS_TABLE))
    files[".hoodie/.index_defs/index.json"] = content
    return (str(index_definitions(context_of(files))),)


_HISTORY_TABLE = "schema_on_read_cow"


@cache
def _histories() -> tuple[bytes, ...]:
    files = golden.files_of(_HISTORY_TABLE)
    return tuple(content for path, content in files.items() if path.endswith(".schemacommit"))


def _read_history(content: bytes) -> Answer:
    files = {p: content if p.endswith(".schemacommit") else c for p, c in golden.files_of(_HISTORY_TABLE).items()}
    context = context_of(files)
    return (str(load_history(context, load_timeline(context.ports.storage, context.config))),)


def _damaged_json(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    return damage_json(content, chance)


_ARCHIVE_TABLE = "archival_lsm"
_HISTORY_FOLDER = ".hoodie/timeline/history/"


@cache
def _archive() -> dict[str, bytes]:
    files = golden.files_of(_ARCHIVE_TABLE)
    return {p: c for p, c in files.items() if p.startswith(_HISTORY_FOLDER) or p == PROPERTIES_FILE}


def _archive_names() -> list[str]:
    return [p for p in sorted(_archive()) if p.startswith(_HISTORY_FOLDER) and "." in p.rpartition("/")[2]]


def _newest_manifest() -> str:
    manifests = [p for p in _archive() if "/manifest_" in p]
    return max(manifests, key=lambda p: int(p.rpartition("_")[2]))


@cache
def _manifests() -> tuple[bytes, ...]:
    return tuple(c for p, c in sorted(_archive().items()) if p.startswith(_HISTORY_FOLDER) and "/manifest_" in p)


def _read_archive(files: dict[str, bytes]) -> Answer:
    storage = Files(files)
    config = load_table_config(storage)
    archived = load_archived(storage, config)
    payloads = read_archived_payloads(storage, archived, archived.instants[:3])
    return (str(has_archive(storage, config)), str([entry.instant for entry in archived.entries]), str(payloads))


def _read_manifest(content: bytes) -> Answer:
    return _read_archive({**_archive(), _newest_manifest(): content, _HISTORY_FOLDER + "_version_": b""})


@cache
def _archived_files() -> tuple[bytes, ...]:
    return tuple(_archive()[path] for path in _named_files())


def _named_files() -> list[str]:
    entries = json.loads(_archive()[_newest_manifest()])["files"]
    return [_HISTORY_FOLDER + entry["fileName"] for entry in entries]


def _read_archived_file(content: bytes) -> Answer:
    """The file stands in the first one's place, whichever it was made from."""
    return _read_archive({**_archive(), _named_files()[0]: content})


TARGETS = (
    Target("properties", _properties, _read_properties, (_with_damaged_line,)),
    Target("partition_metafile", _metafiles, _read_metafile, (_with_damaged_line,)),
    Target("index_definitions", _definitions, _read_definitions, (_damaged_json,), cuts_are_told),
    Target("schema_history", _histories, _read_history, (_damaged_json,), cuts_are_told),
    Target("manifest", _manifests, _read_manifest, (_damaged_json,), cuts_are_told),
    Target("archived_timeline", _archived_files, _read_archived_file, (), cuts_are_told),
)
