"""Puts the production ports together."""

from __future__ import annotations

from drawstring.errors import InputError
from drawstring.events import Listener, ignore
from drawstring.locks import make_lock_provider
from drawstring.options import Options
from drawstring.ports import Ports, Storage
from drawstring.runtime.clock import SystemClock, SystemEntropy, ThreadBackground
from drawstring.runtime.object_storage import ObjectStorage
from drawstring.runtime.tasks import ThreadTasks
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY


def open_storage(location: str) -> Storage:
    """Storage of a table's location: a local path, or a URI that obstore knows (``s3://``, ``gs://``, ``az://``)."""
    return ObjectStorage(location)


def production_ports(location: str, options: Options, *, emit: Listener = ignore) -> Ports:
    """Real ports for a table's location.

    Args:
        location: local path or URI.
        options: name the lock provider and its times.
        emit: hears the events of file tasks.

    Returns:
        The ports; nothing is touched yet.

    Raises:
        InputError: the location is no text.
        OptionError: the lock provider cannot serve this location.

    """
    if not isinstance(location, str):  # A caller's value: what the annotation says is not certain.
        raise InputError(
            f"The table's location is a {type(location).__name__}, not a text.", way_out="Pass a path or URI as str."
        )
    storage = open_storage(location)
    clock = SystemClock()
    entropy = SystemEntropy()
    return Ports(
        storage=storage,
        clock=clock,
        lock=make_lock_provider(options, storage=storage, clock=clock, entropy=entropy),
        entropy=entropy,
        background=ThreadBackground(),
        tasks=ThreadTasks(storage, emit=emit),
        source_files=open_source_files(options),
    )


def open_source_files(options: Options) -> Storage | None:
    """Storage of what a bootstrap table was made of, where an option names it: nothing else is asked where it is."""
    location = options[BASE_PATH_PROPERTY]
    return open_storage(location) if location else None
