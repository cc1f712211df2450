"""The one hierarchy of errors: everything that drawstring raises on purpose is a `DrawstringError`.

An error names the thing (in its message), the rule (a requirement id of ``drawstring spec list``, where one
applies) and the way out (what the reader can do now).
"""

from __future__ import annotations


class DrawstringError(Exception):
    """Base of every error that drawstring raises on purpose.

    Args:
        message: names the thing that is wrong, with its value.
        rule: id of the requirement that is broken, such as ``"TL-004"``; None where no requirement applies.
        way_out: one sentence on what to do; None where nothing can be done.

    """

    def __init__(self, message: str, *, rule: str | None = None, way_out: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.rule = rule
        self.way_out = way_out

    def __str__(self) -> str:
        rule = f" [{self.rule}]" if self.rule else ""
        way_out = f" {self.way_out}" if self.way_out else ""
        return f"{self.message}{rule}{way_out}"

    def __reduce__(self) -> tuple[object, ...]:
        """Errors cross process borders (executor tasks), keyword arguments included."""
        return _rebuild, (type(self), self.message, self.rule, self.way_out, self.__dict__)


def _rebuild(
    cls: type[DrawstringError], message: str, rule: str | None, way_out: str | None, state: dict[str, object]
) -> DrawstringError:
    error = cls.__new__(cls)
    DrawstringError.__init__(error, message, rule=rule, way_out=way_out)
    error.__dict__.update(state)
    return error


class FormatError(DrawstringError):
    """A name, a property or a payload that does not follow the format."""


class IllegalTransitionError(DrawstringError):
    """An instant was asked to move between two states that the timeline does not connect."""


class UnsupportedQueryError(DrawstringError):
    """A reader that is judged by the conformance suite does not answer queries of this kind.

    It stands here, and not in the suite, so that an implementation can say so without importing the suite.
    """
