"""Readers that do what no reader may, so that tests see that it is noticed."""

from __future__ import annotations

import os
import signal
import time

from .target import Answer, Target

_FILE = b"a file"


def _dies(content: bytes) -> Answer:
    if content != _FILE:
        os.kill(os.getpid(), signal.SIGSEGV)
    return ("the file",)


def _hangs(content: bytes) -> Answer:
    while content != _FILE:
        time.sleep(1)
    return ("the file",)


PLANTED = {
    "dies": Target("dies", lambda: [_FILE], _dies),
    "hangs": Target("hangs", lambda: [_FILE], _hangs),
}
