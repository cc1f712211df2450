"""What all tests share: Hypothesis profiles, places in an object store, and skips for what this machine has not got.

Hypothesis profiles, chosen by the environment variable ``HYPOTHESIS_PROFILE``:

- ``ci`` (the default): the same examples in every run, no deadline (the machine may be busy), few examples.
- ``explore``: fresh examples, many of them; what it finds becomes an explicit ``@example``.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest_plugins = ["object_store"]

REPOSITORY = Path(__file__).resolve().parent.parent

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=60,
    stateful_step_count=30,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
settings.register_profile(
    "explore",
    deadline=None,
    max_examples=3_000,
    stateful_step_count=60,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    phases=tuple(Phase),
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@cache
def why_no_spark() -> str | None:
    """Why Spark cannot start here, in words; None where it can."""
    from drawstring.errors import EngineError

    try:
        from drawstring.spark.session import require_java

        require_java()
    except EngineError as error:
        return str(error)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked ``spark`` are skipped, with the reason, where Spark cannot start."""
    marked = [item for item in items if item.get_closest_marker("spark")]
    reason = why_no_spark() if marked else None
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the source tree."""
    return REPOSITORY


@pytest.fixture
def table_uri(tmp_path: Path) -> str:
    """Where a test may create a table: a folder that does not exist yet."""
    return str(tmp_path / "table")
