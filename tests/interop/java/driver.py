"""Java Hudi as a server: a JSON request per line in, a JSON answer per line out, one JVM for all of them.

Runs in the environment that ``environment.py`` makes (PySpark 3.5; drawstring is not installed there) and is
started by ``client.py``: ``python driver.py BUNDLE_JAR``. Rows travel as Parquet folders, named by a request.

A request is ``{"verb": ..., other arguments}``; an answer is ``{"ok": true, ...}`` or
``{"ok": false, "error": first line, "root": first line of the root cause}``. What the JVM prints goes to
standard error, so that standard output holds answers and nothing else.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

# What Spark and Hudi reach into by reflection on Java 17.
OPENED_MODULES = """
    java.util.concurrent.locks java.util.concurrent java.util java.lang java.lang.ref java.lang.reflect
    java.lang.invoke java.io java.net java.nio java.math java.text java.time java.util.concurrent.atomic
    java.util.regex sun.nio.ch sun.nio.fs sun.nio.cs sun.security.action sun.util.calendar jdk.internal.ref
    jdk.internal.loader jdk.internal.misc
""".split()  # noqa: SIM905  names, not string literals

# Small and quiet: few tasks, no servers. None of these changes what ends up in a table.
WRITE_OPTIONS = {
    "hoodie.insert.shuffle.parallelism": "2",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.delete.shuffle.parallelism": "2",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "direct",
}

KEY_GENERATORS = {
    "SIMPLE": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "COMPLEX": "org.apache.hudi.keygen.ComplexKeyGenerator",
    "NON_PARTITION": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
}

CHANGE_COLUMNS = ["op", "ts_ms", "before", "after"]

# Property of the table -> write option by the same meaning.
PROPERTY_OPTIONS = {
    "hoodie.table.name": "hoodie.table.name",
    "hoodie.table.type": "hoodie.datasource.write.table.type",
    "hoodie.table.recordkey.fields": "hoodie.datasource.write.recordkey.field",
    "hoodie.table.partition.fields": "hoodie.datasource.write.partitionpath.field",
    "hoodie.table.precombine.field": "hoodie.datasource.write.precombine.field",
    "hoodie.datasource.write.hive_style_partitioning": "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode": "hoodie.datasource.write.partitionpath.urlencode",
    "hoodie.populate.meta.fields": "hoodie.populate.meta.fields",
}


def start_session(bundle: str) -> SparkSession:
    """A local session with Hudi, in UTC."""
    java_options = " ".join(f"--add-opens=java.base/{module}=ALL-UNNAMED" for module in OPENED_MODULES)
    settings = {
        "spark.jars": bundle,
        "spark.driver.extraClassPath": bundle,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="java_hudi_warehouse_"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -XX:+UseSerialGC {java_options}",
    }
    builder = SparkSession.builder.appName("java-hudi").master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


class Driver:
    """The verbs, one method each; arguments are the request's members."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._jvm = spark.sparkContext._jvm
        self._num_names = 0

    def read(
        self,
        path: str,
        out: str,
        as_of: str | None = None,
        options: dict[str, str] | None = None,
        where: str | None = None,
    ) -> dict:
        """Snapshot or time-travel query, of the rows for which `where` holds; they go to the Parquet folder `out`."""
        frame = self._load(path, as_of, options or {})
        frame = frame.where(where) if where else frame
        if frame.columns == CHANGE_COLUMNS:
            # Java's iterator of change data loses rows under any operator that asks twice whether there are more.
            rows = self._spark.sparkContext.parallelize([tuple(row) for row in frame.collect()], 1)
            frame = self._spark.createDataFrame(rows, frame.schema)
        frame.coalesce(1).write.mode("overwrite").parquet(out)
        return {"columns": frame.columns}

    def scan(self, path: str) -> dict:
        """All rows of a snapshot query, to nowhere."""
        self._load(path, None, {}).write.format("noop").mode("overwrite").save()
        return {}

    def sum_of(self, path: str, column: str) -> dict:
        """Sum of one column of a snapshot query."""
        return {"sum": self._load(path, None, {}).agg({column: "sum"}).collect()[0][0]}

    def write(
        self, path: str, operation: str, rows: str, options: dict[str, str] | None = None, row_ms: int = 0
    ) -> dict:
        """Write the Parquet folder or file `rows` into the table by `operation` (upsert, delete, ...).

        Each row takes `row_ms` to come, which it does after the write has begun.
        """
        chosen = {**WRITE_OPTIONS, **self._options_of(path), **(options or {})}
        chosen["hoodie.datasource.write.operation"] = operation
        frame = self._spark.read.parquet(rows)
        if row_ms:
            frame = frame.where(f"isnull(reflect('java.lang.Thread', 'sleep', {row_ms}L))")
        frame.write.format("hudi").options(**chosen).mode("append").save(path)
        return {"timeline": self.timeline(path)["timeline"]}

    def bootstrap(self, path: str, source: str, options: dict[str, str]) -> dict:
        """Make a table of the Parquet files below the folder `source`."""
        chosen = {**WRITE_OPTIONS, **options, "hoodie.bootstrap.base.path": source}
        chosen["hoodie.datasource.write.operation"] = "bootstrap"
        nothing = self._spark.createDataFrame([], StructType([]))
        nothing.write.format("hudi").options(**chosen).mode("overwrite").save(path)
        return {"timeline": self.timeline(path)["timeline"]}

    def timeline(self, path: str) -> dict:
        """The active timeline as Java parses it: requested time, action, state, completion time."""
        instants = self._meta_client(path).getActiveTimeline().getInstants()
        return {
            "timeline": [
                {
                    "requested_time": instant.requestedTime(),
                    "action": instant.getAction(),
                    "state": instant.getState().name(),
                    "completion_time": instant.getCompletionTime(),
                }
                for instant in instants
            ]
        }

    def properties(self, path: str) -> dict:
        """The table's properties as Java reads them, checksum checked."""
        return {"properties": self._properties(path)}

    def commit_metadata(self, path: str, requested_time: str) -> dict:
        """A completed commit's metadata as Java decodes it."""
        timeline = self._meta_client(path).getActiveTimeline()
        for instant in timeline.getCommitsTimeline().filterCompletedInstants().getInstants():
            if instant.requestedTime() == requested_time:
                utilities = self._jvm.org.apache.hudi.common.table.timeline.TimelineUtils
                return {"metadata": json.loads(utilities.getCommitMetadata(instant, timeline).toJsonString())}
        raise ValueError(f"no completed commit {requested_time}")

    def validate(self, path: str) -> dict:
        """Problems between the metadata table and the files: a listing both ways, and the rows both ways."""
        name = self._register(path)
        call = f"call validate_metadata_table_files(table => '{name}', verbose => true)"
        rows = [row.asDict() for row in self._spark.sql(call).collect()]
        problems = [f"file listing: {row}" for row in rows if not all(v for v in row.values() if v in (True, False))]
        answers = []
        for enabled in ("true", "false"):
            frame = self._load(path, None, {"hoodie.metadata.enable": enabled})
            answers.append(sorted(json.dumps(r.asDict(True), default=str, sort_keys=True) for r in frame.collect()))
        if answers[0] != answers[1]:
            problems.append(f"{len(answers[0])} rows with the metadata table, {len(answers[1])} without")
        return {"files_checked": len(rows), "rows": len(answers[0]), "problems": problems}

    def call(self, path: str, procedure: str, arguments: str = "") -> dict:
        """A Hudi SQL procedure on the table: ``call procedure(table => name, arguments)``."""
        comma = ", " if arguments else ""
        rows = self._spark.sql(f"call {procedure}(table => '{self._register(path)}'{comma}{arguments})").collect()
        return {"rows": [json.loads(json.dumps(row.asDict(True), default=str)) for row in rows]}

    def sql(self, path: str, statements: list[str], settings: dict[str, str] | None = None) -> dict:
        """SQL statements one after the other, ``{table}`` being the table, under `settings` of the session."""
        name = self._register(path)
        for key, value in (settings or {}).items():
            self._spark.conf.set(key, value)
        try:
            for statement in statements:
                self._spark.sql(statement.format(table=name))
        finally:
            for key in settings or {}:
                self._spark.conf.unset(key)
        return {}

    def together(self, requests: list[dict]) -> dict:
        """Answer requests side by side, each in a thread of its own, `after_ms` from now; what fails is an answer."""

        def one(request: dict) -> dict:
            time.sleep(request.pop("after_ms", 0) / 1000)
            return answer(self, request)

        with ThreadPoolExecutor(len(requests)) as threads:
            return {"answers": list(threads.map(one, requests))}

    def schedule_index(self, path: str, kinds: list[str], options: dict[str, str]) -> dict:
        """Plan the building of indexes of the metadata table, which then is pending."""
        jvm = self._jvm.org.apache.hudi
        table_schema = (
            jvm.common.table.TableSchemaResolver(self._meta_client(path)).getTableAvroSchema(False).toString()
        )
        chosen = {**WRITE_OPTIONS, **self._options_of(path), **options}
        context = self._spark.sparkContext._jsc
        client = jvm.DataSourceUtils.createHoodieClient(context, table_schema, path, "t", chosen)
        try:
            found = [getattr(jvm.metadata.MetadataPartitionType, kind) for kind in kinds]
            return {"planned": client.scheduleIndexing(found, []).get()}
        finally:
            client.close()

    def _load(self, path: str, as_of: str | None, options: dict[str, str]) -> DataFrame:
        reader = self._spark.read.format("hudi").options(**options)
        return (reader.option("as.of.instant", as_of) if as_of else reader).load(path)

    def _register(self, path: str) -> str:
        """A catalog name for the table, which procedures want; the table's properties stay as they were.

        Hudi's catalog would otherwise write its defaults over what the table's writer chose.
        """
        self._num_names += 1
        name = f"table_{self._num_names}"
        properties = Path(path) / ".hoodie" / "hoodie.properties"
        before = properties.read_bytes() if properties.is_file() else None
        self._spark.sql(f"create table {name} using hudi location '{path}'")
        if before is not None:
            properties.write_bytes(before)
            checksum = properties.with_name(".hoodie.properties.crc")
            checksum.unlink(missing_ok=True)
        return name

    def _meta_client(self, path: str):
        configuration = self._jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConf(
            self._spark.sparkContext._jsc.hadoopConfiguration()
        )
        builder = self._jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(configuration).setBasePath(path).build()

    def _properties(self, path: str) -> dict[str, str]:
        return {str(k): str(v) for k, v in dict(self._meta_client(path).getTableConfig().getProps()).items()}

    def _options_of(self, path: str) -> dict[str, str]:
        """Write options that say what the table's properties say, as a user of Java Hudi repeats them."""
        if not (Path(path) / ".hoodie").is_dir():
            return {}
        properties = self._properties(path)
        options = {option: properties[key] for key, option in PROPERTY_OPTIONS.items() if key in properties}
        options.setdefault("hoodie.datasource.write.partitionpath.field", "")
        generator = properties.get("hoodie.table.keygenerator.type")
        if generator in KEY_GENERATORS:
            options["hoodie.datasource.write.keygenerator.class"] = KEY_GENERATORS[generator]
        return options


def first_line(text: object) -> str:
    """The first line, of a bearable length; with what follows where it only announces it."""
    lines = str(text).strip().split("\n")
    return (" ".join(lines[:4]) if lines[0].endswith(":") else lines[0])[:600]


def root_cause(error: BaseException) -> str:
    """First line of what Java says was the root of it."""
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if cause is None or not hasattr(cause, "getCause"):
        return first_line(error)
    while cause.getCause() is not None:
        cause = cause.getCause()
    return first_line(cause.toString())


def answer(driver: Driver, request: dict) -> dict:
    """Run one request; whatever goes wrong in it is an answer."""
    start = time.monotonic()
    verb = request.pop("verb")
    if verb.startswith("_") or not hasattr(driver, verb):
        return {"ok": False, "error": f"no verb {verb}", "root": ""}
    try:
        result = getattr(driver, verb)(**request)
    except (Py4JError, PySparkException, ValueError, TypeError, OSError) as error:
        return {"ok": False, "error": first_line(error), "root": root_cause(error)}
    return {"ok": True, "seconds": round(time.monotonic() - start, 2), **result}


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # before the JVM starts: it inherits standard output
    driver = Driver(start_session(sys.argv[1]))
    answers.write(json.dumps({"ok": True, "ready": True}) + "\n")
    answers.flush()
    for line in sys.stdin:
        if line.strip():
            answers.write(json.dumps(answer(driver, json.loads(line)), default=str) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
