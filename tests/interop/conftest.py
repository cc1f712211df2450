"""What the interoperability tests share: Java Hudi (one process for all), and copies of golden tables."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.java.client import JavaHudi
from interop.java.environment import find_environment

VECTORS = Path(__file__).resolve().parents[1] / "drawstring_conformance" / "vectors"


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaHudi]:
    """Java Hudi 1.0.2; skips where its environment is not set up."""
    environment = find_environment()
    if environment is None:
        pytest.skip("Java Hudi is not set up: run `make interop`")
    with JavaHudi(environment, log=tmp_path_factory.mktemp("java") / "java.log") as client:
        yield client


@pytest.fixture
def golden(tmp_path: Path) -> Callable[[str], Path]:
    """Unpack a golden table by its case's name, to where a test may write into it."""

    def unpack(name: str) -> Path:
        folder = tmp_path / name
        with zipfile.ZipFile(VECTORS / name / "table.zip") as archive:
            archive.extractall(folder)
        return folder

    return unpack


def golden_case(name: str) -> dict[str, Any]:
    """The case's description: options, queries, timeline."""
    case: dict[str, Any] = json.loads((VECTORS / name / "case.json").read_text(encoding="utf-8"))
    return case
