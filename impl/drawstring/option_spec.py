"""One option as data. The table of all of them is `drawstring.option_registry`."""

from __future__ import annotations

from dataclasses import dataclass

OptionValue = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option.

    Attributes:
        key: as in Java Hudi, or below ``drawstring.``.
        kind: ``bool``, ``int``, ``float`` or ``str``; texts are converted to it.
        default: value where the option is not given; None where it follows from others (`doc` says how) or
            is unset.
        doc: what it does, with units.
        used_by: ``create`` (only while a table is created), ``write``, ``read`` or ``format`` (Spark's
            ``format("drawstring")``, where nothing but options can be passed).
        allowed: the values that are honoured; empty where any value of the kind is. Texts are matched without
            regard to case and take the spelling given here.
        minimum: least value of a number.
        aliases: older keys of the same option.

    """

    key: str
    kind: type
    default: OptionValue
    doc: str
    used_by: str = "write"
    allowed: tuple[OptionValue, ...] = ()
    minimum: float | None = None
    aliases: tuple[str, ...] = ()
