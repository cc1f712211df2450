"""Generate the pages of docs/reference that are made from data, so that they cannot go stale.

``tools/generate_docs.py`` writes them; ``--check`` writes nothing, names the stale ones and fails.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from drawstring import errors, options
from drawstring_spec import errata, requirements

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))  # this file is loaded by its path, too

import model_pages  # noqa: E402  # found by the line above
import tla_page  # noqa: E402  # as above


def render_errors() -> str:
    """The page of all errors, each below the class that it is a kind of."""
    lines = [
        "# Errors",
        "",
        "Everything that drawstring raises on purpose is a `DrawstringError`. Its message names the thing, `rule` the",
        "requirement that is broken (see [requirements](requirements.md)), and `way_out` what can be done. Catch the",
        "broadest class that you can handle: every `ConcurrencyError` may be tried again, no `InputError` changes the",
        "table. Generated from `drawstring.errors`.",
        "",
    ]
    classes = [getattr(errors, name) for name in errors.__all__]

    def add(parent: type, depth: int) -> None:
        for child in sorted((c for c in classes if c.__bases__ == (parent,)), key=lambda c: c.__name__):
            summary = (inspect.getdoc(child) or "").splitlines()[0]
            lines.append(f"{'  ' * depth}- `{child.__name__}`: {summary}")
            add(child, depth + 1)

    add(Exception, 0)
    return "\n".join(lines) + "\n"


PLANTED_BUGS = REPOSITORY / "tests" / "quality" / "planted_bugs.json"
MODEL_TOOLS = {"explorer": "explorer", "tlc": "TLC", "hypothesis": "random walks", "histories": "refinement"}
IMPLEMENTATION_TOOLS = {
    "play": "directed history",
    "tlc": "TLC on its trace",
    "histories": "seeded histories",
    "hypothesis": "two writers by Hypothesis",
    "unit": "unit tests",
}
_BUGS_HEAD = """\
# Planted bugs

Each rule below was broken on purpose, alone, and each tool was set to find it. Generated from
`tests/quality/planted_bugs.json`, which `PYTHONPATH=tests .venv/bin/python -m quality.measure` writes: every cell is
what a tool said, within budgets that are small on purpose. **yes** is followed by how it was found; *no* by how much
was looked at in vain; *-* by why the tool was not asked. No bug escapes all tools; a test measures a sample again.
"""
_BUGS_OF_THE_MODEL = """
## In the model

A member of `PlantedBug` breaks a rule of `drawstring_model`. The *explorer* gives the length of the shortest history
that breaks a promise, within the bounds of the bug's test; *TLC* the same, the rule broken in the twin in `tla/`.
*Random walks* are Hypothesis's, within the same bounds. *Refinement* asks whether the implementation, which does not
have the bug, is found to differ from a model that has it: the first of the seeded histories that does.
"""
_BUGS_OF_THE_IMPLEMENTATION = """
## In the implementation

A mutant of `tests/quality/mutants.py` breaks a rule of production code under the simulator. The *directed history* is
made for it, judged by the model, by the raw bytes and by readers: those that object are named. *TLC on its trace*
takes the same history, event by event, as `tla/Trace.tla` says. *Seeded histories* and *two writers by Hypothesis*
know nothing of the bug. *Unit tests* are those of the protocol, the locks and the timeline, the first that fails.
"""


def render_planted_bugs() -> str:
    """The page of planted bugs: which tool catches which, as it was measured."""
    measured = json.loads(PLANTED_BUGS.read_text(encoding="utf-8"))
    model, implementation = measured["model"], measured["implementation"]
    counted = f"\n{len(model) + len(implementation)} bugs: {len(model)} of the model, {len(implementation)} of the "
    lines = [_BUGS_HEAD + counted + "implementation.\n" + _BUGS_OF_THE_MODEL]
    lines += _table("what is broken", MODEL_TOOLS, {f"`{name}`: {row['about']}": row for name, row in model.items()})
    lines += [_BUGS_OF_THE_IMPLEMENTATION]
    lines += _table("what is broken", IMPLEMENTATION_TOOLS, implementation)
    return "\n".join(lines) + "\n"


def _table(first: str, tools: Mapping[str, str], rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = ["| " + " | ".join([first, *tools.values()]) + " |", "|---" * (len(tools) + 1) + "|"]
    for name, row in rows.items():
        lines.append("| " + " | ".join([name, *(_cell(row.get(tool)) for tool in tools)]) + " |")
    caught = [sum(bool(row.get(tool, {}).get("caught")) for row in rows.values()) for tool in tools]
    asked = [sum("caught" in row.get(tool, {}) for row in rows.values()) for tool in tools]
    totals = [f"{one} of {of}" for one, of in zip(caught, asked, strict=True)]
    return [*lines, "| " + " | ".join(["**caught, of those asked**", *totals]) + " |"]


def _cell(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "not measured"
    if "not_asked" in found:
        return f"- ({found['not_asked']})"
    return f"**yes** ({found['how']})" if found["caught"] else f"*no* ({found['how']})"


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/reference/errata.md": errata.render_errata,
    "docs/reference/errors.md": render_errors,
    "docs/reference/options.md": options.render_markdown,
    "docs/reference/planted-bugs.md": render_planted_bugs,
    "docs/reference/requirements.md": requirements.render_markdown,
    "docs/reference/tla-models.md": tla_page.render_models,
    **model_pages.PAGES,
}


def stale_pages(root: Path) -> list[str]:
    """Paths of pages that are missing or not what they would be now."""
    return [path for path, render in PAGES.items() if _text(root / path) != render()]


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def main(arguments: list[str]) -> int:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page is stale")
    parser.add_argument("--root", type=Path, default=REPOSITORY, help="of the source tree")
    chosen = parser.parse_args(arguments)
    stale = stale_pages(chosen.root)
    for path in stale:
        if chosen.check:
            print(f"{path} is stale: run `make docs`")
            continue
        target = chosen.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(PAGES[path](), encoding="utf-8")
        print(f"{path} written")
    return 1 if stale and chosen.check else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
