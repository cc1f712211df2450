"""The house rules that no linter has, as pure functions: text in, findings out.

Whose duty: `findings` judges one file; `source_files` says which files are judged. What ruff, mypy and
import-linter check already is not checked again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_LINES_OF_A_FUNCTION: Final = 70
MOST_LINES_OF_A_FILE: Final = 450

PACKAGES: Final = ("spec", "model", "impl", "sim", "tests/drawstring_conformance")
_FOLDERS: Final = ("spec", "model", "impl", "sim", "tests", "tools", "docs", "tla", ".ci")
_TOP_FILES: Final = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "pyproject.toml")
_SUFFIXES: Final = frozenset({".py", ".md", ".toml", ".tla", ".cfg", ".sh", ".txt", ""})
_NOT_OURS: Final = ("tests/drawstring_conformance/vectors/",)
# Where the words below are named in order to forbid them.
_RULE_BOOKS: Final = frozenset({"tests/meta/tidy.py", "tests/meta/test_tidy.py"})
# Here `timestamp` is a type of data or a word of Hudi's properties, not a point on the timeline.
_DATA_TYPES: Final = (
    "impl/drawstring/data/",
    "impl/drawstring/read/partition_values.py",
    "impl/drawstring/spark/",
    "spec/drawstring_spec/key_generators.py",
)

_FORBIDDEN_ANYWHERE: Final = {
    "a path of one machine": re.compile(r"(?<![\w.])/(?:work|root|home/\w+|Users/\w+)/"),
    "a folder outside the project": re.compile(r"\.\./shared\b"),
    "a package registry's host": re.compile(
        r"--(?:extra-)?index-url|\b(?:pypi\.org|files\.pythonhosted\.org|artifactory|nexus\.|repo1\.maven\.org)"
    ),
    "unfinished work": re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b"),
    "how the text came to be": re.compile(
        r"\b(?:Claude|ChatGPT|Copilot|LLM|AI assistant)\b|\bissue #?\d", re.IGNORECASE
    ),
}
_FORBIDDEN_IN_CODE: Final = {
    "unfinished work": re.compile(r"\bNotImplementedError\b"),
    "code hidden from coverage": re.compile(r"pragma:\s*no\s*cover"),
    # A reason of two words at least stands beside it.
    "a silenced check without a reason": re.compile(
        r"#\s*(?>noqa(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?|type:\s*ignore(?:\[[^\]]*\])?)(?!\W+\w+\W+\w+)"
    ),
}


@dataclass(frozen=True, order=True)
class Finding:
    """One broken rule.

    Attributes:
        path: relative to the source tree's root.
        line: from 1.
        problem: what is wrong, in words.

    """

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}"


def source_files(root: Path) -> list[Path]:
    """Every text file that the rules are for, sorted."""
    found = [root / name for name in _TOP_FILES if (root / name).is_file()]
    for folder in _FOLDERS:
        found += [p for p in (root / folder).rglob("*") if p.is_file() and p.suffix in _SUFFIXES]
    kept = [
        path
        for path in found
        if "__pycache__" not in path.parts and not path.relative_to(root).as_posix().startswith(_NOT_OURS)
    ]
    return sorted(kept)


def findings(path: str, text: str) -> list[Finding]:
    """Judge one file.

    Args:
        path: relative to the source tree's root, with ``/``.
        text: the file's content.

    """
    found = list(_forbidden(path, text, _FORBIDDEN_ANYWHERE))
    if path.endswith(".py"):
        found += _forbidden(path, text, _FORBIDDEN_IN_CODE)
        found += _sizes(path, text)
        if path.startswith(PACKAGES):
            tree = ast.parse(text)
            found += _docstrings(path, tree)
            found += _names(path, tree)
    return sorted(found)


def _forbidden(path: str, text: str, rules: dict[str, re.Pattern[str]]) -> Iterator[Finding]:
    if path in _RULE_BOOKS:
        return
    for number, line in enumerate(text.splitlines(), start=1):
        for what, pattern in rules.items():
            match = pattern.search(line)
            if match:
                yield Finding(path, number, f"{what}: {match[0]!r}")


def _sizes(path: str, text: str) -> Iterator[Finding]:
    lines = text.count("\n")
    if lines > MOST_LINES_OF_A_FILE:
        yield Finding(path, lines, f"the file has {lines} lines, more than {MOST_LINES_OF_A_FILE}")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MOST_LINES_OF_A_FUNCTION:
                yield Finding(
                    path, node.lineno, f"{node.name} has {length} lines, more than {MOST_LINES_OF_A_FUNCTION}"
                )


def _docstrings(path: str, tree: ast.Module) -> Iterator[Finding]:
    if ast.get_docstring(tree) is None:
        yield Finding(path, 1, "the module has no docstring")
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    for node in [*tree.body, *(child for owner in classes for child in owner.body)]:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if not node.name.startswith("_") and not _is_overload(node) and not ast.get_docstring(node):
            yield Finding(path, node.lineno, f"{node.name} has no docstring")


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return any(isinstance(decorator, ast.Name) and decorator.id == "overload" for decorator in node.decorator_list)


def _names(path: str, tree: ast.Module) -> Iterator[Finding]:
    """Find what is called a timestamp: an instant has a requested time and a completion time, and says which."""
    if path.startswith(_DATA_TYPES):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            line, name = node.lineno, node.name
        elif isinstance(node, ast.arg):
            line, name = node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            line, name = node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            line, name = node.lineno, node.attr
        else:
            continue
        if "timestamp" in name.lower():
            yield Finding(path, line, f"{name}: say which time (requested_time, completion_time)")
