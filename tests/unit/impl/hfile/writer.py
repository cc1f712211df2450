"""A small HFile writer for tests, after the layout that Hudi's files have (single-level or two-level index)."""

from __future__ import annotations

import gzip
import struct
import zlib

import google_crc32c

from drawstring_spec.hfile_format import Codec

CHECKSUM_EVERY = 2**30


def full_key(row: bytes) -> bytes:
    return struct.pack(">H", len(row)) + row + b"\x00" + struct.pack(">q", 2**63 - 1) + b"\x04"


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def hadoop_vint(value: int) -> bytes:
    if value <= 127:
        return bytes([value])
    body = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return struct.pack(">b", -112 - len(body)) + body


class HFileWriter:
    def __init__(
        self,
        *,
        codec: Codec = Codec.GZ,
        block_bytes: int = 64 * 1024,
        leaf_entries: int = 0,
        checksum_type: int = 2,
        checksum_every: int = CHECKSUM_EVERY,
    ) -> None:
        self.checksum_type, self.checksum_every = checksum_type, checksum_every
        self.out = bytearray()
        self.codec, self.block_bytes, self.leaf_entries = codec, block_bytes, leaf_entries
        self.uncompressed = 0

    def block(self, magic: bytes, content: bytes) -> tuple[int, int]:
        data = gzip.compress(content, 1, mtime=0) if self.codec is Codec.GZ else content
        offset = len(self.out)
        every, kind = self.checksum_every, self.checksum_type
        count = -(-(33 + len(data)) // every)
        head = struct.pack(">8siiqbii", magic, len(data) + 4 * count, len(content), -1, kind, every, 33 + len(data))
        stored = head + data
        pieces = [stored[i : i + every] for i in range(0, len(stored), every)]
        checksum = {0: lambda piece: 0, 1: zlib.crc32, 2: google_crc32c.value}[kind]
        self.out += stored + b"".join(struct.pack(">I", checksum(piece)) for piece in pieces)
        self.uncompressed += 33 + len(content)
        return offset, len(self.out) - offset

    def root(self, entries: list[tuple[bytes, int, int]]) -> bytes:
        return b"".join(struct.pack(">qi", o, s) + hadoop_vint(len(k)) + k for k, o, s in entries)

    def write(
        self,
        entries: dict[bytes, bytes],
        *,
        meta: dict[str, bytes] | None = None,
        info: dict[bytes, bytes] | None = None,
    ) -> bytes:
        index, chunk, first, size = [], [], None, 0
        rows = sorted(entries)
        for row in rows:
            key = full_key(row)
            chunk.append(struct.pack(">ii", len(key), len(entries[row])) + key + entries[row] + b"\x00")
            size += len(chunk[-1])
            first = first or row
            if size >= self.block_bytes or row == rows[-1]:
                index.append((full_key(first), *self.block(b"DATABLK*", b"".join(chunk))))
                chunk, first, size = [], None, 0
        levels = 1
        if self.leaf_entries:
            levels = 2
            leaves = [index[i : i + self.leaf_entries] for i in range(0, len(index), self.leaf_entries)]
            index = [(leaf[0][0], *self.block(b"IDXLEAF2", leaf_content(leaf))) for leaf in leaves]
        metas = [(n.encode(), *self.block(b"METABLKc", c)) for n, c in sorted((meta or {}).items())]
        load_on_open = len(self.out)
        self.block(b"IDXROOT2", self.root(index))
        self.block(b"IDXROOT2", self.root(metas))
        pairs = {b"MAX_MEMSTORE_TS_KEY": struct.pack(">q", 0), **(info or {})}
        message = b"".join(field(1, field(1, k) + field(2, v)) for k, v in sorted(pairs.items()))
        info_offset, _ = self.block(b"FILEINF2", b"PBUF" + varint(len(message)) + message)
        trailer = b"".join(
            field(n, v)
            for n, v in {
                1: info_offset,
                2: load_on_open,
                4: self.uncompressed,
                5: len(index),
                6: len(metas),
                7: len(entries),
                8: levels,
                12: int(self.codec),
            }.items()
        )
        body = b'TRABLK"$' + varint(len(trailer)) + trailer
        self.out += body + b"\x00" * (4092 - len(body)) + b"\x03\x00\x00\x03"
        return bytes(self.out)


def leaf_content(entries: list[tuple[bytes, int, int]]) -> bytes:
    bodies = [struct.pack(">qi", o, s) + k for k, o, s in entries]
    starts = [0]
    for body in bodies:
        starts.append(starts[-1] + len(body))
    return struct.pack(f">{len(starts) + 1}i", len(bodies), *starts) + b"".join(bodies)
