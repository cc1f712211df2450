"""Random histories of writes: after each, the table holds what a dictionary holds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from drawstring.errors import DuplicateKeyError
from unit.impl.engine.worlds import World, content, many, rows

OPTIONS = {
    "hoodie.copyonwrite.record.size.estimate": 1000,
    "hoodie.parquet.max.file.size": 6000,
    "hoodie.parquet.small.file.limit": 5000,
    "hoodie.index.bloom.num_entries": 4,
    "hoodie.bloom.index.filter.dynamic.max.entries": 8,
}

ROW = st.tuples(
    st.integers(0, 9),
    st.sampled_from(["a", "b"]),
    st.integers(0, 3),
    st.integers(0, 99).map(str),
    st.sampled_from([False, False, False, True]),
)
STEP = st.tuples(st.sampled_from(["upsert", "upsert", "insert", "bulk_insert", "delete"]), st.lists(ROW, max_size=6))


def reduce(batch: list[tuple]) -> dict[tuple, tuple]:
    stays: dict[tuple, tuple] = {}
    for row in batch:
        old = stays.get(row[:2])
        if old is None or row[2] >= old[2]:
            stays[row[:2]] = row
    return stays


def expect(state: dict[tuple, tuple], operation: str, batch: list[tuple]) -> dict[tuple, tuple] | None:
    """Key and partition to ordering and value afterwards; None where the write is refused."""
    if operation == "delete":
        gone = {row[0] for row in batch}
        return {key: value for key, value in state.items() if key[0] not in gone}
    after = dict(state)
    for key, row in reduce(batch).items():
        if operation == "upsert":
            if key in state and row[2] < state[key][0]:
                continue
            after.pop(key, None) if row[4] else after.update({key: row[2:4]})
        elif not row[4]:
            if key in state:
                return None
            after[key] = row[2:4]
    return after


@settings(max_examples=40)
@given(st.lists(STEP, min_size=1, max_size=6))
def test_a_table_holds_what_a_dictionary_holds(steps):
    table = World().create(options=OPTIONS)
    state: dict[tuple, tuple] = {}
    for operation, batch in steps:
        expected = expect(state, operation, batch)
        try:
            if operation == "delete":
                table.delete([row[0] for row in batch])
            else:
                getattr(table, operation)(rows(*batch))
        except DuplicateKeyError:
            assert expected is None
        else:
            assert expected is not None
            state = expected
        assert content(table) == {key: value[1] for key, value in state.items()}


def test_a_history_that_grows_over_many_files_keeps_every_key_once():
    table = World().create(options={**OPTIONS, "hoodie.parquet.small.file.limit": 0})
    for start in range(0, 40, 8):
        table.upsert(many(range(start, start + 12), v=str(start)))
    assert {key for key, _ in content(table)} == set(range(44))
    assert len(table.file_slices()) > 5
