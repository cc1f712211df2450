"""The formats, by name."""

from __future__ import annotations

from . import avro, base_files, log_files, metadata, other_readers, tables, texts
from .target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for module in (log_files, metadata, avro, base_files, other_readers, texts, tables)
    for target in module.TARGETS
}
