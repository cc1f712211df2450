"""Places in an object store: of a server in this process that answers as S3 does, or of one that is named.

A plugin of pytest, for all tests. ``DRAWSTRING_TEST_LOCATION`` names another store, such as ``gs://bucket/folder``,
with access as the environment gives it. What tests put there they leave there.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

BUCKET = "lake"


@pytest.fixture(scope="session")
def new_location() -> Iterator[Callable[[], str]]:
    """Name places in an object store where nothing is yet."""
    named = os.environ.get("DRAWSTRING_TEST_LOCATION")
    numbers = itertools.count()
    if named is not None:
        folder = f"{named.rstrip('/')}/{uuid4()}"
        yield lambda: f"{folder}/table-{next(numbers)}"
        return
    with pytest.MonkeyPatch.context() as patch:
        stop = _start_server(patch)
        yield lambda: f"s3://{BUCKET}/table-{next(numbers)}"
        stop()


def _start_server(patch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Start a server, have the environment name it, and return what stops it.

    Requests are answered one at a time: the server compares and puts in two steps, and S3 does so in one.
    """
    # Here, since every run of pytest loads this plugin, and these load for longer than many tests run.
    import boto3
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings = {
        "AWS_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    for name, value in settings.items():
        patch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=settings["AWS_ENDPOINT"], region_name=settings["AWS_REGION"])
    client.create_bucket(Bucket=BUCKET)
    return server.shutdown
