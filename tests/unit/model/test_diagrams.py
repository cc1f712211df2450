"""The state diagrams are drawn from the rules, so that they change with them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from drawstring_model.commands import app
from drawstring_model.config import PlantedBug, RollbackPolicy
from drawstring_model.diagrams import DIAGRAMS, arrows, rendered
from drawstring_model.explorer import explore
from drawstring_spec.steps import Step


@pytest.mark.parametrize("name", DIAGRAMS)
def test_every_status_can_be_reached_from_the_beginning(name):
    seen = arrows(DIAGRAMS[name])
    reached, size = {None}, 0

    while len(reached) > size:
        size = len(reached)
        reached |= {after for before, _, after in seen if before in reached}

    assert {status for before, _, after in seen for status in (before, after)} == reached
    assert len(reached) > 2


def test_a_write_is_requested_then_inflight_then_completed_and_nothing_leads_on_from_there():
    seen = arrows(DIAGRAMS["instant"])

    assert ("requested", Step.START_INFLIGHT, "inflight") in seen
    assert {(before, step) for before, step, after in seen if after == "completed"} == {
        ("inflight", Step.COMPLETE_INSTANT)
    }
    assert not [arrow for arrow in seen if arrow[0] == "completed"]


def test_a_completed_write_leads_on_where_rollbacks_trust_old_lists():
    broken = replace(
        DIAGRAMS["instant"], config=replace(DIAGRAMS["instant"].config, planted=PlantedBug.STALE_ROLLBACK_LIST)
    )

    assert ("completed", Step.REQUEST_ROLLBACK, "completed") in arrows(broken)


def test_under_eager_rollback_nobody_has_a_heartbeat():
    eager = replace(DIAGRAMS["heartbeat"], config=replace(DIAGRAMS["heartbeat"].config, rollback=RollbackPolicy.EAGER))

    assert arrows(eager) == ()


def test_a_step_is_drawn_wherever_the_explorer_takes_it():
    diagram = DIAGRAMS["compaction"]

    exploration = explore(diagram.config, witnesses={"twice": lambda world: world.crashes > 0 and bool(world.inflight)})

    assert exploration.witnesses["twice"] > 0
    assert {step for _, step, _ in arrows(diagram)} == {
        Step.SCHEDULE_COMPACTION,
        Step.RUN_COMPACTION,
        Step.COMPLETE_INSTANT,
    }


def test_a_block_of_the_metadata_table_is_read_from_the_completion_of_its_instant_on():
    seen = arrows(DIAGRAMS["metadata"])

    assert {(before, step) for before, step, after in seen if after == "read"} == {
        ("passed over", Step.COMPLETE_INSTANT)
    }
    assert ("passed over", Step.ROLLBACK_METADATA, None) in seen


def test_steps_between_two_statuses_share_an_arrow():
    assert "    inflight --> inflight: DeleteFile, RemoveInstant\n" in rendered("rollback")


def test_the_command_prints_a_diagram():
    result = CliRunner().invoke(app, ["diagram", "rollback"], env={"COLUMNS": "40"})

    assert result.exit_code == 0
    assert result.output == rendered("rollback")


def test_without_a_name_the_command_lists_all_diagrams():
    result = CliRunner().invoke(app, ["diagram"])

    assert [line.split()[0] for line in result.output.splitlines()] == list(DIAGRAMS)
