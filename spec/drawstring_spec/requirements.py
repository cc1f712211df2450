"""The catalogue of requirements: each normative sentence of the format, with its source and its checks.

The sentences are in ``requirements/*.toml``, one file per chapter, in our own words. Where the software that decides
(Java Hudi 1.0.2) differs from the text of the specification, a requirement gives both readings and the evidence;
its text is what holds. A check is a test, ``tests/<file>.py::<function>``, a promise that the model's explorer
verifies, ``model::<name>``, or an invariant that TLC verifies, ``tla::<name>``. What drawstring does not meet, and
what nothing covers, says so and why. This is the one module of the specification that reads files: its own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

from drawstring_spec.errors import DrawstringError, FormatError
from drawstring_spec.steps import Step

MODEL_CHECK = "model::"
"""Checks that begin so name a promise of the model."""
TLA_CHECK = "tla::"
"""Checks that begin so name an invariant of a TLA+ module."""

_ID = re.compile(r"[A-Z]{2}-[0-9]{3}")
_CHECK = re.compile(r"tests/[\w/]+\.py::\w+|model::[\w -]+|tla::\w+")
_ERRATUM = re.compile(r"[A-Z][1-9][0-9]*")
_MARKUP = re.compile(r"[\\`*_<>\[\]]")
_READINGS = ("text_reading", "actual_reading", "evidence", "erratum")
_OF_READINGS = ("taken", "model_switch", "guarantee")
_REASONS = ("unmet", "unchecked")
_REQUIRED_KEYS = ("id", "level", "text", "source", "checks")
_KEYS = {*_REQUIRED_KEYS, *_READINGS, *_OF_READINGS, *_REASONS, "steps"}


class UnknownRequirementError(DrawstringError):
    """There is no requirement of that id."""


class Level(StrEnum):
    """How binding a requirement is, in the words of RFC 2119."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Reading(StrEnum):
    """Which of two readings drawstring takes."""

    TEXT = "text"
    """What the specification's text says."""
    ACTUAL = "actual"
    """What real tables hold and real readers do."""
    OWN = "own"
    """One of its own, with which other implementations still go on; the requirement's text says which."""


@dataclass(frozen=True)
class Requirement:
    """One normative sentence.

    Attributes:
        id: two letters of the chapter and three digits; never used again for another sentence.
        chapter: title of the chapter.
        level: how binding it is.
        text: the sentence, as it holds for real tables.
        source: document and section.
        checks: what covers it.
        text_reading: what the specification's text says, where real behaviour differs.
        actual_reading: what real tables hold and real readers do, where that differs from the text.
        evidence: how the difference is known.
        erratum: number of the difference among all errata: a letter for the area, and a number.
        taken: which of the readings drawstring takes; None where there are no two.
        model_switch: the switch of the model's configuration that decides between the readings; None where none does.
        guarantee: which guarantee which reading keeps, where the model knows.
        steps: the model's actions that the requirement is about.
        unmet: what of it drawstring does not do, and why; None where it does all.
        unchecked: why nothing covers it; None where something does.

    """

    id: str
    chapter: str
    level: Level
    text: str
    source: str
    checks: tuple[str, ...]
    text_reading: str | None = None
    actual_reading: str | None = None
    evidence: str | None = None
    erratum: str | None = None
    taken: Reading | None = None
    model_switch: str | None = None
    guarantee: str | None = None
    steps: tuple[Step, ...] = ()
    unmet: str | None = None
    unchecked: str | None = None

    @property
    def differs(self) -> bool:
        """Whether real behaviour differs from the specification's text."""
        return self.actual_reading is not None

    def remarks(self) -> list[tuple[str, str]]:
        """Everything that is to be said of the requirement besides its text and checks, each with its label."""
        both = f"{self.taken} reading" if self.taken is not Reading.OWN else "a reading of its own"
        said = (
            ("Source", self.source),
            ("Erratum", self.erratum),
            ("The text reads", self.text_reading),
            ("Really", self.actual_reading),
            ("Evidence", self.evidence),
            ("drawstring takes", both if self.taken else None),
            ("Switch of the model", self.model_switch),
            ("Guarantee", self.guarantee),
            ("Steps", ", ".join(self.steps) or None),
            ("Not met", self.unmet),
            ("Unchecked", self.unchecked),
        )
        return [(label, text) for label, text in said if text is not None]

    def as_dict(self) -> dict[str, Any]:
        """Return the requirement as plain data, without what is not given."""
        plain = {name: value for name, value in vars(self).items() if value not in (None, ())}
        return plain | {"level": self.level.value, "checks": list(self.checks)}


def parse_requirements(text: str, name: str) -> tuple[Requirement, ...]:
    """Read one chapter.

    Args:
        text: TOML with ``chapter``, ``prefix`` and an array ``requirement``.
        name: of the file, for messages.

    Raises:
        FormatError: a key that is missing or unknown, an id that does not fit, half of a pair of readings, or neither
            a check nor a reason.

    """
    try:
        chapter = tomllib.loads(text)
        title, prefix, entries = chapter["chapter"], chapter["prefix"], chapter["requirement"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise FormatError(f"{name} is no chapter of requirements: {error}.") from error
    return tuple(_parse_entry(entry, title, prefix, name) for entry in entries)


def _parse_entry(entry: Mapping[str, Any], chapter: str, prefix: str, name: str) -> Requirement:
    label = f"{name}: {entry.get('id', 'a requirement without id')}"
    if missing := sorted(set(_REQUIRED_KEYS) - set(entry)):
        raise FormatError(f"{label} has no {', '.join(missing)}.")
    if unknown := sorted(set(entry) - _KEYS):
        raise FormatError(f"{label} has {', '.join(unknown)}, which no requirement has.")
    if not _ID.fullmatch(entry["id"]) or not entry["id"].startswith(prefix):
        raise FormatError(f"{label} is not an id of this chapter, {prefix}-000 to {prefix}-999.")
    if entry["level"] not in list(Level):
        raise FormatError(f"{label} has the level {entry['level']!r}, not {', '.join(Level)}.")
    _refuse_wrong_checks(entry, label)
    return Requirement(
        id=entry["id"],
        chapter=chapter,
        level=Level(entry["level"]),
        text=_one_line(entry["text"]),
        source=_one_line(entry["source"]),
        checks=tuple(entry["checks"]),
        taken=_taken(entry, label),
        steps=tuple(Step(step) for step in entry.get("steps", ())),
        **{key: _one_line(entry[key]) for key in (*_READINGS, *_OF_READINGS[1:], *_REASONS) if key in entry},
    )


def _refuse_wrong_checks(entry: Mapping[str, Any], label: str) -> None:
    if not entry["checks"] and not any(reason in entry for reason in _REASONS):
        raise FormatError(f"{label} needs checks, or the reason why there are none.")
    if entry["checks"] and "unchecked" in entry:
        raise FormatError(f"{label} has checks, and says that nothing covers it.")
    if wrong := [check for check in entry["checks"] if not _CHECK.fullmatch(check)]:
        raise FormatError(f"{label} names {wrong[0]!r}, which is no test, promise of the model or TLA+ invariant.")
    if wrong := [step for step in entry.get("steps", ()) if step not in list(Step)]:
        raise FormatError(f"{label} is about {wrong[0]!r}, which is no step of the protocol.")


def _taken(entry: Mapping[str, Any], label: str) -> Reading | None:
    """Which reading is taken: the actual one where there are two and nothing else is said."""
    given = {key in entry for key in _READINGS}
    if len(given) > 1:
        raise FormatError(f"{label} needs both readings, the evidence and the erratum's number, or none of them.")
    if given == {False}:
        if alone := [key for key in _OF_READINGS if key in entry]:
            raise FormatError(f"{label} has {alone[0]}, but no two readings.")
        return None
    if not _ERRATUM.fullmatch(entry["erratum"]):
        raise FormatError(f"{label} has the erratum {entry['erratum']!r}, not a letter and a number.")
    taken = entry.get("taken", Reading.ACTUAL)
    if taken not in list(Reading):
        raise FormatError(f"{label} takes the reading {taken!r}, not {', '.join(Reading)}.")
    return Reading(taken)


def _one_line(text: str) -> str:
    return " ".join(text.split())


@cache
def load_requirements() -> tuple[Requirement, ...]:
    """Load the whole catalogue, sorted by id. Raises `FormatError` for a chapter that is not well formed."""
    folder = resources.files("drawstring_spec").joinpath("requirements")
    chapters = [file for file in folder.iterdir() if file.name.endswith(".toml")]
    loaded = [entry for file in chapters for entry in parse_requirements(file.read_text("utf-8"), file.name)]
    return tuple(sorted(loaded, key=lambda requirement: requirement.id))


def find_requirement(requirement_id: str) -> Requirement:
    """Return one requirement by its id, in any case. Raises `UnknownRequirementError`."""
    for requirement in load_requirements():
        if requirement.id == requirement_id.upper():
            return requirement
    raise UnknownRequirementError(
        f"There is no requirement {requirement_id!r}.", way_out="'drawstring spec list' lists them."
    )


def select_requirements(
    *,
    chapter: str | None = None,
    level: Level | None = None,
    differs: bool = False,
    unchecked: bool = False,
    unmet: bool = False,
) -> tuple[Requirement, ...]:
    """Return the requirements that meet every condition given.

    Args:
        chapter: prefix of the ids (``TL``), or a part of the chapter's title, in any case.
        level: exactly this one.
        differs: only those where real behaviour differs from the text.
        unchecked: only those that nothing covers.
        unmet: only those of which drawstring does not do all.

    """
    wanted = chapter.lower() if chapter else ""
    return tuple(
        requirement
        for requirement in load_requirements()
        if (not wanted or requirement.id.lower().startswith(f"{wanted}-") or wanted in requirement.chapter.lower())
        and (level is None or requirement.level is level)
        and (not differs or requirement.differs)
        and (not unchecked or not requirement.checks)
        and (not unmet or requirement.unmet is not None)
    )


def render_markdown(requirements: Iterable[Requirement] | None = None) -> str:
    """Return the catalogue as a page, chapter by chapter.

    Args:
        requirements: those to show; None for all.

    """
    chosen = load_requirements() if requirements is None else tuple(requirements)
    lines = ["# Requirements", "", *_preface(chosen)]
    for chapter in dict.fromkeys(requirement.chapter for requirement in chosen):
        lines += ["", f"## {chapter}"]
        for requirement in chosen:
            if requirement.chapter == chapter:
                lines += ["", *_markdown_entry(requirement)]
    return "\n".join(lines) + "\n"


def _preface(chosen: tuple[Requirement, ...]) -> list[str]:
    differing = sum(requirement.differs for requirement in chosen)
    unmet = sum(requirement.unmet is not None for requirement in chosen)
    unchecked = sum(not requirement.checks for requirement in chosen)
    return [
        "Each normative sentence of the table format and of its protocols, in our own words, with its source and the",
        "checks that cover it. Generated from `spec/drawstring_spec/requirements/*.toml` by `make docs`;",
        "`drawstring spec list` shows the same on a terminal, `drawstring spec coverage` counts it.",
        "",
        f"{len(chosen)} requirements. In {differing} of them real tables and readers differ from the text: see",
        f"[errata](errata.md). {unmet} are not met, or not in full; {unchecked} have no check; each says why.",
    ]


def _markdown_entry(requirement: Requirement) -> list[str]:
    lines = [f"### {requirement.id} ({requirement.level})", "", plain_markdown(requirement.text), ""]
    lines += [f"- {label}: {plain_markdown(text)}" for label, text in requirement.remarks()]
    return lines + [f"- Check: `{check}`" for check in requirement.checks]


def plain_markdown(text: str | None) -> str:
    """Keep Markdown from reading markup into plain text, such as the brackets of ``<file id>``."""
    return _MARKUP.sub(r"\\\g<0>", text or "")
