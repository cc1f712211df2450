"""The pages that are made from the model: the chapter on the protocol, its promises, and the scenarios."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from drawstring_model import diagrams, guarantees
from drawstring_model.core.promises import Promise

REPOSITORY = Path(__file__).resolve().parent.parent


def _of_the_tests(file: str) -> ModuleType:
    """A module of the tests, which are in no package: what they know is written down once, there."""
    name = f"_documented_{Path(file).stem}"
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / file)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def known_breaks() -> tuple[guarantees.Break, ...]:
    """What breaks each promise of the model, by the tests' list of planted bugs."""
    cases = _of_the_tests("tests/unit/model/test_planted_bugs.py").CASES
    return guarantees.breaks(tuple(case.values for case in cases))


def render_scenarios() -> str:
    """The page of scenarios, from the names of the tests."""
    page: str = _of_the_tests("tests/meta/scenarios.py").render_scenarios(REPOSITORY)
    return page


def render_guarantee(promise: Promise) -> str:
    """The page of one promise."""
    return guarantees.rendered_guarantee(promise, known_breaks())


_BLOCK = re.compile(r"<!-- generated: (?P<what>[a-z ]+) -->\n.*?<!-- end -->\n", re.DOTALL)


def render_chapter(page: str) -> str:
    """A page written by hand, whose blocks between ``generated:`` and ``end`` are made anew."""

    def renewed(match: re.Match[str]) -> str:
        kind, _, name = match["what"].partition(" ")
        made = guarantees.rendered_list(known_breaks()) if kind == "guarantees" else None
        text = made or f"```mermaid\n{diagrams.rendered(name)}```\n"
        return f"<!-- generated: {match['what']} -->\n\n{text}\n<!-- end -->\n"

    return _BLOCK.sub(renewed, (REPOSITORY / page).read_text(encoding="utf-8"))


_CHAPTER = "docs/explanation/protocol"
_FILLED = tuple(f"{_CHAPTER}/{page}.md" for page in ("README", "writers", "services"))

PAGES: Mapping[str, Callable[[], str]] = {
    "docs/reference/scenarios.md": render_scenarios,
    **{page: partial(render_chapter, page) for page in _FILLED},
    **{
        f"{_CHAPTER}/guarantees/{guarantees.slug(promise)}.md": partial(render_guarantee, promise)
        for promise in guarantees.promises_told(known_breaks())
    },
}
"""Each page with what makes it."""
