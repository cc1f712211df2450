"""The catalogue of requirements: each normative sentence of the format, with its source and its checks.

The sentences are in ``requirements/*.toml``, one file per chapter, in our own words. Where the software that decides
(Java Hudi 1.0.2) differs from the text of the specification, a requirement gives both readings and the evidence;
its text is what holds. A check is a test, ``tests/<file>.py::<function>``, or a promise that the model's explorer
verifies, ``model::<name>``. This is the one module of the specification that reads files: its own.
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

MODEL_CHECK = "model::"
"""Checks that begin so name a promise of the model."""

_ID = re.compile(r"[A-Z]{2}-[0-9]{3}")
_CHECK = re.compile(r"tests/[\w/]+\.py::\w+|model::[\w -]+")
_MARKUP = re.compile(r"[\\`*_<>\[\]]")
_OPTIONAL_KEYS = ("text_reading", "actual_reading", "evidence", "unchecked")
_KEYS = {"id", "level", "text", "source", "checks", *_OPTIONAL_KEYS}


class UnknownRequirementError(DrawstringError):
    """There is no requirement of that id."""


class Level(StrEnum):
    """How binding a requirement is, in the words of RFC 2119."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


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
    unchecked: str | None = None

    @property
    def differs(self) -> bool:
        """Whether real behaviour differs from the specification's text."""
        return self.actual_reading is not None

    def as_dict(self) -> dict[str, Any]:
        """Return the requirement as plain data, without what is not given."""
        plain = {name: value for name, value in vars(self).items() if value is not None}
        return plain | {"level": self.level.value, "checks": list(self.checks)}


def parse_requirements(text: str, name: str) -> tuple[Requirement, ...]:
    """Read one chapter.

    Args:
        text: TOML with ``chapter``, ``prefix`` and an array ``requirement``.
        name: of the file, for messages.

    Raises:
        FormatError: a key that is missing or unknown, an id that does not fit, or half of a pair of readings.

    """
    try:
        chapter = tomllib.loads(text)
        title, prefix, entries = chapter["chapter"], chapter["prefix"], chapter["requirement"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise FormatError(f"{name} is no chapter of requirements: {error}.") from error
    return tuple(_parse_entry(entry, title, prefix, name) for entry in entries)


def _parse_entry(entry: Mapping[str, Any], chapter: str, prefix: str, name: str) -> Requirement:
    label = f"{name}: {entry.get('id', 'a requirement without id')}"
    required = _KEYS.difference(_OPTIONAL_KEYS)
    if missing := sorted(required - set(entry)):
        raise FormatError(f"{label} has no {', '.join(missing)}.")
    if unknown := sorted(set(entry) - _KEYS):
        raise FormatError(f"{label} has {', '.join(unknown)}, which no requirement has.")
    if not _ID.fullmatch(entry["id"]) or not entry["id"].startswith(prefix):
        raise FormatError(f"{label} is not an id of this chapter, {prefix}-000 to {prefix}-999.")
    if entry["level"] not in list(Level):
        raise FormatError(f"{label} has the level {entry['level']!r}, not {', '.join(Level)}.")
    if len({key in entry for key in ("text_reading", "actual_reading", "evidence")}) > 1:
        raise FormatError(f"{label} needs both readings and the evidence, or none of them.")
    if bool(entry["checks"]) == ("unchecked" in entry):
        raise FormatError(f"{label} needs checks, or the reason why there are none, and not both.")
    if wrong := [check for check in entry["checks"] if not _CHECK.fullmatch(check)]:
        raise FormatError(f"{label} names {wrong[0]!r}, which is neither a test nor a promise of the model.")
    return Requirement(
        id=entry["id"],
        chapter=chapter,
        level=Level(entry["level"]),
        text=" ".join(entry["text"].split()),
        source=entry["source"],
        checks=tuple(entry["checks"]),
        **{key: " ".join(entry[key].split()) for key in _OPTIONAL_KEYS if key in entry},
    )


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
    *, chapter: str | None = None, level: Level | None = None, differs: bool = False, unchecked: bool = False
) -> tuple[Requirement, ...]:
    """Return the requirements that meet every condition given.

    Args:
        chapter: prefix of the ids (``TL``), or a part of the chapter's title, in any case.
        level: exactly this one.
        differs: only those where real behaviour differs from the text.
        unchecked: only those that nothing covers.

    """
    wanted = chapter.lower() if chapter else ""
    return tuple(
        requirement
        for requirement in load_requirements()
        if (not wanted or requirement.id.lower().startswith(f"{wanted}-") or wanted in requirement.chapter.lower())
        and (level is None or requirement.level is level)
        and (not differs or requirement.differs)
        and (not unchecked or requirement.unchecked is not None)
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
    return [
        "Each normative sentence of the chapters that drawstring implements, in our own words, with its source and",
        "the checks that cover it. Generated from `spec/drawstring_spec/requirements/*.toml` by `make docs`;",
        "`drawstring spec list` shows the same on a terminal.",
        "",
        f"{len(chosen)} requirements; in {differing} of them real tables and readers differ from the text.",
    ]


def _markdown_entry(requirement: Requirement) -> list[str]:
    lines = [f"### {requirement.id} ({requirement.level})", "", _plain(requirement.text), ""]
    lines.append(f"- Source: {_plain(requirement.source)}")
    if requirement.differs:
        lines += [
            f"- The text reads: {_plain(requirement.text_reading)}",
            f"- Really: {_plain(requirement.actual_reading)}",
            f"- Evidence: {_plain(requirement.evidence)}",
        ]
    if requirement.unchecked:
        lines.append(f"- Unchecked: {_plain(requirement.unchecked)}")
    return lines + [f"- Check: `{check}`" for check in requirement.checks]


def _plain(text: str | None) -> str:
    """Keep Markdown from reading markup into plain text, such as the brackets of ``<file id>``."""
    return _MARKUP.sub(r"\\\g<0>", text or "")
