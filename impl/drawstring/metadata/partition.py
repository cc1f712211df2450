"""Entries of one partition of the metadata table: base files and log blocks, whole, by keys or by a prefix of keys.

Source: Java ``HoodieBackedTableMetadata``, ``HoodieMetadataLogRecordReader``. Whose duty: fetch what a question needs
and line the entries up, oldest first; what entries of one key make together is `drawstring.metadata.merging`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.errors import CorruptFileError
from drawstring.hfile.reader import CACHE_BYTES, HFileReader
from drawstring.log_files.blocks import LogBlock, read_blocks
from drawstring.log_files.decode import delete_records
from drawstring.metadata.keys import file_group_indexes
from drawstring.metadata.lost_writes import check_all_there, check_any_there
from drawstring.metadata.slices import WHOLE_FILE_BYTES, Instants, MetadataSlice, latest_slices, open_hfile
from drawstring.metadata.storage import SubStorage
from drawstring.ports import TaskContext, Tasks
from drawstring_spec.hfile_format import SCHEMA_KEY
from drawstring_spec.log_format import BlockType, HeaderKey

Found = tuple[pa.ChunkedArray, pa.ChunkedArray]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Question:
    """Which keys are asked for: all where both are None.

    Attributes:
        keys: exactly these (``string``, without nulls).
        prefix: all keys that begin so.

    """

    keys: pa.Array | None = None
    prefix: str | None = None

    def of_reader(self, reader: HFileReader) -> Found:
        """Entries of a file that are asked for."""
        if self.keys is not None:
            return reader.lookup(self.keys.cast(pa.binary()).to_pylist())
        return reader.entries() if self.prefix is None else reader.prefixed(self.prefix.encode())

    def of_deletes(self, keys: pa.ChunkedArray) -> pa.ChunkedArray:
        """Deleted keys that are asked for."""
        if self.keys is not None:
            return keys.filter(pc.is_in(keys, value_set=self.keys))
        return keys if self.prefix is None else keys.filter(pc.starts_with(keys, self.prefix))


@dataclass(frozen=True, slots=True)
class Source:
    """What one base file, data block or delete block says.

    Attributes:
        keys: ``large_binary``.
        values: one for each key; None where the keys are deleted.
        schema: Avro JSON of the values.
        path: of the file.

    """

    keys: pa.ChunkedArray
    values: pa.ChunkedArray | None
    schema: str
    path: str


class PartitionReader:
    """Reads one partition; keeps what it fetched of it, so many questions cost few requests.

    Args:
        storage: of the metadata table.
        name: of the partition.
        instants: what the timelines say.
        tasks: file groups that a question is about are read side by side.

    """

    def __init__(self, storage: SubStorage, name: str, instants: Instants, tasks: Tasks) -> None:
        self._storage = storage
        self._instants = instants
        self._tasks = tasks
        self.name = name
        self.slices = latest_slices(storage, name, instants)
        check_any_there(name, self.slices, instants)
        # The file groups share what one file would keep, however many there are; each keeps one block at least.
        self._cache_bytes = CACHE_BYTES // max(len(self.slices), 1)
        self._bases: dict[str, HFileReader] = {}
        self._blocks: dict[str, list[LogBlock]] = {}
        self._readers: dict[tuple[str, int], HFileReader] = {}

    @property
    def num_kept_bytes(self) -> int:
        """Memory that what was fetched takes: log files, and of base files those that were fetched whole."""
        bases = (one.base_file.size for one in self.slices if one.base_file is not None and one.file_id in self._bases)
        whole = sum(size for size in bases if size <= WHOLE_FILE_BYTES)
        blocks = sum(len(block.content) for found in list(self._blocks.values()) for block in found)
        readers = [*self._bases.values(), *self._readers.values()]
        return whole + blocks + sum(reader.num_kept_bytes for reader in readers)

    def sources(self, question: Question) -> list[list[Source]]:
        """What each file group says, oldest first; groups that cannot have the keys are not opened."""
        asked = [(one, question) for one in self.slices]
        if question.keys is not None and self.slices:
            groups = file_group_indexes(question.keys, len(self.slices))
            asked = [
                (self.slices[int(index)], Question(keys=question.keys.filter(pa.array(groups == index))))
                for index in np.unique(groups)
            ]
        # Each file group has its own entries in the caches, so no two tasks touch the same one.
        return self._tasks.run(self._task, asked, label="read the metadata table")

    def _task(self, _: TaskContext, asked: tuple[MetadataSlice, Question]) -> list[Source]:
        return self._of_slice(*asked)

    def _of_slice(self, one: MetadataSlice, question: Question) -> list[Source]:
        found: list[Source] = []
        if one.base_file is not None:
            reader = self._bases.get(one.file_id)
            if reader is None:
                reader = self._bases[one.file_id] = open_hfile(
                    self._storage, one.base_file, cache_bytes=self._cache_bytes
                )
            found.append(_of_reader(reader, question, None, self._storage.path_of(one.base_file.path)))
        for block in self._valid_blocks(one):
            if block.type is BlockType.DELETE:
                keys = question.of_deletes(delete_records(block).column("record_key"))
                found.append(Source(keys.cast(pa.large_binary()), None, "", block.path))
            else:
                found.append(_of_reader(self._block_reader(block), question, block, block.path))
        return found

    def _block_reader(self, block: LogBlock) -> HFileReader:
        key = (block.path, block.offset)
        if key not in self._readers:
            self._readers[key] = HFileReader.from_bytes(block.content, path=block.path, cache_bytes=self._cache_bytes)
        return self._readers[key]

    def _valid_blocks(self, one: MetadataSlice) -> list[LogBlock]:
        if one.file_id not in self._blocks:
            blocks = [
                block
                for status in one.log_files
                for block in read_blocks(self._storage.read(status.path), path=self._storage.path_of(status.path))
            ]
            check_all_there(self.name, one, blocks, self._instants)
            self._blocks[one.file_id] = _seen(blocks, self._instants.is_valid)
        return self._blocks[one.file_id]


def _of_reader(reader: HFileReader, question: Question, block: LogBlock | None, path: str) -> Source:
    keys, values = question.of_reader(reader)
    schema = reader.file_info.get(SCHEMA_KEY, b"").decode("utf-8", "replace")
    if block is not None:
        schema = block.header.get(HeaderKey.SCHEMA, schema)
    return Source(keys, values, schema, path)


def _seen(blocks: Sequence[LogBlock], is_valid: Callable[[str], bool]) -> list[LogBlock]:
    """Data and delete blocks that count, in their order."""
    seen: list[LogBlock] = []
    for block in blocks:
        if block.type is BlockType.CORRUPT:
            continue
        time = block.instant_time
        if time is None:
            raise CorruptFileError(
                f"The block at byte {block.offset} of {block.path} does not say which action wrote it.", rule="LF-006"
            )
        if block.type is BlockType.COMMAND:
            target = block.header.get(HeaderKey.TARGET_INSTANT_TIME)
            seen = [one for one in seen if one.instant_time != target]
        elif block.type in (BlockType.HFILE_DATA, BlockType.DELETE):
            if is_valid(time):
                seen.append(block)
        else:
            raise CorruptFileError(
                f"The block at byte {block.offset} of {block.path} is of type {block.type.name}, which the metadata "
                "table does not have.",
                rule="MT-001",
            )
    return seen
