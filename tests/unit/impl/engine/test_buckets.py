from __future__ import annotations

import uuid

import pytest

from drawstring.engine.buckets import refuse_bucketed
from drawstring.errors import UnsupportedTableError

BUCKETS = [f"{number:08d}{str(uuid.UUID(int=number, version=4))[8:]}-0" for number in (0, 3, 17)]


@pytest.mark.parametrize("ids", [BUCKETS, ["00000003-0000-0000-0000-000000000000-0"]])
def test_keys_are_not_added_to_a_table_of_buckets(ids):
    with pytest.raises(UnsupportedTableError, match="bucket index"):
        refuse_bucketed(ids)


@pytest.mark.parametrize(
    "ids",
    [
        [],
        [*BUCKETS, "5f3c1c9e-8d1b-4f6e-9d43-0a3f6f1d2c11-0"],
        ["12345678-8d1b-4f6e-9d43-0a3f6f1d2c11-0"],
        ["00000003-8d1b-4f6e-9d43-0a3f6f1d2c11-1"],
    ],
    ids=["empty", "one is not", "a large number", "rolled over"],
)
def test_keys_are_added_to_any_other_table(ids):
    refuse_bucketed(ids)
