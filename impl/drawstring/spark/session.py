"""Spark sessions: making a local one that works, and saying in words why a session cannot be used.

Whose duty: everything that must be true of Java, Spark and its Python workers before a job is run. Nothing here
knows a table.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from drawstring.errors import EngineError

try:
    import pyspark
    from pyspark.sql import DataFrame, SparkSession
except ImportError as error:
    raise EngineError("pyspark is not installed.", way_out="pip install 'drawstring[spark]'") from error

MIN_JAVA: Final = 17
"""Spark 4 runs on this version of Java and on later ones."""

MIN_SPARK: Final = (4, 1)
"""Rows are sent to chosen tasks with `DataFrame.repartitionById`, which this version brought."""

_VERSION: Final = re.compile(r'version "(\d+)(?:\.(\d+))?')
_JAVA_WAY_OUT: Final = (
    "Install Java 17 or 21 and set JAVA_HOME to it, or leave the engine out: the embedded engine needs no Java."
)


def local_session(
    app_name: str = "drawstring", *, cores: int | str = "*", config: Mapping[str, str] | None = None
) -> SparkSession:
    """Start a local session, or return the one that runs in this process.

    Python workers are this very interpreter: a worker of another version, or without the same packages, cannot run
    the tasks of a write.

    Args:
        app_name: as Spark shows it.
        cores: threads that run tasks; ``"*"`` for one per processor.
        config: further settings of Spark; they win over ours.

    Raises:
        EngineError: Java is missing or too old, or Spark does not start.

    """
    require_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        **(config or {}),
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName(app_name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise EngineError(f"Spark does not start: {error}.", way_out=_JAVA_WAY_OUT) from error


def java_version() -> int | None:
    """Return the major version of the Java that Spark would start; None where there is none that runs."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None:
        return None
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603 -- Spark starts the same program
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(answer.stderr + answer.stdout)
    if found is None:
        return None
    major, minor = int(found[1]), int(found[2] or 0)
    return minor if major == 1 else major


def require_java() -> None:
    """Refuse to go on without a Java that Spark runs on. Raises `EngineError`."""
    version = java_version()
    if version is None:
        raise EngineError("Spark needs Java, and none was found (JAVA_HOME, then PATH).", way_out=_JAVA_WAY_OUT)
    if version < MIN_JAVA:
        raise EngineError(f"Spark needs Java {MIN_JAVA} or later, and this is Java {version}.", way_out=_JAVA_WAY_OUT)


def check_session(spark: Any) -> SparkSession:
    """Return a session that the engine can work with.

    Raises:
        EngineError: it is no session, a session of Spark Connect, one that has stopped, or of an older Spark.

    """
    if not isinstance(spark, SparkSession) or not hasattr(spark, "_jsparkSession"):
        raise EngineError(
            f"{type(spark).__module__}.{type(spark).__name__} is no classic Spark session.",
            way_out="Pass the SparkSession of a classic session; over Spark Connect, use the embedded engine.",
        )
    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < MIN_SPARK:
        raise EngineError(f"pyspark {pyspark.__version__} is too old.", way_out="pip install 'pyspark>=4.1'")
    if spark.sparkContext._jsc is None:  # noqa: SLF001 -- Spark has no public way to ask
        raise EngineError("The Spark session has stopped.", way_out="Start another one and open the table with it.")
    return spark


def is_spark_frame(data: Any) -> bool:
    """Whether data is a DataFrame of Spark, of any kind of session."""
    return isinstance(data, DataFrame) or type(data).__module__.startswith("pyspark.sql.")
