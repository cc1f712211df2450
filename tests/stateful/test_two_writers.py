"""Model and implementation side by side: Hypothesis decides who goes on at every port call, who dies and what is read.

Whatever happens is recorded and replayed into the model: after each change of the storage and each event the state
parsed from raw bytes must be the model's, and so must every reader's answer. ``HYPOTHESIS_PROFILE=explore`` looks
longer and elsewhere each time.
"""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from drawstring.errors import TimeTravelError
from drawstring_sim.client import EXPIRED_MS, HEARTBEAT_INTERVAL_MS, LOCK_TTL_MS, TOGETHER, TOLERABLE_MISSES, client
from drawstring_sim.clocks import ClockSettings
from drawstring_sim.judge import check_history, check_statistics_are_true, content_of
from drawstring_sim.kernel import ManualSchedule, SteadySchedule
from drawstring_sim.operations import Kind, Operation
from drawstring_sim.raw_state import read_raw_state
from drawstring_sim.recorder import Recorder
from drawstring_sim.refinement import Refinement
from drawstring_sim.table_driver import create_table, read_content
from drawstring_sim.world import World

WRITERS = st.sampled_from([0, 1])
KEYS = st.tuples(st.sampled_from(["d1", "d2"]), st.sampled_from(["a", "b", "c"]))
ROWS = st.dictionaries(KEYS, st.integers(0, 99), min_size=1, max_size=3)
KINDS = st.sampled_from([Kind.UPSERT, Kind.UPSERT, Kind.INSERT, Kind.DELETE, Kind.BULK_INSERT])


class TwoWriters(RuleBasedStateMachine):
    """Two writers on one table, each suspended at each of its port calls until a rule lets it go on."""

    def __init__(self):
        super().__init__()
        self.recorder = Recorder()
        self.world = World(ManualSchedule(), seed=3, recorder=self.recorder)
        self.attempts = []
        self.clocks = [ClockSettings(monotonic_start_ms=1_000_000), ClockSettings(monotonic_start_ms=7_000_000)]
        self.lives = 0
        self.clients = [self._born(0), self._born(1)]
        self.processes = [None, None]

    def _born(self, number):
        self.lives += 1
        name = f"w{number + 1}.{self.lives}"
        return client(self.world, name, TOGETHER, self.attempts, clock=self.clocks[number])

    @initialize()
    def a_table_is_there(self):
        founder = client(self.world, "founder", TOGETHER, self.attempts)
        create_table(founder.writer, founder.options)
        self.world.kernel.schedule = SteadySchedule()
        assert founder.run(Operation.of(Kind.BULK_INSERT, {("d1", "a"): 1, ("d2", "b"): 2})).succeeded
        self.world.kernel.schedule = ManualSchedule()

    @rule(turns=st.lists(st.tuples(WRITERS, st.sampled_from([1, 2, 4, 8, 30])), min_size=4, max_size=24))
    def both_go_on(self, turns):
        for number, calls in turns:
            for _ in range(calls):
                self._step(self.processes[number])
                self._beat(self.clients[number])

    @rule(kinds=st.tuples(KINDS, KINDS), rows=st.tuples(ROWS, ROWS))
    def both_begin(self, kinds, rows):
        for number in (0, 1):
            self._begin(number, kinds[number], rows[number])

    @rule(number=WRITERS, kind=KINDS, rows=ROWS)
    def a_writer_begins(self, number, kind, rows):
        self._begin(number, kind, rows)

    def _begin(self, number, kind, rows):
        if self.processes[number] is None or self.processes[number].ended:
            self.processes[number] = self.clients[number].start(Operation.of(kind, rows))
            self.world.kernel.settle()

    @rule(number=WRITERS, calls=st.sampled_from([3, 10, 25, 50, 100]))
    def a_writer_goes_on(self, number, calls):
        for _ in range(calls):
            if not self._step(self.processes[number]):
                break
            self._beat(self.clients[number])

    def _step(self, process):
        """One port call of a process; time passes where it sleeps. False where it has ended, or waits for a duty."""
        if process is None or process.ended:
            return False
        if not process.at_call:
            self.world.kernel.advance(10)
            return True
        self.world.kernel.resume(process)
        return True

    def _beat(self, handle):
        """Duties that are due run, too: they stall only where a rule says so."""
        for process in self.world.kernel.parked():
            if process.incarnation is handle.writer.incarnation and "/drawstring-" in process.name:
                self.world.kernel.resume(process)

    @rule(duration_ms=st.sampled_from([1, 100, 500]))
    def time_passes_and_duties_run(self, duration_ms):
        for _ in range(3):
            self.world.kernel.advance(duration_ms)
            for handle in self.clients:
                self._beat(handle)

    @rule(
        number=WRITERS,
        trouble=st.sampled_from(["death", "clock", "clock", "hang", "short hang", "none", "none", "none"]),
        by_ms=st.sampled_from([-3_600_000, -50, 50, 3_600_000]),
    )
    def trouble_comes(self, number, trouble, by_ms):
        if trouble == "clock":
            self.clocks[number].jump(by_ms)
        elif trouble == "hang":
            self.world.kernel.advance(12_000)
        elif trouble == "short hang":
            self.world.kernel.advance(5_000)
        elif trouble == "death" and self.processes[number] is not None and not self.processes[number].ended:
            self.world.kernel.crash(self.clients[number].writer.incarnation)
            self.world.kernel.settle()
            self.clients[number], self.processes[number] = self._born(number), None

    @rule(choice=st.integers(0, 5), newest=st.booleans())
    def a_reader_reads(self, choice, newest):
        raw = read_raw_state(self.world.disk.contents())
        times = sorted(raw.completed_commits)
        as_of = None if newest or not times else times[choice % len(times)]
        self.lives += 1
        name = f"reader{self.lives}"
        reader = client(self.world, name, TOGETHER, [])
        try:
            answer = read_content(reader.writer, reader.options, as_of)
        except TimeTravelError:
            assert any(i.requested_time <= as_of for i in raw.pending)
            return
        self.recorder.answered(name, as_of, answer, self.world.kernel.now_ms)
        assert answer == content_of(raw.snapshot(as_of))

    @invariant()
    def what_is_complete_is_whole(self):
        check_statistics_are_true(read_raw_state(self.world.disk.contents()))

    def teardown(self):
        try:
            self._finish()
        finally:
            self.world.close()

    def _finish(self):
        """Whoever lives goes on to the end; the last writer cleans up; then all of it is judged."""
        self.world.kernel.schedule = SteadySchedule()
        for process in self.world.kernel.parked():
            self.world.kernel.resume(process)
        self.world.kernel.run_until_ended(*(p for p in self.processes if p is not None))
        self.world.kernel.advance(EXPIRED_MS)
        last = client(self.world, "last", TOGETHER, self.attempts)
        attempt = last.run(Operation.of(Kind.UPSERT, {("d1", "a"): 100}))
        assert attempt.succeeded, attempt.error
        raw = read_raw_state(self.world.disk.contents())
        assert raw.pending == ()
        check_history(raw, self.attempts)
        Refinement(self.recorder, LOCK_TTL_MS, HEARTBEAT_INTERVAL_MS * TOLERABLE_MISSES).check()


TestTwoWriters = TwoWriters.TestCase
if os.environ.get("HYPOTHESIS_PROFILE", "ci") == "ci":
    TestTwoWriters.settings = settings(settings.get_profile("ci"), max_examples=120, stateful_step_count=40)
