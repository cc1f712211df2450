"""Fair measuring: contenders take turns, the median counts, and preparing a run is not part of it."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

Prepare = Callable[[], object]


@dataclass(frozen=True)
class Contender:
    """One side of a comparison.

    Attributes:
        name: of the side.
        run: what is timed; it takes what `prepare` returned.
        prepare: makes each run's input afresh, untimed.
        clean_up: takes each run's result away, untimed.

    """

    name: str
    run: Callable[..., object]
    prepare: Prepare = lambda: None
    clean_up: Callable[..., object] = lambda _: None


@dataclass
class Measurement:
    """One comparison.

    Attributes:
        section: where it belongs.
        title: what was done.
        seconds: every run's duration, by contender, the warm-up left out.
        cpu_seconds: processor time of the same runs, all threads of this process together; empty where it is not taken.
        ours: name of our side.
        baseline: name of the side that the target is about.
        target: what ours / baseline ought to be at most; None where there is no target.
        limit: what ours ought to be at most by itself, in `unit`; None where there is no limit.
        unit: of what was measured: ``s``, or ``MiB`` where `seconds` holds sizes.

    """

    section: str
    title: str
    ours: str
    baseline: str | None = None
    target: float | None = None
    limit: float | None = None
    unit: str = "s"
    seconds: dict[str, list[float]] = field(default_factory=dict)
    cpu_seconds: dict[str, list[float]] = field(default_factory=dict)

    def median(self, name: str) -> float:
        """Median duration of one side, in seconds."""
        return statistics.median(self.seconds[name])

    def ratio_to(self, name: str) -> float | None:
        """Ours / that side; None where it was not run, or took less than can be measured."""
        if name not in self.seconds or self.median(name) == 0:
            return None
        return self.median(self.ours) / self.median(name)

    @property
    def ratio(self) -> float | None:
        """Ours / baseline; None as in `ratio_to`, or where there is no baseline."""
        return None if self.baseline is None else self.ratio_to(self.baseline)

    def times_as_fast(self, *, by_cpu: bool = False) -> float | None:
        """Baseline / ours, of elapsed or of processor time; None where one of them was not measured."""
        taken = self.cpu_seconds if by_cpu else self.seconds
        if self.baseline not in taken or self.ours not in taken:
            return None
        return statistics.median(taken[self.baseline]) / max(statistics.median(taken[self.ours]), 1e-9)

    @property
    def is_reached(self) -> bool | None:
        """Whether the target, or the limit, is reached; None where there is none."""
        if self.limit is not None:
            return self.ours in self.seconds and self.median(self.ours) <= self.limit
        return None if self.ratio is None or self.target is None else self.ratio <= self.target

    def as_json(self) -> dict[str, object]:
        """All of it, with what follows from it."""
        medians = {name: self.median(name) for name in self.seconds}
        return {**asdict(self), "medians": medians, "ratio": self.ratio, "is_reached": self.is_reached}


def alternate(
    measurement: Measurement, contenders: Sequence[Contender], *, repeats: int, warm_ups: int = 1
) -> Measurement:
    """Let the contenders take turns `repeats` times, after `warm_ups` rounds that do not count."""
    for turn in range(-warm_ups, repeats):
        for contender in contenders:
            prepared = contender.prepare()
            gc.collect()
            started, cpu_started = time.perf_counter(), time.process_time()
            contender.run(prepared)
            elapsed_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started
            contender.clean_up(prepared)
            if turn >= 0:
                measurement.seconds.setdefault(contender.name, []).append(elapsed_s)
                measurement.cpu_seconds.setdefault(contender.name, []).append(cpu_s)
    return measurement
