"""How far the refinement goes: as far as the implementation does.

The implementation writes copy-on-write tables and nothing else, so every step that it names is a move of the
refinement. It reads more than it writes; how it reads log files and compactions is compared from the other side, by
states of the model that are put on storage (``tests/differential/test_reader_and_model.py``).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import drawstring as ds
from drawstring.errors import UnsupportedTableError
from drawstring_model.config import COPY_ON_WRITE, Config
from drawstring_model.core.protocol import protocol_of
from drawstring_sim import decisions, refinement
from drawstring_spec.steps import Step

REPOSITORY = Path(__file__).resolve().parents[3]


def steps_named_in(*files):
    names = {name for file in files for name in re.findall(r"\bStep\.([A-Z_]+)", file.read_text(encoding="utf-8"))}
    return {Step[name] for name in names}


TAKEN = steps_named_in(Path(refinement.__file__), Path(decisions.__file__))
EMITTED = steps_named_in(*(REPOSITORY / "impl").rglob("*.py"))


def test_every_step_that_the_implementation_takes_is_a_move_of_the_refinement():
    assert len(EMITTED) > 15
    assert EMITTED <= TAKEN


def test_every_move_of_the_refinement_is_a_step_of_the_copy_on_write_model():
    assert protocol_of(Config(modules=COPY_ON_WRITE)).rules.keys() >= TAKEN


def test_what_the_refinement_has_no_move_for_is_no_step_of_the_implementation_on_copy_on_write_tables():
    left_out = protocol_of(Config(modules=COPY_ON_WRITE)).rules.keys() - TAKEN

    assert left_out == {Step.READ_SNAPSHOT}


def test_no_other_kind_of_table_is_written(tmp_path):
    import pyarrow as pa

    with pytest.raises(UnsupportedTableError, match="MERGE_ON_READ"):
        ds.Table.create(str(tmp_path / "t"), pa.schema([("id", pa.string())]), record_key="id", type="MERGE_ON_READ")
