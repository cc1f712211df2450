"""Java Properties text, in which a table keeps its properties, and the checksum of a table's name.

Source: Java ``Properties.load`` and ``Properties.store``, ``HoodieTableConfig``. Pure text to values and back; the
keys and their meaning are in `drawstring_spec.table_properties`. Whose duty it is to replace the file safely: the
implementation's (``drawstring.table_config``).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping

from drawstring_spec.errors import FormatError
from drawstring_spec.table_properties import TABLE_PROPERTIES, PropertyKind, TableProperty

__all__ = [
    "TABLE_PROPERTIES",
    "PropertyKind",
    "TableProperty",
    "format_properties",
    "parse_properties",
    "table_checksum",
]

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANKS = " \t\f"
_SEPARATORS = "=:"
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.?))", re.DOTALL)
_LETTER_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_CHARACTER_ESCAPES = {character: f"\\{letter}" for letter, character in _LETTER_ESCAPES.items()} | {
    character: f"\\{character}" for character in "\\=:#!"
}


def parse_properties(text: bytes) -> dict[str, str]:
    r"""Read Java Properties text.

    ISO-8859-1 with ``\uXXXX``; ``=``, ``:`` or blanks between key and value; lines continued by a backslash;
    comments behind ``#`` or ``!``; the last of several equal keys counts.

    Args:
        text: content of the file.

    Returns:
        Key to value, in the order of the file.

    Raises:
        FormatError: a broken ``\u`` escape, half of a surrogate pair, or a NUL byte (the file was cut or is no text).

    """
    if b"\0" in text:
        raise FormatError(
            "The properties hold a NUL byte: the file is cut off or is no text.",
            rule="PR-001",
            way_out="Look at hoodie.properties.backup.",
        )
    values: dict[str, str] = {}
    for line in _logical_lines(text.decode("iso-8859-1")):
        key, value = _split(line)
        values[_unescape(key)] = _unescape(value)
    return values


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the lines that are neither blank nor comments, leading blanks off, continuations joined."""
    parts: list[str] = []
    for natural_line in _LINE_END.split(text):
        line = natural_line.lstrip(_BLANKS)
        if not parts and (not line or line[0] in "#!"):
            continue
        if _is_continued(line):
            parts.append(line[:-1])
            continue
        yield "".join([*parts, line])
        parts = []
    if parts:
        yield "".join(parts)


def _is_continued(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _split(line: str) -> tuple[str, str]:
    """Return key and value, still escaped: the key ends at the first separator or blank that is not escaped."""
    end = 0
    while end < len(line) and line[end] not in _BLANKS + _SEPARATORS:
        end += 2 if line[end] == "\\" else 1
    value = line[end:].lstrip(_BLANKS)
    if value[:1] and value[0] in _SEPARATORS:
        value = value[1:].lstrip(_BLANKS)
    return line[:end], value


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def replace(found: re.Match[str]) -> str:
        if found[1] is not None:
            return chr(int(found[1], 16))
        if found[2] == "u":
            raise FormatError(
                f"{text[found.start() : found.start() + 6]!r} in the properties is no \\uXXXX escape.", rule="PR-001"
            )
        return _LETTER_ESCAPES.get(found[2], found[2])

    replaced = _ESCAPE.sub(replace, text)
    try:
        return replaced.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError as error:
        raise FormatError(f"{text[:80]!r} in the properties holds half of a surrogate pair.", rule="PR-001") from error


def format_properties(values: Mapping[str, str], comments: Iterable[str] = ()) -> bytes:
    r"""Write Java Properties text, as Java does: ``key=value``, one per line, in the order given.

    Args:
        values: key to value.
        comments: lines that come first, each behind a ``#``; a line end inside one starts another comment.

    Returns:
        ASCII; other characters stand as ``\uXXXX``.

    """
    lines = [f"#{_escape_rest(line)}" for comment in comments for line in _LINE_END.split(comment)]
    lines += [f"{_escape(key, blanks=len(key))}={_escape(value, blanks=1)}" for key, value in values.items()]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _escape(text: str, *, blanks: int) -> str:
    """Escape a key (all of its blanks) or a value (a leading blank, which a reader would drop)."""
    escaped = (
        "\\ " if character == " " and index < blanks else _CHARACTER_ESCAPES.get(character, character)
        for index, character in enumerate(text)
    )
    return _escape_rest("".join(escaped))


def _escape_rest(text: str) -> str:
    """Write every character outside of printable ASCII as UTF-16 code units."""
    return "".join(c if " " <= c <= "~" else _code_units(c) for c in text)


def _code_units(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high << 8 | low:04X}" for high, low in zip(units[::2], units[1::2], strict=True))


def table_checksum(database: str, table: str) -> int:
    """Return ``hoodie.table.checksum``: the CRC-32 of ``<database>.<table>`` in UTF-8, unsigned.

    Args:
        database: the empty text where the table has none; the dot stays.
        table: name of the table.

    """
    return zlib.crc32(f"{database}.{table}".encode())
