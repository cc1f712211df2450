"""Avro containers of the timeline: commits, plans, and what is taken out of them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import cache
from random import Random

import fastavro

from drawstring.codec import avro_container
from drawstring.protocol.commit_metadata import groups_of, stats_of

from . import golden
from .mutators import avro_long, damage, damage_json
from .target import Answer, Target, cuts_are_told

_SYNC = 16


@cache
def _containers() -> tuple[bytes, ...]:
    """Payloads of every action on golden timelines."""
    found: dict[str, bytes] = {}
    for action in ("commit", "deltacommit", "replacecommit", "clean", "rollback", "restore", "savepoint", "indexing"):
        for content in golden.matching(rf"^\.hoodie/timeline/\d+_\d+\.{action}$", most_bytes=12_000):
            found.setdefault(action, content)
        for content in golden.matching(rf"^\.hoodie/timeline/\d+\.{action}\.requested$", most_bytes=12_000):
            found.setdefault(f"{action}.requested", content)
    for content in golden.matching(r"^\.hoodie/timeline/\d+\.compaction\.requested$"):
        found.setdefault("compaction", content)
    return tuple(found.values())


def _read_container(content: bytes) -> Answer:
    record = avro_container.decode(content, path="1.commit")
    answer = [str(record)]
    if "partitionToWriteStats" in record or "partitionToReplaceFileIds" in record:
        answer += [str(stats_of(record)), str(sorted(groups_of(record), key=repr))]
    return tuple(answer)


def _parts(content: bytes) -> tuple[bytes, bytes, bytes]:
    """Schema, sync marker and the block's body of a container with one block."""
    start = content.index(b'{"type"')
    schema, _ = json.JSONDecoder().raw_decode(content[start:].decode("latin-1"))
    sync = content[-_SYNC:]
    body_start = content.index(sync) + _SYNC
    stream = io.BytesIO(content[body_start:-_SYNC])
    fastavro.schemaless_reader(stream, "long", None)
    fastavro.schemaless_reader(stream, "long", None)
    return json.dumps(schema).encode(), sync, stream.read()


def container(schema: bytes, sync: bytes, body: bytes, count: int = 1) -> bytes:
    """A container of its parts, with all lengths right."""
    head = b"Obj\x01" + avro_long(1) + avro_long(11) + b"avro.schema" + avro_long(len(schema)) + schema + avro_long(0)
    return head + sync + avro_long(count) + avro_long(len(body)) + body + sync


def _with_damaged_body(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    schema, sync, body = _parts(content)
    return container(schema, sync, damage(body, chance, others))


def _with_damaged_schema(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    schema, sync, body = _parts(content)
    return container(damage_json(schema, chance), sync, body, chance.choice((1, 1, 2, 2**40)))


TARGETS = (
    Target("avro_container", _containers, _read_container, (_with_damaged_body, _with_damaged_schema), cuts_are_told),
)
