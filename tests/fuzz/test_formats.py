"""The fixed part of fuzzing: what once was found, and hundreds of damaged inputs of each format."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from drawstring.errors import CorruptFileError
from fuzz import campaign, corpus
from fuzz.limits import Meter
from fuzz.minimise import minimise
from fuzz.mutators import damage
from fuzz.planted import PLANTED
from fuzz.target import Answer, Damaged, Target, all_is_told, cuts_are_told
from fuzz.targets import TARGETS
from fuzz.verdict import try_input

INPUTS = 300
FEWER_INPUTS = {"table": 40, "parquet": 150, "orc": 20, "parquet_pages": 150}
SEED = 2024
SOMETHING = b"a format of some bytes"


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_end_in_a_named_error_or_in_rows_within_bounds(name):
    kept = len(corpus.load(name))
    count = FEWER_INPUTS.get(name, INPUTS) + kept

    tally = campaign.run(TARGETS[name], seed=SEED, first=-kept, count=count)

    found = [f"input {f.number}: {f.verdict.finding}" for f in tally.findings.values()]
    assert not found, "\n".join(found)
    assert tally.total == count


def verdict_of(read, *, before: Answer | None = None, **options: object):
    target = Target("planted", lambda: [SOMETHING], read, **options)
    return try_input(target, Damaged(SOMETHING, SOMETHING[:-1]), before, Meter())


def test_an_error_without_a_name_is_a_finding():
    def read(_: bytes) -> Answer:
        raise KeyError("length")

    assert "KeyError" in str(verdict_of(read).finding)


def test_a_named_error_is_none():
    def read(_: bytes) -> Answer:
        raise CorruptFileError("It is damaged.")

    assert verdict_of(read).finding is None


def test_a_failed_allocation_behind_a_named_error_is_a_finding():
    def read(_: bytes) -> Answer:
        try:
            bytearray(2**62)
        except MemoryError as error:
            raise CorruptFileError("It is damaged.") from error
        return ()

    assert "allocation" in str(verdict_of(read).finding)


def test_memory_that_a_few_bytes_cause_is_a_finding():
    assert "MiB" in str(verdict_of(lambda _: (str(len(b"x" * 2**29)),)).finding)


def test_address_space_that_is_never_touched_is_a_finding():
    assert "MiB" in str(verdict_of(lambda _: (str(np.empty(2**32, np.uint8).nbytes),)).finding)


@pytest.mark.parametrize("judge", [cuts_are_told, all_is_told])
def test_an_answer_of_a_file_without_its_end_is_a_finding(judge):
    assert verdict_of(lambda _: ("one row",), before=("two rows",), judge=judge).finding


def test_the_same_seed_damages_in_the_same_way():
    assert damage(SOMETHING, Random("1"), [SOMETHING]) == damage(SOMETHING, Random("1"), [SOMETHING])


def test_what_fails_is_made_as_small_as_it_fails():
    assert minimise(b"aaaa!aaaa", lambda content: b"!" in content) == b"!"


@pytest.mark.parametrize(("name", "hang_s", "words"), [("dies", 60, "Segmentation"), ("hangs", 3, "hang")])
def test_an_input_that_ends_or_stops_its_process_is_a_finding_and_the_next_one_is_tried(name, hang_s, words):
    tally = campaign.run(PLANTED[name], seed=SEED, first=0, count=2, hang_s=hang_s)

    assert tally.counts["finding"] == 2
    assert words in str(next(iter(tally.findings.values())).verdict.finding)
