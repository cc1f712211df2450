"""A Spark session of this machine, for the demo, the benchmark and the tests; and why there is none.

Whose duty: users with a session of their own pass it to `drawstring.SparkEngine`; nothing here is needed then.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from drawstring.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA: Final = 17


@cache
def why_unavailable() -> str | None:
    """Why Spark cannot start here, in words and without a full stop; None where it can."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        return f"no Java was found (Spark needs Java {OLDEST_JAVA} or 21: set JAVA_HOME, or put java on the PATH)"
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 -- the user's own Java
    version = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    if version is None or int(version[1]) < OLDEST_JAVA:
        found = version[1] if version else "of an unknown version"
        return f"Java {found} was found, and Spark needs Java {OLDEST_JAVA} or 21"
    return None


def local_session(
    name: str, *, cores: int | None = None, memory: str = "2g", extra: dict[str, str] | None = None
) -> SparkSession:
    """Start a session on this machine, or return the one that runs in this process.

    Args:
        name: of the application.
        cores: threads that run tasks; None for one per core.
        memory: heap of the JVM, as Spark writes it.
        extra: further configuration.

    Raises:
        EngineError: Spark cannot start here.

    """
    reason = why_unavailable()
    if reason is not None:
        raise EngineError(f"Spark cannot start: {reason}.", way_out="Install Java, or use the embedded engine.")
    # Workers run this very Python, whatever `python3` is on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession  # noqa: PLC0415 -- the reason above comes first

    cores = cores or os.cpu_count() or 1
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": memory,
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **(extra or {}),
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel(settings["spark.log.level"])
    return session
