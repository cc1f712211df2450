"""The options of ``format("drawstring")``, as data: what can be said there in no other way than by options.

Whose duty: a part of the table in `drawstring.option_registry`. What the options of reading mean together is
`drawstring.spark.source_options`'s.
"""

from __future__ import annotations

from typing import Final

from drawstring.option_spec import OptionSpec

_MIB: Final = 1024 * 1024

_READING = (
    OptionSpec(
        "hoodie.datasource.query.type",
        str,
        "snapshot",
        "What a read sees: all rows, those of the base files only, or what changed between two times. A stream always "
        "reads changes.",
        used_by="format",
        allowed=("snapshot", "read_optimized", "incremental"),
    ),
    OptionSpec(
        "as.of.instant",
        str,
        None,
        "The snapshot time of a read, as `as_of` of `table.read`.",
        used_by="format",
    ),
    OptionSpec(
        "hoodie.datasource.query.incremental.format",
        str,
        "latest_state",
        "What an incremental read returns: the rows that changed in their last state, or every single change "
        "(`op`, `ts_ms`, `before`, `after`).",
        used_by="format",
        allowed=("latest_state", "cdc"),
    ),
    OptionSpec(
        "hoodie.datasource.read.begin.instanttime",
        str,
        None,
        "Start of an incremental read, which needs one: as `start` of `table.changes`. It belongs to the range; with "
        "`cdc` it does not.",
        used_by="format",
    ),
    OptionSpec(
        "hoodie.datasource.read.end.instanttime",
        str,
        None,
        "End of an incremental read, which belongs to the range: as `end` of `table.changes`. Not given: no end.",
        used_by="format",
    ),
    OptionSpec(
        "hoodie.datasource.streaming.startOffset",
        str,
        "earliest",
        "Where a new stream begins: `earliest`, `latest` (what completes from now on), or a completion time, after "
        "which it begins. A stream that goes on begins where its checkpoint says.",
        used_by="format",
    ),
    OptionSpec(
        "drawstring.read.filter",
        str,
        None,
        'Rows that are wanted, as `filter` of `table.read`, in JSON: `[["day", ">=", "2026-01-01"]]`. Files that '
        "cannot hold such rows are not read. Spark's own conditions are applied by Spark, to the rows that were read.",
        used_by="format",
    ),
    OptionSpec(
        "hoodie.enable.data.skipping",
        bool,
        True,
        "Files are not read where statistics in the metadata table rule out the rows that `drawstring.read.filter` "
        "wants.",
        used_by="format",
    ),
    OptionSpec(
        "hoodie.schema.on.read.enable",
        bool,
        True,
        "Columns that were renamed or changed are found again in older files. Java Hudi's default is false, which "
        "misses them.",
        used_by="format",
        allowed=(True,),
    ),
    OptionSpec(
        "hoodie.datasource.merge.type",
        str,
        "payload_combine",
        "Log files are merged into the rows of their base files.",
        used_by="format",
        allowed=("payload_combine",),
    ),
    OptionSpec(
        "hoodie.datasource.read.incr.table.version",
        int,
        8,
        "The start and end of an incremental read are completion times, as from version 8 on.",
        used_by="format",
        allowed=(8,),
    ),
    OptionSpec(
        "hoodie.datasource.read.streaming.table.version",
        int,
        8,
        "The same for streams.",
        used_by="format",
        allowed=(8,),
    ),
)

_WRITING = (
    OptionSpec(
        "drawstring.spark.staged.max.bytes",
        int,
        512 * _MIB,
        'A write through `format("drawstring")` is finished by one process; more than this, as Parquet, is refused, '
        "in bytes.",
        used_by="format",
        minimum=1,
    ),
    OptionSpec(
        "hoodie.datasource.write.recordkey.field",
        str,
        None,
        "Record key fields, separated by commas. For an existing table it must be what the table has.",
        used_by="format",
    ),
    OptionSpec(
        "hoodie.datasource.write.partitionpath.field",
        str,
        None,
        "Partition fields, separated by commas. For an existing table it must be what the table has.",
        used_by="format",
    ),
    OptionSpec(
        "hoodie.datasource.write.precombine.field",
        str,
        None,
        "Ordering field. For an existing table it must be what the table has.",
        used_by="format",
        aliases=("hoodie.table.ordering.fields",),
    ),
    OptionSpec(
        "hoodie.datasource.write.table.type",
        str,
        "COPY_ON_WRITE",
        "Type of a table that is created.",
        used_by="format",
        allowed=("COPY_ON_WRITE",),
        aliases=("hoodie.table.type",),
    ),
    OptionSpec(
        "hoodie.datasource.write.operation",
        str,
        "upsert",
        "What a write does.",
        used_by="format",
        allowed=("upsert", "insert", "bulk_insert", "delete"),
    ),
)

FORMAT_SPECS: Final[tuple[OptionSpec, ...]] = (*_READING, *_WRITING)
