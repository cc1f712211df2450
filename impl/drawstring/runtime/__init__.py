"""The production adapters of the ports: the only place where drawstring reads time, files, randomness or threads."""

from __future__ import annotations

from drawstring.runtime.production import open_source_files, open_storage, production_ports

__all__ = ["open_source_files", "open_storage", "production_ports"]
