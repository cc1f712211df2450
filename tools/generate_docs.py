"""Generate the pages of docs/reference that are made from data, so that they cannot go stale.

``tools/generate_docs.py`` writes them; ``--check`` writes nothing, names the stale ones and fails.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from drawstring import errors, options
from drawstring_spec import errata, requirements

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))  # this file is loaded by its path, too

import model_pages  # noqa: E402  # found by the line above


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


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/reference/errata.md": errata.render_errata,
    "docs/reference/errors.md": render_errors,
    "docs/reference/options.md": options.render_markdown,
    "docs/reference/requirements.md": requirements.render_markdown,
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
