"""Options: typed, checked, and refused by name where they are not honoured.

Whose duty: `Options.parse` turns what a caller gave into typed values with defaults and refuses what is
unknown, not honoured or contradictory, before anything is touched. The table of options is
`drawstring.option_registry`.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

from drawstring.errors import OptionError
from drawstring.option_registry import FILE_SYSTEM_LOCK, IN_PROCESS_LOCK, KEY_GENERATOR_CLASSES, OPTION_SPECS
from drawstring.option_spec import OptionSpec, OptionValue

__all__ = ["FILE_SYSTEM_LOCK", "IN_PROCESS_LOCK", "OPTIONS", "OptionSpec", "Options", "render_markdown"]

OPTIONS: Final[Mapping[str, OptionSpec]] = {spec.key: spec for spec in OPTION_SPECS}
_BY_ANY_KEY: Final = {key: spec for spec in OPTION_SPECS for key in (spec.key, *spec.aliases)}
_SEE_REFERENCE: Final = "The options that are honoured are listed in docs/reference/options.md."
_MINUTE_MS: Final = 60_000


class Options(Mapping[str, Any]):
    """Typed values of all options: those that were given, and the defaults of the others.

    ``options[key]`` is a ``bool``, ``int``, ``float``, ``str`` or None, as the option's entry says; an
    unknown key is a `KeyError`, since only our own code looks options up. `given` names what the caller set.
    """

    __slots__ = ("_values", "given")

    def __init__(self, values: Mapping[str, OptionValue], given: frozenset[str]) -> None:
        self._values = dict(values)
        self.given = given

    @classmethod
    def parse(cls, raw: Mapping[str, object] | None = None) -> Self:
        """Check and convert options.

        Args:
            raw: values by key; texts as Java Hudi takes them, or Python values of the option's type.

        Raises:
            OptionError: a key is unknown, a value is not of the option's type or not honoured, or two options
                contradict each other.

        """
        given: dict[str, OptionValue] = {}
        if raw is not None and not isinstance(raw, Mapping):
            raise OptionError(f"The options are a {type(raw).__name__}.", way_out="Pass a dictionary: values by key.")
        for key, value in (raw or {}).items():
            spec = _find_spec(key)
            typed = _typed(spec, key, value)
            if spec.key in given and given[spec.key] != typed:
                raise OptionError(
                    f"Option {key!r} is given twice, once under another name, as {given[spec.key]!r} and {typed!r}.",
                    way_out=f"Give only {spec.key!r}.",
                )
            given[spec.key] = typed
        values = {spec.key: given.get(spec.key, spec.default) for spec in OPTION_SPECS}
        _derive(values, given)
        return cls(values, frozenset(given))

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Options({ {key: self._values[key] for key in sorted(self.given)} })"

    def updated(self, raw: Mapping[str, object]) -> Self:
        """Put others on top of these options; raises as `parse`."""
        return type(self).parse({**{key: self._values[key] for key in sorted(self.given)}, **raw})


def _find_spec(key: str) -> OptionSpec:
    spec = _BY_ANY_KEY.get(key)
    if spec is None:
        if not isinstance(key, str):
            raise OptionError(f"The options have the key {key!r}, which is no text.", way_out=_SEE_REFERENCE)
        near = difflib.get_close_matches(key, sorted(_BY_ANY_KEY), n=1, cutoff=0.75)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise OptionError(
            f"Option {key!r} is not honoured by drawstring.", rule="WR-012", way_out=hint + _SEE_REFERENCE
        )
    return spec


def _typed(spec: OptionSpec, key: str, value: object) -> OptionValue:
    typed = _converted(spec, key, value)
    if spec.allowed:
        typed = _allowed(spec, key, typed)
    if spec.minimum is not None and isinstance(typed, int | float) and typed < spec.minimum:
        raise OptionError(f"Option {key!r} has the value {value!r}.", way_out=f"Its least value is {spec.minimum:g}.")
    return typed


def _converted(spec: OptionSpec, key: str, value: object) -> OptionValue:
    text = str(value).strip()
    if spec.kind is bool:
        if text.lower() in {"true", "false"}:
            return text.lower() == "true"
    elif spec.kind is str:
        if isinstance(value, str) and text:
            return text
    elif not isinstance(value, bool):
        try:
            number = spec.kind(text)
        except ValueError:
            number = None
        if isinstance(number, int | float) and math.isfinite(number):
            return number
    raise OptionError(
        f"Option {key!r} has the value {value!r}.",
        way_out={
            bool: "It must be true or false.",
            int: "It must be a whole number.",
            float: "It must be a number.",
            str: "It must be a text that is not empty.",
        }[spec.kind],
    )


def _allowed(spec: OptionSpec, key: str, typed: OptionValue) -> OptionValue:
    for allowed in spec.allowed:
        if typed == allowed:
            return allowed
        if isinstance(allowed, str) and isinstance(typed, str):
            short = allowed.rpartition(".")[2] if "." in allowed else allowed
            if typed.lower() in {allowed.lower(), short.lower()}:
                return allowed
    choices = ", ".join(_shown(allowed) for allowed in spec.allowed)
    raise OptionError(
        f"Option {key!r} has the value {_shown(typed)}, which is not honoured.",
        rule="WR-012",
        way_out=f"Honoured: {choices}.",
    )


def _shown(value: OptionValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _derive(values: dict[str, OptionValue], given: Mapping[str, OptionValue]) -> None:
    """Fill the defaults in that follow from other options, and refuse contradictions."""
    optimistic = values["hoodie.write.concurrency.mode"] == "OPTIMISTIC_CONCURRENCY_CONTROL"
    policy = "hoodie.clean.failed.writes.policy"
    if optimistic and given.get(policy) == "EAGER":
        raise OptionError(
            f"Option {policy!r} is EAGER under OPTIMISTIC_CONCURRENCY_CONTROL: a writer would roll back the "
            "work of another one that is still alive.",
            way_out="Set it to LAZY, or leave it out.",
        )
    _default(values, policy, "LAZY" if optimistic else "EAGER")
    _default(values, "hoodie.write.lock.provider", FILE_SYSTEM_LOCK if optimistic else IN_PROCESS_LOCK)
    _default(values, "drawstring.write.key.conflict.check", optimistic)
    _derive_lock_ttl(values, given)
    _derive_key_generator(values, given)


def _default(values: dict[str, OptionValue], key: str, value: OptionValue) -> None:
    if values[key] is None:
        values[key] = value


def _derive_lock_ttl(values: dict[str, OptionValue], given: Mapping[str, OptionValue]) -> None:
    ttl_key, expire_key = "drawstring.write.lock.ttl.ms", "hoodie.write.lock.filesystem.expire"
    expire_minutes = given.get(expire_key)
    if not isinstance(expire_minutes, int):
        return
    expire_ms = expire_minutes * _MINUTE_MS
    if given.get(ttl_key, expire_ms) != expire_ms:
        raise OptionError(
            f"Options {ttl_key!r} ({given[ttl_key]} ms) and {expire_key!r} ({expire_minutes} min) contradict "
            "each other.",
            way_out="Give only one of them.",
        )
    values[ttl_key] = expire_ms


def _derive_key_generator(values: dict[str, OptionValue], given: Mapping[str, OptionValue]) -> None:
    type_key, class_key = (
        "hoodie.datasource.write.keygenerator.type",
        "hoodie.datasource.write.keygenerator.class",
    )
    class_name = given.get(class_key)
    if not isinstance(class_name, str):
        return
    of_class = KEY_GENERATOR_CLASSES[class_name]
    if given.get(type_key, of_class) != of_class:
        raise OptionError(
            f"Options {type_key!r} ({given[type_key]}) and {class_key!r} ({class_name}) contradict each other.",
            way_out="Give only one of them.",
        )
    values[type_key] = of_class


_USED_BY_TITLES: Final = {
    "create": "While a table is created",
    "write": "Writing",
    "read": "Reading",
    "format": 'Only `format("drawstring")`, where arguments cannot be passed',
}


def render_markdown() -> str:
    """Render the reference page of all options, as Markdown."""
    lines = [
        "# Options",
        "",
        "Every option that drawstring honours. Any other key is refused by name. Keys under `hoodie.` mean",
        "what they mean in Java Hudi; where a default differs, the text says why. Generated from",
        "`drawstring.option_registry`.",
    ]
    for used_by, title in _USED_BY_TITLES.items():
        specs = [spec for spec in OPTION_SPECS if spec.used_by == used_by]
        if not specs:
            continue
        lines += ["", f"## {title}", "", "| option | type | default | meaning |", "|---|---|---|---|"]
        lines += [_markdown_row(spec) for spec in specs]
    return "\n".join(lines) + "\n"


def _markdown_row(spec: OptionSpec) -> str:
    doc = spec.doc
    if spec.allowed:
        doc += " One of " + ", ".join(f"`{_shown(value)}`" for value in spec.allowed) + "."
    if spec.aliases:
        doc += " Also called " + ", ".join(f"`{alias}`" for alias in spec.aliases) + "."
    default = "" if spec.default is None else f"`{_shown(spec.default)}`"
    return f"| `{spec.key}` | {spec.kind.__name__} | {default} | {doc} |"
