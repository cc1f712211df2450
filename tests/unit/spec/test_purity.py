"""The nouns are pure: nothing from outside is imported, and nothing reads or writes files, clocks or randomness."""

from __future__ import annotations

import ast
import sys

import pytest

COMMAND_LINE = {"cli.py", "commands.py"}
OWN_FILES = {"requirements.py"}
"""Reads the catalogue that lies beside it."""
WORLD_MODULES = {
    "asyncio",
    "importlib",
    "io",
    "os",
    "pathlib",
    "random",
    "secrets",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "urllib",
    "uuid",
}


def imported(source: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def sources(repository):
    return {path.name: path.read_text(encoding="utf-8") for path in (repository / "spec/drawstring_spec").glob("*.py")}


def test_only_the_command_line_of_the_specification_imports_from_outside(repository):
    for name, source in sources(repository).items():
        if name not in COMMAND_LINE:
            assert imported(source) <= sys.stdlib_module_names | {"drawstring_spec"}, name


def test_no_noun_reaches_for_the_world(repository):
    for name, source in sources(repository).items():
        if name not in COMMAND_LINE | OWN_FILES:
            assert not imported(source) & WORLD_MODULES, name
            assert ".now(" not in source, name
            assert "open(" not in source, name


@pytest.mark.parametrize("planted", ["import os", "from pathlib import Path", "import random as r"])
def test_a_planted_import_is_seen(planted):
    assert imported(planted) & WORLD_MODULES
