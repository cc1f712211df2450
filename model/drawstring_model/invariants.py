"""What the protocol on a copy-on-write table promises: the core's promises and its modules', together."""

from __future__ import annotations

from drawstring_model.config import COPY_ON_WRITE
from drawstring_model.core.invariants import STEP_PROPERTIES
from drawstring_model.core.promises import Promise
from drawstring_model.core.protocol import Protocol

__all__ = ["INVARIANTS", "STEP_PROPERTIES", "Promise"]

INVARIANTS = Protocol(COPY_ON_WRITE).invariants()
"""What must be true of every state."""
