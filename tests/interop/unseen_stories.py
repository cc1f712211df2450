"""All stories of tables that Java Hudi writes, by name: importing the modules that tell them registers them."""

from __future__ import annotations

from interop import (
    unseen_bootstrap,
    unseen_doubles,
    unseen_evolution,
    unseen_histories,
    unseen_indexes,
    unseen_merging,
    unseen_partitions,
    unseen_payloads,
    unseen_readers,
    unseen_writers,
)
from interop.unseen_story import STORIES

__all__ = [
    "STORIES",
    "unseen_bootstrap",
    "unseen_doubles",
    "unseen_evolution",
    "unseen_histories",
    "unseen_indexes",
    "unseen_merging",
    "unseen_partitions",
    "unseen_payloads",
    "unseen_readers",
    "unseen_writers",
]
