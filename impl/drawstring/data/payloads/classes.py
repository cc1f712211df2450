"""Hudi's payload classes by name: the rule of each, and the columns that it decides by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from drawstring.data.payloads.by_field import overwrite_non_defaults, partial_update
from drawstring.data.payloads.change_streams import (
    DEBEZIUM_OPERATION,
    DMS_OPERATION,
    LSN,
    SEQUENCE,
    debezium_mysql,
    debezium_postgres,
    dms,
)
from drawstring.data.payloads.choice import Rule
from drawstring.data.payloads.whole_records import event_time, first_value


@dataclass(frozen=True, slots=True)
class PayloadClass:
    """A payload class that drawstring knows.

    Attributes:
        rule: what it makes of two rows.
        columns: that the rule cannot do without, beside the ordering field.
        marks: columns that it looks at where the table has them.

    """

    rule: Rule
    columns: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


_MODEL: Final = "org.apache.hudi.common.model."
_DMS: Final = PayloadClass(dms, (DMS_OPERATION,))

PAYLOAD_CLASSES: Final[Mapping[str, PayloadClass]] = MappingProxyType(
    {
        f"{_MODEL}EventTimeAvroPayload": PayloadClass(event_time),
        f"{_MODEL}FirstValueAvroPayload": PayloadClass(first_value),
        f"{_MODEL}OverwriteNonDefaultsWithLatestAvroPayload": PayloadClass(overwrite_non_defaults),
        f"{_MODEL}PartialUpdateAvroPayload": PayloadClass(partial_update),
        f"{_MODEL}AWSDmsAvroPayload": _DMS,
        "org.apache.hudi.payload.AWSDmsAvroPayload": _DMS,
        f"{_MODEL}debezium.MySqlDebeziumAvroPayload": PayloadClass(debezium_mysql, (SEQUENCE,), (DEBEZIUM_OPERATION,)),
        f"{_MODEL}debezium.PostgresDebeziumAvroPayload": PayloadClass(debezium_postgres, (LSN,), (DEBEZIUM_OPERATION,)),
    }
)
"""By the name that ``hoodie.compaction.payload.class`` has. Those that other merge modes go with are not here: Java
refuses to make a table of mode CUSTOM with them."""
