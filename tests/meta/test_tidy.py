"""The house rules hold, and the checker that says so sees each way of breaking them."""

from __future__ import annotations

from pathlib import Path

import pytest

from meta.tidy import MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION, findings, source_files

_MODULE = '"""What it models."""\n'


def test_every_source_file_keeps_the_house_rules(repository: Path) -> None:
    found = [
        finding
        for path in source_files(repository)
        for finding in findings(path.relative_to(repository).as_posix(), path.read_text(encoding="utf-8"))
    ]

    assert not found, "\n" + "\n".join(map(str, found))


def test_the_files_that_are_judged_include_each_package(repository: Path) -> None:
    judged = {path.relative_to(repository).parts[0] for path in source_files(repository)}

    assert {"spec", "model", "impl", "sim", "tests", "tools", "docs", "README.md"} <= judged


@pytest.mark.parametrize(
    ("planted", "problem"),
    [
        ("x = 1  # TODO: later\n", "unfinished work"),
        ("def _f() -> None:\n    raise NotImplementedError\n", "unfinished work"),
        ('PATH = "/home/somebody/table"\n', "a path of one machine"),
        ('PATH = "../shared/design.md"\n', "a folder outside the project"),
        ('URL = "https://{}.org/simple"\n'.format("pypi"), "a package registry's host"),
        ("x = 1  # pragma: no cover\n", "code hidden from coverage"),
        ("x = 1  # noqa: S101\n", "a silenced check without a reason"),
        ("x = 1  # type: ignore[attr-defined]\n", "a silenced check without a reason"),
        ("# see issue #12\n", "how the text came to be"),
        ("def f() -> None:\n    pass\n", "f has no docstring"),
        ("class C:\n    pass\n", "C has no docstring"),
        ('class C:\n    """Doc."""\n\n    def f(self) -> None:\n        pass\n', "f has no docstring"),
        ("def _f(commit_timestamp: str) -> None:\n    pass\n", "commit_timestamp: say which time"),
        ("class _C:\n    timestamp: str\n", "timestamp: say which time"),
        ("def _f() -> None:\n" + "    pass\n" * MOST_LINES_OF_A_FUNCTION, "_f has 71 lines"),
        ("x = 1\n" * MOST_LINES_OF_A_FILE, "the file has 451 lines"),
    ],
)
def test_a_planted_violation_is_found(planted: str, problem: str) -> None:
    found = findings("impl/drawstring/planted.py", _MODULE + planted)

    assert [finding for finding in found if finding.problem.startswith(problem)]


@pytest.mark.parametrize(
    "innocent",
    [
        "x = 1  # noqa: S101 - the reason stands here\n",
        "x = 1  # type: ignore[attr-defined]  # the library has no types\n",
        "import pyarrow as pa\n\nx = pa.timestamp('us')\n",
        "def _f() -> None:\n" + "    pass\n" * (MOST_LINES_OF_A_FUNCTION - 1),
        "x = 1\n" * (MOST_LINES_OF_A_FILE - 1),
        "def _f() -> None:\n    pass\n",
        'UNDER_THE_HOME = "homework/table"\n',
    ],
)
def test_what_is_allowed_is_not_found(innocent: str) -> None:
    assert findings("impl/drawstring/planted.py", _MODULE + innocent) == []


def test_a_module_without_a_docstring_is_found() -> None:
    found = findings("spec/drawstring_spec/planted.py", "x = 1\n")

    assert [finding.problem for finding in found] == ["the module has no docstring"]


def test_a_timestamp_is_a_fine_name_where_it_is_a_type_of_data() -> None:
    assert findings("impl/drawstring/data/schema.py", _MODULE + "def _timestamp_type() -> None:\n    pass\n") == []
