"""The arrows between packages and layers hold, and the contracts that say so see a broken one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_PACKAGE_FOLDERS = ("spec", "model", "impl", "sim")


def _lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    paths = [str(root / folder) for folder in (*_PACKAGE_FOLDERS, "tests")]
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copied_tree(repository: Path, tmp_path: Path) -> Path:
    """The packages alone, where a violation can be planted."""
    shutil.copy(repository / "pyproject.toml", tmp_path)
    for folder in _PACKAGE_FOLDERS:
        shutil.copytree(repository / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    suite = Path("tests/drawstring_conformance")
    shutil.copytree(repository / suite, tmp_path / suite, ignore=shutil.ignore_patterns("__pycache__", "vectors"))
    return tmp_path


def test_every_import_contract_is_kept(repository: Path) -> None:
    result = _lint_imports(repository)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("module", "planted", "contract"),
    [
        ("spec/drawstring_spec/steps.py", "import drawstring.errors", "The specification stands alone"),
        ("model/drawstring_model/__init__.py", "import pyarrow", "The model sees only the specification"),
        ("impl/drawstring/events.py", "import drawstring_model", "The implementation never sees the model"),
        ("impl/drawstring/events.py", "import pyspark", "Only the Spark engine and Spark's discovery hook"),
        ("impl/drawstring/ports.py", "import drawstring.protocol.write", "The implementation's layers"),
    ],
)
def test_a_planted_import_breaks_its_contract(copied_tree: Path, module: str, planted: str, contract: str) -> None:
    with (copied_tree / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{planted}\n")

    result = _lint_imports(copied_tree)

    assert result.returncode == 1
    broken = [line for line in result.stdout.splitlines() if " BROKEN" in line]
    assert [line for line in broken if line.startswith(contract)], result.stdout


def test_a_new_module_without_a_layer_breaks_the_contract(copied_tree: Path) -> None:
    (copied_tree / "impl/drawstring/unplaced.py").touch()

    result = _lint_imports(copied_tree)

    assert result.returncode == 1
    assert "unplaced" in result.stdout + result.stderr


def test_importing_drawstring_loads_no_optional_library() -> None:
    code = (
        "import sys, drawstring; print([m for m in ('pyspark', 'pandas', 'polars', 'deltalake') if m in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"
