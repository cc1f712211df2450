"""Set up Java Hudi, once: an environment of its own with PySpark 3.5, and the Hudi bundle from Maven Central.

Whose duty: ``make interop`` runs this file before the tests; run again, it does nothing when nothing changed.
Java Hudi 1.0 runs on Spark 3.5, drawstring on Spark 4: so the two live in two environments and two processes
(``driver.py`` there, ``client.py`` here). The bundle is fetched by Spark's own resolver, which knows Maven
Central.

Exit status: 0 ready; 77 not to be had here (no Java, no package index, no Maven Central); 1 broken.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VENV = ROOT / ".venv-java"
FOLDER = ROOT / ".java-hudi"
HUDI_VERSION = "1.0.2"
BUNDLE = f"org.apache.hudi:hudi-spark3.5-bundle_2.12:{HUDI_VERSION}"
BUNDLE_SHA256 = "2c2ab65a11e91265e4b7346f954448c46df52d66fb72f52dad83767b621deae8"
# setuptools: PySpark 3.5 imports distutils, which Python 3.12 no longer brings.
REQUIREMENTS = ("pyspark>=3.5.3,<3.6", "setuptools<81")
READY, BROKEN, UNAVAILABLE = 0, 1, 77

_FETCH = """
import sys
from pyspark.sql import SparkSession
SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
    "spark.jars.packages", sys.argv[1]).config("spark.jars.ivy", sys.argv[2]).getOrCreate().stop()
"""


class UnavailableError(Exception):
    """Something that lies outside of this repository is not to be had here; nothing of ours is wrong."""


class BrokenError(Exception):
    """What was fetched or made is not what it should be."""


@dataclass(frozen=True)
class Environment:
    """Where Java Hudi is.

    Attributes:
        python: interpreter that has PySpark 3.5.
        bundle: the Hudi bundle's jar.
        java: the Java that runs it.

    """

    python: Path
    bundle: Path
    java: Path


def find_environment() -> Environment | None:
    """The environment where it is set up already, else None. Fetches nothing."""
    java = _find_java()
    python, bundle, stamp = VENV / "bin" / "python", _bundle_path(), FOLDER / "stamp"
    if java is None or not (python.exists() and bundle.exists() and stamp.exists()):
        return None
    if stamp.read_text(encoding="utf-8") != _stamp_text():
        return None
    return Environment(python, bundle, java)


def set_up() -> Environment:
    """Make what is missing. Raises `UnavailableError` or `BrokenError`."""
    found = find_environment()
    if found is not None:
        return found
    java = _find_java()
    if java is None:
        raise UnavailableError("no Java found: install a JRE 17 or set JAVA_HOME")
    FOLDER.mkdir(exist_ok=True)
    python = _make_venv()
    bundle = _fetch_bundle(python)
    (FOLDER / "stamp").write_text(_stamp_text(), encoding="utf-8")
    return Environment(python, bundle, java)


def _bundle_path() -> Path:
    _, name, version = BUNDLE.split(":")
    return FOLDER / f"{name}-{version}.jar"


def _stamp_text() -> str:
    return "\n".join((BUNDLE, BUNDLE_SHA256, *REQUIREMENTS, "")) + f"{sys.version_info[:2]}\n"


def _find_java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    return Path(found) if found else None


def _make_venv() -> Path:
    python = VENV / "bin" / "python"
    if not python.exists():
        venv.create(VENV, with_pip=True)
    command: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *REQUIREMENTS,
    ]
    _run(command, "the package index could not be reached, or has no PySpark 3.5")
    return python


def _fetch_bundle(python: Path) -> Path:
    """Download into a temporary folder, check, and only then move to where it is looked for."""
    target = _bundle_path()
    if target.exists() and _sha256(target) == BUNDLE_SHA256:
        return target
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        _run([python, "-c", _FETCH, BUNDLE, folder], f"Maven Central could not be reached for {BUNDLE}")
        jars = sorted(Path(folder).glob(f"jars/*{target.name}"))
        if not jars:
            raise BrokenError(f"the resolver fetched no {target.name}")
        if _sha256(jars[0]) != BUNDLE_SHA256:
            raise BrokenError(f"{target.name} has SHA-256 {_sha256(jars[0])}, expected {BUNDLE_SHA256}")
        jars[0].replace(target)
    return target


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run(command: list[str | Path], reason: str) -> None:
    """Run a command that needs the network; its failure means that we cannot have what it fetches."""
    loopback = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    result = subprocess.run(
        command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=loopback
    )
    if result.returncode != 0:
        last_lines = "\n  ".join(result.stdout.strip().splitlines()[-5:])
        raise UnavailableError(f"{reason}:\n  {last_lines}")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main() -> int:
    """Set up and say what happened; the answer is the exit status."""
    if find_environment() is None:
        _say(f"Setting up Java Hudi {HUDI_VERSION} (about 450 MB, once)")
    try:
        environment = set_up()
    except UnavailableError as error:
        _say(f"SKIPPED: Java Hudi is not to be had here: {error}")
        return UNAVAILABLE
    except BrokenError as error:
        _say(f"FAILED: {error}")
        return BROKEN
    _say(f"Java Hudi {HUDI_VERSION} is ready: {environment.bundle.name}")
    return READY


if __name__ == "__main__":
    sys.exit(main())
