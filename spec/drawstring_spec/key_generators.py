"""Key generators: how the columns of a row make its record key and its partition path.

Source: Java ``KeyGeneratorType``. A table of version 8 names the type, not the class. What each makes of a
    row is
the implementation's (``drawstring.data``).
"""

from __future__ import annotations

from enum import StrEnum


class KeyGenerator(StrEnum):
    """Value of ``hoodie.table.keygenerator.type``."""

    SIMPLE = "SIMPLE"
    """One key field, one partition field."""
    SIMPLE_AVRO = "SIMPLE_AVRO"
    COMPLEX = "COMPLEX"
    """Several fields in either."""
    COMPLEX_AVRO = "COMPLEX_AVRO"
    NON_PARTITION = "NON_PARTITION"
    """Any number of key fields, no partition field."""
    NON_PARTITION_AVRO = "NON_PARTITION_AVRO"
    TIMESTAMP = "TIMESTAMP"
    """One partition field that is formatted as a date."""
    TIMESTAMP_AVRO = "TIMESTAMP_AVRO"
    CUSTOM = "CUSTOM"
    """Each partition field is SIMPLE or TIMESTAMP by itself."""
    CUSTOM_AVRO = "CUSTOM_AVRO"
    GLOBAL_DELETE = "GLOBAL_DELETE"
    """Keys without a partition."""
    GLOBAL_DELETE_AVRO = "GLOBAL_DELETE_AVRO"
    AUTO_RECORD = "AUTO_RECORD"
    """Keys that the writer makes up."""
    AUTO_RECORD_AVRO = "AUTO_RECORD_AVRO"
    HOODIE_TABLE_METADATA = "HOODIE_TABLE_METADATA"
    """The metadata table's own."""
    SPARK_SQL = "SPARK_SQL"
    SPARK_SQL_UUID = "SPARK_SQL_UUID"
    SPARK_SQL_MERGE_INTO = "SPARK_SQL_MERGE_INTO"

    @property
    def base(self) -> KeyGenerator:
        """The type without its ``_AVRO`` suffix: both make the same keys."""
        return KeyGenerator(self.value.removesuffix("_AVRO"))


def default_key_generator(*, key_fields: int, partition_fields: int) -> KeyGenerator:
    """Return the type of a table that names none, from how many fields it has (Java ``KeyGenUtils``)."""
    if partition_fields == 0:
        return KeyGenerator.NON_PARTITION
    if key_fields == 1 and partition_fields == 1:
        return KeyGenerator.SIMPLE
    return KeyGenerator.COMPLEX
