"""A small set of golden tables, and readers that answer well and badly."""

from __future__ import annotations

import shutil

import pyarrow.parquet as pq
import pytest

from drawstring_conformance.vectors import VECTORS, load_cases

FEW = ("cdc_insert_overwrite", "inflight_only_cow", "mor_clustering")


@pytest.fixture(scope="session")
def few_vectors(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    for name in FEW:
        shutil.copytree(VECTORS / name, folder / name)
    return folder


@pytest.fixture
def few_cases(few_vectors):
    return load_cases(few_vectors)


class Oracle:
    """Returns the expected rows, and refuses what Java refused; `spoil` may change an answer."""

    name, version = "oracle", "1"

    def __init__(self, cases, spoil=lambda query, table: table):
        self._cases = {case.name: case for case in cases}
        self._spoil = spoil

    def answer(self, base_path, query):
        case = self._cases[base_path.rpartition("/")[2]]
        wanted = [query[name] for name in ("type", "as_of", "start", "end")]
        for known in case.queries:
            if [known.type, known.as_of, known.start, known.end] == wanted:
                return self._spoil(query, pq.read_table(known.expected))
        raise ValueError("refused")


@pytest.fixture
def oracle():
    return Oracle
