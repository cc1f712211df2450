"""Targets: the readers that the suite can judge, and how it finds them.

A target is named on the command line in one of three ways:

- a name, such as ``embedded``: an entry point of the group ``drawstring.targets``;
- ``module:attribute``: anything in Python that can be called without arguments and returns a `Target`;
- ``exec:command``: a program in any language (`drawstring_conformance.exec_target`).

Whose duty: the suite unpacks the golden tables, asks, compares and reports. A target answers one query at a time with
all rows and all columns, and changes nothing.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from importlib import metadata
from typing import Any, Final, Protocol, runtime_checkable

import pyarrow as pa

from drawstring_conformance.exec_target import ExecTarget
from drawstring_spec.errors import DrawstringError, UnsupportedQueryError

__all__ = ["TARGETS_GROUP", "Target", "TargetError", "UnsupportedQueryError", "load_target", "target_names"]

TARGETS_GROUP: Final = "drawstring.targets"
"""Entry points of this group are targets: each something that is called without arguments and returns a `Target`."""

EXEC_PREFIX: Final = "exec:"


class TargetError(DrawstringError):
    """A target is not known, or cannot be started."""


@runtime_checkable
class Target(Protocol):
    """A reader of Hudi tables that is judged.

    Attributes:
        name: of the reader, for reports.
        version: of the reader, for reports.

    A method ``close()``, where there is one, is called at the end.
    """

    name: str
    version: str

    def answer(self, base_path: str, query: Mapping[str, Any]) -> pa.Table:
        """Answer one query.

        Args:
            base_path: folder of the table, absolute. The next call may be for another table.
            query: ``type`` (see `drawstring_conformance.vectors.QueryType`), and ``as_of``, ``start`` and ``end``
                (instant times, or None) and ``read_options`` (texts by text), as the type has them.

        Returns:
            All rows with all columns, meta columns first, in any order of rows.

        Raises:
            UnsupportedQueryError: the reader does not answer queries of this kind, or tables like this one.
            Exception: any other: the reader refuses the query, or failed.

        """
        ...


def target_names() -> dict[str, str]:
    """Return the targets that are installed, by name, each with where it comes from."""
    return {entry.name: entry.value for entry in sorted(metadata.entry_points(group=TARGETS_GROUP))}


def load_target(text: str) -> Target:
    """Find and start a target.

    Args:
        text: name, ``module:attribute`` or ``exec:command``.

    Raises:
        TargetError: there is none of that name, or it cannot be started.

    """
    if text.startswith(EXEC_PREFIX):
        return ExecTarget.start(text.removeprefix(EXEC_PREFIX))
    entries = {entry.name: entry for entry in metadata.entry_points(group=TARGETS_GROUP)}
    if text in entries:
        return _made(text, _loaded(text, entries[text].value))
    if ":" in text:
        return _made(text, _loaded(text, text))
    raise TargetError(
        f"There is no target {text!r}.",
        way_out=f"Installed are: {', '.join(sorted(entries))}. Or give module:attribute, or exec:command.",
    )


def _loaded(text: str, where: str) -> Any:
    module, _, attribute = where.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise TargetError(
            f"The target {text!r} cannot be loaded: {error}.", way_out="Install what it needs, or check its name."
        ) from error
    return found


def _made(text: str, factory: Any) -> Target:
    try:
        made = factory() if inspect.isclass(factory) or not isinstance(factory, Target) else factory
    except DrawstringError:
        raise
    except Exception as error:  # whatever the target of somebody else raises
        raise TargetError(
            f"The target {text!r} cannot be started: {type(error).__name__}: {error}.",
            way_out="It is called without arguments, and has to return the reader.",
        ) from error
    if not isinstance(made, Target):
        raise TargetError(
            f"{text!r} gives {type(made).__name__!r}, which is no target.",
            way_out="It needs the attributes name and version, and a method answer(base_path, query).",
        )
    return made
