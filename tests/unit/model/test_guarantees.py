"""The pages of the promises tell what the explorer finds, and what they say can be typed in."""

from __future__ import annotations

import shlex

import pytest
from typer.testing import CliRunner

from drawstring_model import guarantees, planted
from drawstring_model.commands import app
from drawstring_model.config import Bounds, Config, PlantedBug, upsert
from drawstring_model.guarantees import SWITCHED_OFF, Break, breaks, command_line, rendered_guarantee, rendered_list
from drawstring_model.invariants import Promise
from drawstring_model.narrate import narrate

CALM = Bounds(workload=(upsert(1), upsert(2)), groups=1, faults=0)
PLANTED = breaks([(PlantedBug.SKIP_CONFLICT_CHECK, Promise.NO_LOST_UPDATE, Config(bounds=CALM))])


def typed(command):
    """The exit status and what is printed when `command` is typed."""
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:2] == ["drawstring", "model"]
    result = CliRunner().invoke(app, words[2:], env={"COLUMNS": "200"})
    return result.exit_code, result.output


def test_a_page_tells_the_shortest_history_that_the_explorer_finds():
    page = rendered_guarantee(Promise.NO_LOST_UPDATE, PLANTED[:1])
    example, _ = guarantees.shortest_history(PLANTED[0].config, Promise.NO_LOST_UPDATE)

    assert "\n".join(narrate(example, PLANTED[0].config)) in page
    assert "Off: `SKIP_CONFLICT_CHECK`. File groups are not compared before completion." in page


def test_the_soonest_of_several_is_told_and_the_others_are_listed():
    page = rendered_guarantee(Promise.NO_LOST_UPDATE, PLANTED)

    assert "Off: `--lock none`." in page
    assert "| `SKIP_CONFLICT_CHECK` | File groups are not compared before completion. | 25 steps |" in page


def test_a_history_that_takes_too_long_is_left_out_by_name(monkeypatch):
    monkeypatch.setattr(guarantees, "MOST_STATES", 5)
    slow = Break(Promise.NO_LOST_UPDATE, "SLOW", "It is slow.", Config(bounds=CALM, planted=PlantedBug.NO_FENCING))

    page = rendered_guarantee(Promise.NO_LOST_UPDATE, [slow])

    assert page.endswith("What breaks it (`SLOW`) takes longer to find than a page should; see the tests.\n")


def test_the_list_has_a_line_for_each_promise_that_something_breaks():
    listed = [line for line in rendered_list(PLANTED).splitlines() if line.startswith("| [")]

    assert len(listed) == len({each.promise for each in PLANTED})


@pytest.mark.parametrize("broken", [*PLANTED], ids=lambda broken: broken.name)
def test_what_a_page_says_to_type_finds_a_history_as_long(broken):
    example, _ = guarantees.shortest_history(broken.config, broken.promise)

    status, output = typed(command_line(broken.config, broken.promise))

    wanted = broken.promise is not Promise.TIME_TRAVEL_STABILITY
    assert (status == 1) == wanted
    assert f"broken after {len(example.moves)} steps" in output


def test_every_planted_bug_has_its_sentence():
    told = guarantees.members_told(planted, "PlantedBug")

    assert set(told) == {bug.name for bug in PlantedBug}
    assert all(sentence.endswith(".") for sentence in told.values())


def test_every_switch_that_is_off_breaks_its_promise():
    for broken in SWITCHED_OFF:
        assert guarantees.shortest_history(broken.config, broken.promise)[0] is not None
