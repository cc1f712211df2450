"""Whether JSON has the shape of an Avro schema, before anything takes it for one.

Source: Apache Avro specification, "Schema Declaration". Whose duty: schemas come out of files, so each node is looked
at once, here, and readers below may rely on it: types are where types belong, names are texts that every library can
take, each value takes at least a byte, and a schema does not grow beyond `MAX_TYPES` when references are followed.
None refers to itself: decoders in native code go down one call for each level, until the stack ends the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from drawstring.errors import FormatError

MAX_DEPTH: Final = 64
MAX_TYPES: Final = 100_000
"""Types in a schema with all references followed; tables have some thousand columns at most."""

_PRIMITIVES: Final = frozenset({"boolean", "int", "long", "float", "double", "bytes", "string"})
_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})
_FIRST_PRINTABLE: Final = " "


def check_avro(schema: Any) -> None:
    """Raise `FormatError` where JSON has not the shape of an Avro schema."""
    _Shape().size(schema, "", 0)


class _Shape:
    """Walks through a schema, and knows how many types each named one stands for."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    def size(self, avro: Any, namespace: str, depth: int) -> int:
        """Return how many types a schema has when all references are followed."""
        if depth > MAX_DEPTH:
            raise FormatError(f"An Avro schema is nested more than {MAX_DEPTH} levels deep.")
        if isinstance(avro, str):
            return self._name(avro, namespace)
        if isinstance(avro, list):
            branches = [(branch, namespace) for branch in avro if branch != "null"]
            return self._sum(branches, depth) if branches else _refuse("a union of nothing")
        if not isinstance(avro, Mapping):
            _refuse(f"{avro!r:.40}, which is no type")
        if avro.get("logicalType") is not None and not isinstance(avro["logicalType"], str):
            _refuse(f"a logical type {avro['logicalType']!r:.40}")
        kind = avro.get("type")
        if isinstance(kind, str) and kind in _NAMED:
            return self._named(kind, avro, namespace, depth)
        if kind == "array":
            return self._sum([(avro.get("items"), namespace)], depth)
        if kind == "map":
            return self._sum([(avro.get("values"), namespace)], depth)
        return self._sum([(kind, namespace)], depth)

    def _name(self, name: str, namespace: str) -> int:
        if name in _PRIMITIVES:
            return 1
        found = self._sizes.get(_full(name, namespace), self._sizes.get(name))
        return _refuse(f"a type {name!r:.80}, which is not defined before it") if found is None else found

    def _named(self, kind: str, avro: Mapping[str, Any], namespace: str, depth: int) -> int:
        name = _text(avro.get("name"), "a name")
        space = namespace if avro.get("namespace") is None else _text(avro["namespace"], "a namespace")
        full = _full(name, space)
        total = 1
        if kind == "enum":
            symbols = avro.get("symbols")
            if not isinstance(symbols, list) or not symbols:
                _refuse(f"an enum {name!r} without symbols")
            for symbol in symbols:
                _text(symbol, "a symbol")
        elif kind == "fixed":
            if not isinstance(avro.get("size"), int) or not 0 < avro["size"] < 2**31:
                _refuse(f"a fixed type of {avro.get('size')!r:.40} bytes")
        else:
            total = self._sum([(f.get("type"), full.rpartition(".")[0]) for f in _fields(avro, depth)], depth)
        self._sizes[full] = total
        return total

    def _sum(self, parts: list[tuple[Any, str]], depth: int) -> int:
        total = 1
        for part, namespace in parts:
            total += self.size(part, namespace, depth + 1)
            if total > MAX_TYPES:
                raise FormatError(f"An Avro schema has more than {MAX_TYPES} types.")
        return total


def _fields(record: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
    """Fields of a record; only the outermost one, that of a table without columns, may have none."""
    fields = record.get("fields")
    if not isinstance(fields, list) or (not fields and depth):
        _refuse(f"a record {record.get('name')!r:.40} without fields")
    if not all(isinstance(field, Mapping) for field in fields):
        _refuse("a field that is none")
    names = [_text(field.get("name"), "a field's name") for field in fields]
    if len(set(names)) != len(names):
        _refuse(f"a record {record.get('name')!r:.40} with two fields of one name")
    return fields


def _text(value: Any, what: str) -> str:
    """Return a name. Libraries end texts at a NUL, and none can write half of a surrogate pair."""
    if not isinstance(value, str) or not value:
        _refuse(f"{what} {value!r:.40}")
    if min(value) < _FIRST_PRINTABLE or any("\ud800" <= character <= "\udfff" for character in value):
        _refuse(f"{what} {value!r:.40}")
    return value


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _refuse(what: str) -> NoReturn:
    raise FormatError(f"An Avro schema of the table has {what}.")
