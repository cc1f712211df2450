"""What a check is and what it finds, as values; and the register of all checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from drawstring.errors import DrawstringError

if TYPE_CHECKING:
    from drawstring.doctor.examination import Examination


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """Readers or writers may go wrong, or refuse the table."""
    WARNING = "warning"
    """Left over or missing; queries answer rightly, and a writer may clear it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What a check found, as it says it.

    Attributes:
        path: of the file or folder, below the table's base path.
        message: what is wrong with it, in words.
        rules: requirements that it breaks, where they are fewer than the check's.
        severity: where it is not the check's.

    """

    path: str
    message: str
    rules: tuple[str, ...] = ()
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        check: name of the check.
        rules: ids of the requirements that it breaks.
        severity: how bad it is.
        path: of the file or folder, below the table's base path.
        message: what is wrong with it, in words.

    """

    check: str
    rules: tuple[str, ...]
    severity: Severity
    path: str
    message: str


Examine = Callable[["Examination"], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: short, with hyphens.
        rules: ids of the requirements that it checks.
        severity: of its findings, unless they say otherwise.
        says: what holds of a table that passes, in words.
        deep: whether it reads rows.
        nested: whether it is for the metadata table, too.
        examine: yields what is wrong.

    """

    name: str
    rules: tuple[str, ...]
    severity: Severity
    says: str
    deep: bool
    nested: bool
    examine: Examine


class BlockedError(DrawstringError):
    """A check cannot run, since what it needs cannot be read; another check says what is wrong there."""


REGISTER: Final[dict[str, Check]] = {}
"""All checks by name, in the order in which they are written down."""


def check(
    name: str,
    *rules: str,
    says: str,
    severity: Severity = Severity.ERROR,
    deep: bool = False,
    nested: bool = False,
) -> Callable[[Callable[[Examination], Iterator[Problem]]], Callable[[Examination], Iterator[Problem]]]:
    """Register a function as a check; arguments as the attributes of `Check`."""

    def register(function: Callable[[Examination], Iterator[Problem]]) -> Callable[[Examination], Iterator[Problem]]:
        if name in REGISTER:
            raise ValueError(f"there are two checks {name!r}")
        REGISTER[name] = Check(name, rules, severity, says, deep, nested, function)
        return function

    return register
