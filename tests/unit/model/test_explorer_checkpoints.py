"""A search that was put aside goes on as if it had not been; a file that is no such search is refused."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import pytest

from drawstring_model.compact import checkpoint as files
from drawstring_model.compact.checkpoint import NotACheckpointError, read_checkpoint
from drawstring_model.compact.encoding import digest
from drawstring_model.compact.search import Effort, Search
from drawstring_model.compact.symmetry import Symmetry
from drawstring_model.config import Bounds, ConcurrencyControl, Config, upsert
from drawstring_model.explorer import explore

CONFIG = Config(concurrency=ConcurrencyControl.NONE, bounds=Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0))
FAULTY = Config(bounds=replace(CONFIG.bounds, workload=(upsert(1),), faults=1, renewals=1))
MAGIC = b"drawstring model checkpoint 1\n"


def found(exploration):
    lengths = {promise: len(example.moves) for promise, example in exploration.counterexamples.items()}
    return exploration.states, exploration.transitions, exploration.depth, exploration.exhausted, lengths


@pytest.fixture
def file(tmp_path):
    """A search of `CONFIG` that was put aside after some levels."""
    path = tmp_path / "search"
    Search(CONFIG, max_states=150, effort=Effort(checkpoint=path)).run()
    return path


def gone_on(path, **more):
    saved = read_checkpoint(path)
    return Search(saved.config, symmetry=saved.symmetry, **more).go_on(saved)


@pytest.mark.parametrize("config", [CONFIG, FAULTY])
@pytest.mark.parametrize("states", [1, 50, 200, 350])
def test_a_search_that_was_put_aside_finds_what_one_in_one_piece_finds(config, states, tmp_path):
    path = tmp_path / "search"
    Search(config, max_states=states, effort=Effort(checkpoint=path)).run()

    assert found(gone_on(path)) == found(explore(config))


def test_a_search_under_symmetry_goes_on_under_symmetry(tmp_path):
    path, symmetry = tmp_path / "search", Symmetry(writers=True)
    Search(CONFIG, symmetry=symmetry, max_states=150, effort=Effort(checkpoint=path)).run()

    assert found(gone_on(path)) == found(Search(CONFIG, symmetry=symmetry).run())


def test_a_search_that_came_to_its_end_has_nothing_to_go_on_with(tmp_path):
    path = tmp_path / "search"
    whole = Search(CONFIG, effort=Effort(checkpoint=path)).run()

    assert read_checkpoint(path).front == []
    assert found(gone_on(path)) == found(whole)


def test_a_checkpoint_is_written_each_time_so_many_states_are_new(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(
        "drawstring_model.compact.search.write_checkpoint", lambda saved, _: written.append(saved.depth)
    )

    Search(CONFIG, effort=Effort(checkpoint=tmp_path / "search", checkpoint_states=100)).run()

    assert 3 <= len(written) <= 6
    assert written == sorted(set(written))


def test_a_checkpoint_of_another_configuration_is_refused(file):
    with pytest.raises(NotACheckpointError, match="another configuration"):
        Search(FAULTY).go_on(read_checkpoint(file))


def test_a_checkpoint_of_another_version_of_the_model_is_refused(file, monkeypatch):
    monkeypatch.setattr(files, "fingerprint", lambda: "another")

    with pytest.raises(NotACheckpointError, match="another version"):
        read_checkpoint(file)


@pytest.mark.parametrize("position", [40, 500, -20, -1])
def test_a_damaged_checkpoint_is_refused(file, position):
    content = bytearray(file.read_bytes())
    content[position] ^= 1
    file.write_bytes(content)

    with pytest.raises(NotACheckpointError, match="damaged"):
        read_checkpoint(file)


@pytest.mark.parametrize("length", [0, 10, 30, 60, 1_000])
def test_a_checkpoint_that_is_cut_off_is_refused(file, length):
    file.write_bytes(file.read_bytes()[:length])

    with pytest.raises(NotACheckpointError):
        read_checkpoint(file)


def rewritten(path, change):
    """The checkpoint with its header and front changed, and a check that fits."""
    body = path.read_bytes()[len(MAGIC) : -16]
    length = int.from_bytes(body[:8], "little")
    header, rest = json.loads(body[8 : 8 + length]), body[8 + length :]
    sections = []
    for size in header["sections"]:
        sections.append(zlib.decompress(rest[:size]))
        rest = rest[size:]
    front = json.loads(sections[-1])
    change(header, front)
    sections[-1] = json.dumps(front).encode()
    packed = [zlib.compress(section) for section in sections]
    header["sections"] = [len(each) for each in packed]
    head = json.dumps(header).encode()
    content = b"".join([MAGIC, len(head).to_bytes(8, "little"), head, *packed])
    path.write_bytes(content + digest(content))


def test_a_checkpoint_that_is_rewritten_without_a_change_is_accepted(file):
    rewritten(file, lambda header, front: None)

    assert found(gone_on(file)) == found(explore(CONFIG))


CHANGES = {
    "a state of the front has another number": lambda header, front: front["states"][0].__setitem__(0, 0),
    "a number is that of no state": lambda header, front: front["states"][0].__setitem__(0, 10**9),
    "a number is negative": lambda header, front: front["states"][0].__setitem__(1, -1),
    "a world has too few fields": lambda header, front: front["worlds"][0].pop(),
    "a field is a class from elsewhere": lambda header, front: front["fields"].__setitem__(0, {"kind": "os:system"}),
    "a section is missing": lambda header, front: front.pop("memories"),
    "the configuration is none": lambda header, front: header.__setitem__("config", {}),
    "a bound is enormous": lambda header, front: header["config"]["bounds"].__setitem__("writers", 10**9),
    "a promise is none": lambda header, front: header.__setitem__("broken", {"no": [0, None]}),
    "a broken promise is in no state": lambda header, front: header.__setitem__("broken", {"index agrees": [-1, None]}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_that_was_made_up_is_refused(file, change):
    rewritten(file, CHANGES[change])

    with pytest.raises(NotACheckpointError):
        gone_on(file)


def test_a_section_grows_no_further_than_zlib_can_have_made_it_small():
    bomb = zlib.compress(b"\0" * 10_000_000)

    (section,) = files._unpacked(bomb, [len(bomb)])

    assert len(section) <= 1_100 * len(bomb)
