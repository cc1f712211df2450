"""What the documents say, taken apart so that tests can hold them to it: links, headings and Python blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"(?:^<!-- needs: (?P<needs>\w+) -->\n)?^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A Python block of a document.

    Attributes:
        line: on which its code begins, from 1.
        needs: what it needs beside drawstring (``spark``); None for nothing.
        code: the block's text.

    """

    line: int
    needs: str | None
    code: str


def python_blocks(text: str) -> list[Block]:
    """The Python blocks of a document, in order."""
    return [
        Block(text.count("\n", 0, match.start("code")) + 1, match["needs"], match["code"])
        for match in _BLOCK.finditer(text)
    ]


def run_blocks(path: Path, *, spark: bool) -> int:
    """Run a document's blocks one after the other in one namespace, as a reader would; how many were run.

    Args:
        path: of the document.
        spark: run those too that need Spark.

    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    count = 0
    for block in python_blocks(path.read_text(encoding="utf-8")):
        if block.needs is None or (spark and block.needs == "spark"):
            # Blank lines in front make tracebacks name the document's own lines.
            exec(compile("\n" * (block.line - 1) + block.code, path, "exec"), namespace)
            count += 1
    return count


def broken_links(path: Path) -> Iterator[str]:
    """Targets of relative links that lead nowhere."""
    for match in _LINK.finditer(_FENCED.sub("", path.read_text(encoding="utf-8"))):
        target = match["target"].partition("#")[0]
        is_elsewhere = re.match(r"[a-z]+:", match["target"]) or not target
        if not is_elsewhere and not (path.parent / target).exists():
            yield match["target"]
