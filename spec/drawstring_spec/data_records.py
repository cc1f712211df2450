"""Avro records inside of data files: delete blocks of logs, rows of the metadata table.

Source: Java's generated classes in ``org.apache.hudi.avro.model``, checked against the schemas inside of files that
Java wrote. Order of fields and of union branches is order on storage.
"""

from __future__ import annotations

from drawstring_spec.avro_types import DECIMAL_30_15, STRING, TIME_MICROS, array_of, field, map_of, optional
from drawstring_spec.timeline_records import Records

_ORDERING_WRAPPERS = (
    "BooleanWrapper",
    "IntWrapper",
    "LongWrapper",
    "FloatWrapper",
    "DoubleWrapper",
    "BytesWrapper",
    "StringWrapper",
    "DateWrapper",
    "DecimalWrapper",
    "TimeMicrosWrapper",
    "TimestampMicrosWrapper",
)
ORDERING_VALUE = ["null", *_ORDERING_WRAPPERS]
"""The ordering value of a delete: its list of branches stops before LocalDateWrapper."""
COLUMN_VALUE = [*ORDERING_VALUE, "LocalDateWrapper"]
"""The least or greatest value of a column."""

LOG_DELETE_BLOCK: Records = {
    "HoodieDeleteRecordList": [
        field("deleteRecordList", array_of("HoodieDeleteRecord")),
    ],
    "HoodieDeleteRecord": [
        field("recordKey", optional(STRING), None),
        field("partitionPath", optional(STRING), None),
        field("orderingVal", ORDERING_VALUE, None),
    ],
    "BooleanWrapper": [
        field("value", "boolean"),
    ],
    "IntWrapper": [
        field("value", "int"),
    ],
    "LongWrapper": [
        field("value", "long"),
    ],
    "FloatWrapper": [
        field("value", "float"),
    ],
    "DoubleWrapper": [
        field("value", "double"),
    ],
    "BytesWrapper": [
        field("value", "bytes"),
    ],
    "StringWrapper": [
        field("value", STRING),
    ],
    "DateWrapper": [
        field("value", "int"),
    ],
    "DecimalWrapper": [
        field("value", DECIMAL_30_15),
    ],
    "TimeMicrosWrapper": [
        field("value", TIME_MICROS),
    ],
    "TimestampMicrosWrapper": [
        field("value", "long"),
    ],
}

METADATA_TABLE: Records = {
    "HoodieMetadataRecord": [
        field("key", STRING),
        field("type", "int"),
        field("filesystemMetadata", optional(map_of("HoodieMetadataFileInfo"))),
        field("BloomFilterMetadata", optional("HoodieMetadataBloomFilter"), None),
        field("ColumnStatsMetadata", optional("HoodieMetadataColumnStats"), None),
        field("recordIndexMetadata", optional("HoodieRecordIndexInfo"), None),
        field("SecondaryIndexMetadata", optional("HoodieSecondaryIndexInfo"), None),
    ],
    "HoodieMetadataFileInfo": [
        field("size", "long"),
        field("isDeleted", "boolean"),
    ],
    "HoodieMetadataBloomFilter": [
        field("type", STRING),
        field("timestamp", STRING),
        field("bloomFilter", "bytes"),
        field("isDeleted", "boolean"),
    ],
    "HoodieMetadataColumnStats": [
        field("fileName", optional(STRING), None),
        field("columnName", optional(STRING), None),
        field("minValue", COLUMN_VALUE, None),
        field("maxValue", COLUMN_VALUE, None),
        field("valueCount", optional("long"), None),
        field("nullCount", optional("long"), None),
        field("totalSize", optional("long"), None),
        field("totalUncompressedSize", optional("long"), None),
        field("isDeleted", "boolean"),
        field("isTightBound", "boolean", False),
    ],
    "LocalDateWrapper": [
        field("value", "int"),
    ],
    "HoodieRecordIndexInfo": [
        field("partitionName", optional(STRING), None),
        field("fileIdHighBits", optional("long"), None),
        field("fileIdLowBits", optional("long"), None),
        field("fileIndex", optional("int"), None),
        field("fileId", optional(STRING), None),
        field("instantTime", optional("long"), None),
        field("fileIdEncoding", "int", 0),
        field("position", optional("long"), None),
    ],
    "HoodieSecondaryIndexInfo": [
        field("isDeleted", "boolean"),
    ],
}

DATA_RECORDS: Records = {**LOG_DELETE_BLOCK, **METADATA_TABLE}
"""Every record of log blocks and of the metadata table."""
