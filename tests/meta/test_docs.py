"""The documents are true: their code runs, their links lead somewhere, their generated pages are fresh."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from meta.documents import broken_links, python_blocks, run_blocks

_RUN = [
    "README.md",
    "docs/tutorial/first-table.md",
    "docs/how-to/two-writers.md",
    "docs/how-to/follow-changes.md",
    "docs/how-to/read-a-large-table.md",
    "docs/how-to/merge-by-your-own-rules.md",
    "docs/how-to/recover-from-a-crash.md",
    "docs/how-to/try-your-own-design.md",
    "docs/explanation/protocol/reading-the-model.md",
]


def _tool(repository: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, repository / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("document", _RUN)
def test_the_code_of_a_document_runs(
    document: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run_blocks(repository / document, spark=False) > 0


@pytest.mark.spark
@pytest.mark.parametrize("document", ["README.md", "docs/tutorial/first-table.md"])
def test_the_code_of_a_document_runs_on_spark(
    document: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run_blocks(repository / document, spark=True) > run_blocks_without_spark(repository / document)


def run_blocks_without_spark(path: Path) -> int:
    return sum(block.needs is None for block in python_blocks(path.read_text(encoding="utf-8")))


def test_code_that_is_wrong_fails(tmp_path: Path) -> None:
    document = tmp_path / "planted.md"
    document.write_text("# Planted\n\n```python\nassert 1 == 2\n```\n")

    with pytest.raises(AssertionError) as caught:
        run_blocks(document, spark=False)

    assert caught.traceback[-1].lineno == 3  # From 0: the fourth line of the document.


def test_every_relative_link_leads_to_a_file(repository: Path) -> None:
    documents = [*repository.glob("*.md"), *repository.glob("docs/**/*.md")]

    broken = {str(path.relative_to(repository)): list(broken_links(path)) for path in documents}

    assert {path: links for path, links in broken.items() if links} == {}


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    document = tmp_path / "planted.md"
    document.write_text("[here](planted.md#x), [web](https://example.org), [gone](gone.md)\n\n```\n[a](b)\n```\n")

    assert list(broken_links(document)) == ["gone.md"]


def test_the_generated_pages_are_fresh(repository: Path) -> None:
    assert _tool(repository, "generate_docs").stale_pages(repository) == []


def test_a_page_that_was_edited_by_hand_is_stale(repository: Path, tmp_path: Path) -> None:
    tool = _tool(repository, "generate_docs")
    tool.main(["--root", str(tmp_path)])
    (tmp_path / "docs/reference/options.md").write_text("# Options\n")

    assert tool.stale_pages(tmp_path) == ["docs/reference/options.md"]
    assert tool.main(["--check", "--root", str(tmp_path)]) == 1


def test_every_decision_stands_in_the_list(repository: Path) -> None:
    folder = repository / "docs/decisions"

    listed = set(re.findall(r"\((\S+\.md)\)", (folder / "README.md").read_text(encoding="utf-8")))

    assert listed == {path.name for path in folder.glob("*.md")} - {"README.md"}


def test_help_names_every_target_of_the_makefile(repository: Path) -> None:
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    declared = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    described = re.findall(r"^([a-z-]+):[^\n]* ## ", makefile, re.MULTILINE)

    assert declared is not None
    assert set(declared[1].split()) == set(described)
