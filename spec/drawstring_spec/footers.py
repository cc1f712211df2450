"""Keys of a base file's footer metadata.

Source: Java ``HoodieBloomFilterWriteSupport``, ``HoodieAvroWriteSupport``, ``HoodieRowParquetWriteSupport``.
    No reader
needs them to read rows; writers' index look-ups use the key range and the bloom filter.
"""

from __future__ import annotations

BLOOM_FILTER = "org.apache.hudi.bloomfilter"
"""The serialised filter, base64."""
LEGACY_BLOOM_FILTER = "com.uber.hoodie.bloomfilter"
"""The same under its old name: readers look here second."""
BLOOM_TYPE_CODE = "hoodie_bloom_filter_type_code"
"""A name of `BLOOM_TYPE_CODES`."""
MIN_RECORD_KEY = "hoodie_min_record_key"
MAX_RECORD_KEY = "hoodie_max_record_key"
AVRO_SCHEMA = "parquet.avro.schema"
"""Avro schema of the rows as JSON, meta fields included."""
ORC_AVRO_SCHEMA = "orc.avro.schema"
"""The same in an ORC file."""
WRITER_MODEL = "writer.model.name"
"""`AVRO_WRITER_MODEL` where `AVRO_SCHEMA` is given."""
AVRO_WRITER_MODEL = "avro"

SIMPLE_BLOOM_FILTER = "SIMPLE"
"""A filter of a fixed size."""
DYNAMIC_BLOOM_FILTER = "DYNAMIC_V0"
"""A filter that grows with the file: the default."""
BLOOM_TYPE_CODES = (SIMPLE_BLOOM_FILTER, DYNAMIC_BLOOM_FILTER)
