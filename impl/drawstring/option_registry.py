"""Every option that is honoured, as data: Hudi's own keys first, ours under ``drawstring.``.

Whose duty: `drawstring.options` parses and checks against this table; the code that honours an option looks
it up by its key. To add an option is to add an entry here, with the place that honours it. An option of Java
Hudi that is not in this table is refused by name, never ignored.
"""

from __future__ import annotations

from typing import Final

from drawstring.format_options import FORMAT_SPECS
from drawstring.option_spec import OptionSpec
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY

IN_PROCESS_LOCK: Final = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
FILE_SYSTEM_LOCK: Final = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"

KEY_GENERATOR_CLASSES: Final = {
    "org.apache.hudi.keygen.SimpleKeyGenerator": "SIMPLE",
    "org.apache.hudi.keygen.SimpleAvroKeyGenerator": "SIMPLE",
    "org.apache.hudi.keygen.ComplexKeyGenerator": "COMPLEX",
    "org.apache.hudi.keygen.ComplexAvroKeyGenerator": "COMPLEX",
    "org.apache.hudi.keygen.NonpartitionedKeyGenerator": "NON_PARTITION",
    "org.apache.hudi.keygen.NonpartitionedAvroKeyGenerator": "NON_PARTITION",
}


_MIB: Final = 1024 * 1024

_CREATION = (
    OptionSpec(
        "hoodie.table.name",
        str,
        None,
        "Name of the table. Not given: the last segment of its location.",
        used_by="create",
    ),
    OptionSpec("hoodie.database.name", str, None, "Database that the table belongs to.", used_by="create"),
    OptionSpec(
        "hoodie.datasource.write.hive_style_partitioning",
        bool,
        False,
        "Partition folders are called `field=value` instead of `value`.",
        used_by="create",
    ),
    OptionSpec(
        "hoodie.datasource.write.partitionpath.urlencode",
        bool,
        False,
        "Special characters of partition values are escaped as `%XX`.",
        used_by="create",
    ),
    OptionSpec(
        "hoodie.write.record.merge.mode",
        str,
        None,
        "Which of two records with one key stays: the one with the greater ordering value, or the later one. "
        "Not given: `EVENT_TIME_ORDERING` where the table has an ordering field, else "
        "`COMMIT_TIME_ORDERING`.",
        used_by="create",
        allowed=("EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"),
    ),
    OptionSpec(
        "hoodie.datasource.write.keygenerator.type",
        str,
        None,
        "How record keys and partition paths are built. Not given: `NON_PARTITION` without partition fields, "
        "`SIMPLE` with one key field and one partition field, else `COMPLEX`.",
        used_by="create",
        allowed=("SIMPLE", "COMPLEX", "NON_PARTITION"),
    ),
    OptionSpec(
        "hoodie.datasource.write.keygenerator.class",
        str,
        None,
        "The key generator by its Java class; the same as naming its type.",
        used_by="create",
        allowed=tuple(KEY_GENERATOR_CLASSES),
    ),
    OptionSpec(
        "hoodie.populate.meta.fields",
        bool,
        True,
        "Records carry the five `_hoodie_` columns.",
        used_by="create",
        allowed=(True,),
    ),
    OptionSpec(
        "hoodie.datasource.write.drop.partition.columns",
        bool,
        False,
        "Partition columns are kept in the data files.",
        used_by="create",
        allowed=(False,),
    ),
    OptionSpec("hoodie.table.cdc.enabled", bool, False, "Change data is logged.", used_by="create", allowed=(False,)),
    OptionSpec(
        "hoodie.table.base.file.format",
        str,
        "PARQUET",
        "Format of base files.",
        used_by="create",
        allowed=("PARQUET",),
    ),
    OptionSpec(
        "hoodie.table.timeline.timezone",
        str,
        "UTC",
        "Zone in which instant times are written.",
        used_by="create",
        allowed=("UTC",),
    ),
)

_CONCURRENCY = (
    OptionSpec(
        "hoodie.write.concurrency.mode",
        str,
        "SINGLE_WRITER",
        "`SINGLE_WRITER`: nobody else writes to the table. `OPTIMISTIC_CONCURRENCY_CONTROL`: others may; "
        "each write checks at its end, under the table lock, that nobody completed a write to the same file "
        "groups or keys.",
        allowed=("SINGLE_WRITER", "OPTIMISTIC_CONCURRENCY_CONTROL"),
    ),
    OptionSpec(
        "hoodie.clean.failed.writes.policy",
        str,
        None,
        "When failed writes are rolled back: `EAGER`, at the start of the next write, or `LAZY`, once their "
        "heartbeat has expired. Not given: `EAGER` for a single writer, else `LAZY`.",
        allowed=("EAGER", "LAZY"),
        aliases=("hoodie.cleaner.policy.failed.writes",),
    ),
    OptionSpec(
        "hoodie.write.lock.provider",
        str,
        None,
        "The table lock. `InProcessLockProvider` knows only the writers of this process: with writers in "
        "several processes it protects nothing, which cannot be detected. `FileSystemBasedLockProvider` "
        "keeps `.hoodie/lock` on the table's storage. Not given: in-process for a single writer, else file "
        "system.",
        allowed=(IN_PROCESS_LOCK, FILE_SYSTEM_LOCK),
        aliases=("hoodie.writer.lock.provider",),
    ),
    OptionSpec(
        "hoodie.write.lock.wait_time_ms",
        int,
        60_000,
        "How long to wait for the table lock, in milliseconds.",
        minimum=0,
    ),
    OptionSpec(
        "drawstring.write.lock.ttl.ms",
        int,
        60_000,
        "A file-system lock whose holder has not renewed it for so many milliseconds is free for others to "
        "take; its holder can no longer complete.",
        minimum=1,
    ),
    OptionSpec(
        "hoodie.write.lock.filesystem.expire",
        int,
        None,
        "The same as `drawstring.write.lock.ttl.ms`, in minutes.",
        minimum=1,
    ),
    OptionSpec(
        "hoodie.client.heartbeat.interval_in_ms",
        int,
        60_000,
        "How often a writer renews its heartbeat, in milliseconds.",
        minimum=1,
    ),
    OptionSpec(
        "hoodie.client.heartbeat.tolerable.misses",
        int,
        2,
        "How many renewals in a row may be missed before others regard the writer as dead.",
        minimum=1,
    ),
    OptionSpec(
        "drawstring.write.key.conflict.check",
        bool,
        None,
        "Before an insert completes, its new keys are looked up in the file groups that others wrote "
        "meanwhile; Java Hudi does not, and two inserts of one key both succeed. Not given: on under "
        "optimistic control.",
    ),
    OptionSpec(
        "hoodie.write.markers.type",
        str,
        "DIRECT",
        "Each data file is announced by a marker file.",
        allowed=("DIRECT",),
    ),
)

_METADATA_TABLE = (
    OptionSpec(
        "hoodie.metadata.enable",
        bool,
        True,
        "Reading: files are listed and left out, and keys are looked up, through the metadata table where there is "
        "one; false lists folders instead. Writing: false removes the metadata table, if there is one, under the "
        "table lock before the first write. A table that has one cannot be written otherwise, since it is not kept "
        "up to date yet.",
    ),
)

_FILES = (
    OptionSpec(
        "hoodie.parquet.max.file.size",
        int,
        120 * _MIB,
        "Size at which a writer starts the next base file, in bytes.",
        minimum=1,
    ),
    OptionSpec(
        "hoodie.parquet.small.file.limit",
        int,
        100 * _MIB,
        "Inserts are packed into existing base files below this size, in bytes; 0 never packs.",
        minimum=0,
    ),
    OptionSpec(
        "hoodie.parquet.block.size",
        int,
        120 * _MIB,
        "Size of a row group, uncompressed, in bytes.",
        minimum=1,
    ),
    OptionSpec(
        "hoodie.parquet.compression.codec",
        str,
        "zstd",
        "Codec of base files, but for columns that hardly shrink. Java's default, gzip, takes several times as long.",
        allowed=("zstd", "gzip", "snappy", "uncompressed"),
    ),
    OptionSpec(
        "hoodie.copyonwrite.record.size.estimate",
        int,
        1024,
        "Size of a record in a base file, in bytes, where no earlier commit tells. Not given: a sample of the rows is "
        "encoded to find out.",
        minimum=1,
    ),
    OptionSpec(
        "hoodie.parquet.bloom.filter.enabled",
        bool,
        True,
        "Base files carry a bloom filter of their record keys in the footer.",
    ),
    OptionSpec(
        "hoodie.index.bloom.num_entries",
        int,
        60_000,
        "Record keys that a bloom filter is first laid out for.",
        minimum=1,
    ),
    OptionSpec("hoodie.index.bloom.fpp", float, 1e-9, "Rate of false positives of a bloom filter.", minimum=1e-300),
    OptionSpec(
        "hoodie.bloom.index.filter.type",
        str,
        "DYNAMIC_V0",
        "Kind of bloom filter: fixed in size, or growing with the keys.",
        allowed=("SIMPLE", "DYNAMIC_V0"),
    ),
    OptionSpec(
        "hoodie.bloom.index.filter.dynamic.max.entries",
        int,
        100_000,
        "Record keys up to which a growing bloom filter keeps its rate of false positives.",
        minimum=1,
    ),
)

_RECORDS = (
    OptionSpec(
        "hoodie.datasource.insert.dup.policy",
        str,
        "fail",
        "What an insert does with keys that the table holds: `fail` refuses the batch, `drop` leaves such "
        "rows out. Bulk inserts do the same. Java Hudi's default, `none`, stores such keys twice; it is refused.",
        allowed=("drop", "fail"),
    ),
    OptionSpec(
        "hoodie.combine.before.insert",
        bool,
        True,
        "Rows of one batch with the same key are reduced to one before an insert or bulk insert. Java Hudi's "
        "default is false, which stores such keys twice.",
        allowed=(True,),
    ),
    OptionSpec(
        "hoodie.combine.before.upsert",
        bool,
        True,
        "Rows of one batch with the same key are reduced to one before an upsert.",
        allowed=(True,),
    ),
    OptionSpec(
        "hoodie.combine.before.delete",
        bool,
        True,
        "Keys that are given twice are deleted once.",
        allowed=(True,),
    ),
    OptionSpec(
        "hoodie.index.type",
        str,
        "SIMPLE",
        "How an upsert finds its keys: within the partition of each row, by the key columns of the base "
        "files. `BLOOM` gives the same answers and is done the same way.",
        allowed=("SIMPLE", "BLOOM"),
    ),
)

_SPARK = (
    OptionSpec(
        "drawstring.spark.embedded.max.rows",
        int,
        100_000,
        "A Spark DataFrame of at most so many rows is inserted, upserted or deleted by the embedded engine in the "
        "driver, where the base files of the touched partitions are small too; 0 never does.",
        minimum=0,
    ),
    OptionSpec(
        "drawstring.spark.embedded.max.bytes",
        int,
        256 * _MIB,
        "The base files of the touched partitions up to which the embedded engine takes a small DataFrame over, "
        "in bytes.",
        minimum=0,
    ),
    OptionSpec(
        "drawstring.spark.task.buffer.bytes",
        int,
        512 * _MIB,
        "Rows that a task of a Spark bulk insert keeps in memory until they make whole files, in bytes.",
        minimum=1,
    ),
)

_READ = (
    OptionSpec(
        BASE_PATH_PROPERTY,
        str,
        None,
        "Folder or URI of the files that a bootstrap table was made of. The table's own word is not enough to read "
        "files outside of it, so it has to be said here; it may be another place, where the files were moved to.",
        used_by="read",
    ),
    OptionSpec(
        "hoodie.merge.use.record.positions",
        bool,
        True,
        "Log records are merged with base rows by their positions in the base file, where all log blocks of a file "
        "slice have them; otherwise, and where this is false, by record keys.",
        used_by="read",
    ),
    OptionSpec(
        "hoodie.datasource.read.incr.fallback.fulltablescan.enable",
        bool,
        True,
        "Changes of a range whose commits are archived, or some of whose files are cleaned, are taken from the newest "
        "snapshot: rows whose last change lies in the range. Otherwise such a range is refused.",
        used_by="read",
    ),
)

OPTION_SPECS: Final[tuple[OptionSpec, ...]] = (
    *_CREATION,
    *_CONCURRENCY,
    *_METADATA_TABLE,
    *_FILES,
    *_RECORDS,
    *_SPARK,
    *FORMAT_SPECS,
    *_READ,
)
