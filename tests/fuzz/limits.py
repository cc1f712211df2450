"""What one input may take: memory that was touched, memory that was asked for, processor time. Linux only."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from pathlib import Path

TOUCHED_BYTES = 256 * 1024 * 1024
"""More than that, beside `PER_INPUT_BYTE` for each byte of an input, is a finding."""

PER_INPUT_BYTE = 64
RESERVED_BYTES = 1024 * 1024 * 1024
"""Growth of the address space by one input that is a finding."""

ADDRESS_SPACE_BYTES = 4 * 1024 * 1024 * 1024
"""Beyond what the process has when it starts on inputs: allocations fail there."""

CPU_S = 5.0

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def limit_address_space() -> None:
    """Let allocations fail that a hostile file may cause, before the machine suffers."""
    limit = _status("VmSize") + ADDRESS_SPACE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _status(name: str) -> int:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


@dataclass
class Meter:
    """Measures one input after the other."""

    resident: int = 0
    reserved: int = 0
    started_s: float = 0.0

    def start(self) -> None:
        _CLEAR.write_text("5", encoding="ascii")  # the peak of what is resident begins anew
        self.resident, self.reserved = _status("VmRSS"), _status("VmPeak")
        self.started_s = time.process_time()

    def complaint(self, input_bytes: int) -> str | None:
        """What was too much, since `start`; None where nothing was."""
        cpu_s = time.process_time() - self.started_s
        touched, reserved = _status("VmHWM") - self.resident, _status("VmPeak") - self.reserved
        if touched > TOUCHED_BYTES + PER_INPUT_BYTE * input_bytes:
            return f"it touched {touched >> 20} MiB"
        if reserved > RESERVED_BYTES:
            return f"it asked for {reserved >> 20} MiB of address space"
        return f"it took {cpu_s:.1f} s of processor time" if cpu_s > CPU_S else None


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation failed on the way to this error, even where it became a named one."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError):  # pyarrow's own is one, too
            return True
        seen = seen.__cause__ or seen.__context__
    return False
