"""Many Avro records at once: those columns that are wanted, whatever stands between them."""

from __future__ import annotations

import io
import struct

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import CorruptFileError
from drawstring.log_files.avro_records import decode_prefixed_records

KINDS = {
    "flag": (["null", "boolean"], st.none() | st.booleans()),
    "number": ("int", st.integers(-(2**31), 2**31 - 1)),
    "sequence": (["null", "long"], st.none() | st.integers(-(2**63), 2**63 - 1)),
    "share": ("float", st.floats(width=32, allow_nan=False)),
    "amount": (["null", "double"], st.none() | st.floats(allow_nan=False)),
    "name": (["null", "string"], st.none() | st.text(max_size=9)),
    "raw": ("bytes", st.binary(max_size=9)),
    "price": (
        {"type": "fixed", "name": "price", "size": 4, "logicalType": "decimal", "precision": 8, "scale": 2},
        st.integers(-99_999_999, 99_999_999).map(lambda value: value.to_bytes(4, "big", signed=True)),
    ),
    "color": ({"type": "enum", "name": "color", "symbols": ["RED", "BLUE"]}, st.sampled_from(["RED", "BLUE"])),
    "size": ({"type": "enum", "name": "size", "symbols": ["S", "M", "L"]}, st.sampled_from(["S", "M", "L"])),
    "tags": (["null", {"type": "array", "items": ["null", "string"]}], st.none() | st.lists(st.text(max_size=3))),
    "counts": ({"type": "map", "values": "long"}, st.dictionaries(st.text(max_size=3), st.integers(0, 99))),
    "place": (
        ["null", {"type": "record", "name": "place", "fields": [{"name": "city", "type": ["null", "string"]}]}],
        st.none() | st.fixed_dictionaries({"city": st.none() | st.text(max_size=3)}),
    ),
}
ROWS = st.lists(st.fixed_dictionaries({name: values for name, (_, values) in KINDS.items()}), max_size=6)


def block(names, rows):
    fields = [{"name": name, "type": KINDS[name][0]} for name in names]
    schema = {"type": "record", "name": "row", "namespace": "hoodie", "fields": fields}
    content = io.BytesIO()
    for row in rows:
        record = io.BytesIO()
        fastavro.schemaless_writer(record, fastavro.parse_schema(schema), {name: row[name] for name in names})
        content.write(struct.pack(">i", record.tell()) + record.getvalue())
    return schema, memoryview(content.getvalue())


@given(st.permutations(list(KINDS)), ROWS, st.data())
def test_columns_that_are_not_wanted_change_nothing_of_the_others(names, rows, data):
    schema, content = block(names, rows)
    wanted = data.draw(st.sets(st.sampled_from(names)))

    everything = decode_prefixed_records(schema, len(rows), content, path="a")
    some = decode_prefixed_records(schema, len(rows), content, path="a", columns=wanted)

    assert some.equals(everything.select([name for name in names if name in wanted]))
    assert some.num_rows == len(rows)
    for name in sorted(wanted & {"number", "color", "size", "name"}):
        assert some.column(name).to_pylist() == [row[name] for row in rows]


def test_names_that_the_records_do_not_have_are_not_missed():
    schema, content = block(["number"], [{"number": 7}])
    assert decode_prefixed_records(schema, 1, content, path="a", columns={"number", "other"}).to_pylist() == [
        {"number": 7}
    ]


def test_a_length_that_is_not_the_record_s_is_damage_though_its_column_is_not_wanted():
    schema, content = block(["number", "name"], [{"number": 7, "name": "seven"}])
    broken = struct.pack(">i", 3) + bytes(content[4:])
    with pytest.raises(CorruptFileError, match="lengths that stand in front"):
        decode_prefixed_records(schema, 1, memoryview(broken), path="a", columns={"number"})
