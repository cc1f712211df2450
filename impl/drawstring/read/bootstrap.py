"""Bootstrap tables: which source file the rows of a skeleton file go on in.

Source: Java ``HFileBootstrapIndexReader``, ``AbstractTableFileSystemView``; requirements RD-023 to RD-025. Whose duty:
every path that the index names is untrusted. It counts only as a path below the base path of the index, and that base
path itself opens nothing: files are looked for where the user said that they are (`drawstring.ports.Ports`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

from drawstring.codec import avro_container
from drawstring.context import TableContext
from drawstring.errors import CorruptFileError, NotFoundError, UnsupportedTableError
from drawstring.files import BaseFile, FileSlice, SourceFile
from drawstring.hfile.reader import HFileReader
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY, INDEX_FILE, INDEX_INFO, SKELETON_TIME, index_key

_KINDS: Final = {
    "hoodie.bootstrap.index.type": {"HFILE"},
    "hoodie.bootstrap.index.class": {
        "org.apache.hudi.common.bootstrap.index.HFileBootstrapIndex",
        "org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex",
    },
}
"""The index of HFiles, by the properties that name it; its class has moved."""
_WAY_OUT: Final = "Restore the index from a copy, or bootstrap the table again; nothing was changed."


def with_sources(context: TableContext, slices: Sequence[FileSlice]) -> tuple[FileSlice, ...]:
    """Return file slices whose base files say which source file they stand for, if they are skeleton files.

    The index is read where one of them is, and not otherwise.

    Args:
        context: of the table.
        slices: as their names and times make them.

    Raises:
        CorruptFileError: the index is damaged, lacks a skeleton file, or names a file outside of its base path.
        UnsupportedTableError: the index is none of HFiles.

    """
    found = _sources(context, [one.base_file for one in slices if one.base_file is not None])
    if not found:
        return tuple(slices)
    return tuple(
        dataclasses.replace(one, base_file=dataclasses.replace(one.base_file, source=found[one.base_file]))
        if one.base_file in found and one.base_file is not None
        else one
        for one in slices
    )


def with_source(context: TableContext, file: BaseFile) -> BaseFile:
    """Return one base file that says the same; errors as `with_sources`."""
    found = _sources(context, [file])
    return dataclasses.replace(file, source=found[file]) if found else file


def is_skeleton(context: TableContext, file: BaseFile) -> bool:
    """Whether the rows of a base file have their own columns in a source file."""
    return file.requested_time == SKELETON_TIME and bool(context.config.properties.get(BASE_PATH_PROPERTY))


def _sources(context: TableContext, files: Sequence[BaseFile]) -> dict[BaseFile, SourceFile]:
    skeletons = [file for file in files if is_skeleton(context, file)]
    if not skeletons:
        return {}
    index = _open_index(context)
    info = avro_container.decode(index.file_info.get(INDEX_INFO, b""), path=INDEX_FILE)
    base_path = str(info.get("bootstrapBasePath") or "")
    if not base_path:
        raise _corrupt("does not say where the source files were")
    keys = {file: index_key(file.group.partition_path, file.group.file_id) for file in skeletons}
    values = index.get_many(list(keys.values()))
    for file, key in keys.items():
        if key not in values:
            raise _corrupt(f"has no entry for the skeleton file {file.path!r}")
    records = avro_container.decode_many([values[key] for key in keys.values()], path=INDEX_FILE)
    return {file: _source(context, base_path, file, record) for file, record in zip(keys, records, strict=True)}


def _open_index(context: TableContext) -> HFileReader:
    for key, known in _KINDS.items():
        found = context.config.properties.get(key)
        if found and found not in known:
            raise UnsupportedTableError(
                f"The table {context.config.name!r} was bootstrapped with {key} {found}, not an index of HFiles.",
                rule="RD-024",
                way_out="Read it with Java Hudi.",
            )
    try:
        content = context.ports.storage.read(INDEX_FILE)
    except NotFoundError as error:
        raise CorruptFileError(
            f"The table {context.config.name!r} has skeleton files, and no bootstrap index {INDEX_FILE}.",
            rule="RD-024",
            way_out=_WAY_OUT,
        ) from error
    return HFileReader.from_bytes(content, path=INDEX_FILE)


def _source(context: TableContext, base_path: str, file: BaseFile, record: dict[str, Any]) -> SourceFile:
    status = _member(record, "bootstrapFileStatus")
    uri, size = _member(status, "path").get("uri"), status.get("length")
    if not isinstance(uri, str) or not isinstance(size, int) or size < 0:
        raise _corrupt(f"names no source file for {file.path!r}")
    return SourceFile(base_path, _below(base_path, uri), size, context.ports.source_files)


def _below(base_path: str, uri: str) -> str:
    """Return the path of a source file below the index's base path. Raises `CorruptFileError`."""
    base, path = (_path(text) for text in (base_path, uri))
    relative = path.removeprefix(f"{base}/")
    if relative == path or "\\" in relative or "\0" in relative or {"", ".", ".."} & set(relative.split("/")):
        raise _corrupt(f"names the file {uri!r}, which does not lie below its base path {base_path!r}")
    return relative


def _path(uri: str) -> str:
    """Return the path of a URI as Hadoop writes it: nothing in it is escaped, and a scheme needs no ``//``."""
    scheme, colon, rest = uri.partition(":")
    path = rest if colon and "/" not in scheme else uri
    if path.startswith("//"):
        path = f"/{path[2:].partition('/')[2]}"
    return path.rstrip("/")


def _member(record: dict[str, Any], name: str) -> dict[str, Any]:
    found = record.get(name)
    if not isinstance(found, dict):
        raise _corrupt(f"has a record without the field {name!r}")
    return found


def _corrupt(what: str) -> CorruptFileError:
    return CorruptFileError(f"The bootstrap index {INDEX_FILE} {what}.", rule="RD-024", way_out=_WAY_OUT)
