"""Tries one input, and says how it ended."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path

from drawstring.errors import DrawstringError

from .limits import Meter, ran_out_of_memory
from .target import Answer, Damaged, Target

_PACKAGE = "drawstring"


@dataclass(frozen=True)
class Verdict:
    """How one input ended.

    Attributes:
        outcome: class of the named error, ``same answer`` or ``other answer``.
        finding: what is wrong, in words; None where nothing is.
        signature: alike for findings that are probably one; empty without a finding.

    """

    outcome: str
    finding: str | None = None
    signature: str = ""


def try_input(target: Target, damaged: Damaged, before: Answer | None, meter: Meter, *, judged: bool = True) -> Verdict:
    """Read one input, and judge how that ended.

    Args:
        target: its format.
        damaged: the input.
        before: the whole file's answer; None where it is not known.
        meter: of memory and time.
        judged: whether the format's judge may tell from the answer that something is wrong.

    """
    meter.start()
    try:
        answer = target.read(damaged.content)
    except DrawstringError as error:
        if ran_out_of_memory(error):
            return Verdict("finding", f"an allocation failed: {error}", f"memory {_place(error)}")
        outcome = type(error).__name__
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 -- a panic of Rust is no Exception, and any of them is a finding
        text = "".join(traceback.format_exception(error)[-6:])
        return Verdict("finding", f"{type(error).__name__}: {text}"[-3000:], f"{type(error).__name__} {_place(error)}")
    else:
        outcome = "same answer" if answer == before else "other answer"
        wrong = target.judge(damaged, before, answer) if before is not None and judged else None
        if wrong is not None:
            return Verdict("finding", wrong, wrong)
    complaint = meter.complaint(len(damaged.content))
    if complaint is not None:
        return Verdict("finding", complaint, "too much")
    return Verdict(outcome)


def _place(error: BaseException) -> str:
    """The innermost line of the package that an error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f"/{_PACKAGE}" in f.filename] or list(frames)
    return f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours else ""
