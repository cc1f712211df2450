"""The errata: every place where real tables and readers differ from the specification's text, or where it is silent.

Made of the requirements that carry two readings. Each erratum has a number of its own, a letter for the area and a
count, so that code and documents can name it; the areas are here, the errata stand in ``requirements/*.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from drawstring_spec.errors import FormatError
from drawstring_spec.requirements import Reading, Requirement, load_requirements, plain_markdown

AREAS: Mapping[str, str] = {
    "T": "Timeline",
    "L": "Data files and log files",
    "P": "Properties and directory",
    "M": "Metadata table and HFile",
    "R": "Reading",
    "G": "Merging",
    "W": "Writers and services",
}
"""Title of each area, by the letter of its errata."""

_TAKEN = {
    Reading.TEXT: "that of the text",
    Reading.ACTUAL: "that of Java",
    Reading.OWN: "its own, see the requirement",
}


def load_errata(requirements: Iterable[Requirement] | None = None) -> tuple[Requirement, ...]:
    """Return the requirements that carry two readings, in the order of the areas and of their numbers.

    Args:
        requirements: to choose from; None for the whole catalogue.

    """
    areas = list(AREAS)
    chosen = load_requirements() if requirements is None else requirements
    numbered = [(number_of(requirement), requirement) for requirement in chosen if requirement.erratum]
    return tuple(r for _, r in sorted(numbered, key=lambda pair: (areas.index(pair[0][0]), pair[0][1])))


def number_of(requirement: Requirement) -> tuple[str, int]:
    """Return the area and the number of a requirement's erratum.

    Raises:
        FormatError: the requirement has none, or its area is not one of `AREAS`.

    """
    number = requirement.erratum or ""
    if number[:1] not in AREAS or not number[1:].isdigit():
        raise FormatError(f"{requirement.id} has the erratum {number!r}, whose area is none of {', '.join(AREAS)}.")
    return number[0], int(number[1:])


def render_errata() -> str:
    """Return the errata as a page, area by area."""
    errata = load_errata()
    decided = sum(requirement.model_switch is not None for requirement in errata)
    lines = [
        "# Errata",
        "",
        "Where tables that Java Hudi 1.0.2 wrote, and its readers, differ from the text of the specification (table",
        "version 8), or where the text is silent: what the text says, what Java does, how that is known, and which",
        "reading drawstring takes. Generated from `spec/drawstring_spec/requirements/*.toml` by `make docs`.",
        "",
        f"{len(errata)} errata; the model has a switch for {decided} of them.",
    ]
    for area, title in AREAS.items():
        lines += ["", f"## {title}"]
        for requirement in errata:
            if number_of(requirement)[0] == area:
                lines += ["", *_entry(requirement)]
    return "\n".join(lines) + "\n"


def _entry(requirement: Requirement) -> list[str]:
    anchor = f"{requirement.id}-{requirement.level}".lower()
    said = (
        ("The text", requirement.text_reading),
        ("Java", requirement.actual_reading),
        ("Evidence", requirement.evidence),
        ("drawstring takes the reading", _TAKEN[requirement.taken or Reading.ACTUAL]),
        ("Switch of the model", requirement.model_switch),
        ("Guarantee", requirement.guarantee),
        ("Not met", requirement.unmet),
    )
    lines = [f"### {requirement.erratum}", ""]
    lines += [f"- {label}: {plain_markdown(text)}" for label, text in said if text is not None]
    return [*lines, f"- Requirement: [{requirement.id}](requirements.md#{anchor}), {plain_markdown(requirement.text)}"]
