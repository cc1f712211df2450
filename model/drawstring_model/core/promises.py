"""What a promise is: a name, and a check that finds what is wrong with a world."""

from __future__ import annotations

from collections.abc import Callable

from drawstring_model.core.config import Config
from drawstring_model.core.state import World
from drawstring_model.promises import Promise as Promise  # noqa: PLC0414 - whoever checks one names it from here

Check = Callable[[World, Config], str | None]
"""What is wrong with a world, in one sentence; None where nothing is."""
StepCheck = Callable[[World, World, Config], str | None]
"""What is wrong with how one world became another."""
