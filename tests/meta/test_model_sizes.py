"""The model can be read in sittings: the core in one, each module in another.

Counted are lines of code: those with a token on them that is no comment, and that are no part of a docstring.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

MOST_LINES_OF_THE_CORE = 800
MOST_LINES_OF_A_MODULE = 235
"""Two hundred and a little: what is longer is two concerns."""

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """Number of lines of code in a source text."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                lines -= set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return len(lines)


def sizes(folder: Path) -> dict[str, int]:
    """Lines of code of each file of a folder."""
    return {path.stem: code_lines(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.py"))}


def test_the_core_of_the_model_is_read_in_one_sitting(repository: Path) -> None:
    assert 0 < sum(sizes(repository / "model/drawstring_model/core").values()) <= MOST_LINES_OF_THE_CORE


def test_no_module_of_the_model_is_longer_than_a_sitting(repository: Path) -> None:
    lengths = sizes(repository / "model/drawstring_model/modules")
    long = {name: length for name, length in lengths.items() if length > MOST_LINES_OF_A_MODULE}

    assert not long


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = 1\n", 1),
        ("# a comment\n\nx = 1  # another\n", 1),
        ('"""A docstring\n\nof three lines."""\n\nx = 1\n"""What x is."""\n', 1),
        ('def f():\n    """Doc."""\n    return (\n        1\n    )\n', 4),
        ('TEXT = """\nno docstring\n"""\n', 3),
    ],
)
def test_what_counts_as_code(text: str, lines: int) -> None:
    assert code_lines(text) == lines
