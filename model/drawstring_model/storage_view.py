"""The part of a state that lies on storage, for comparison with an implementation's bytes.

The core's part is told here; a module that puts more on storage has a method `Shows.show`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from drawstring_model.core.config import Config
from drawstring_model.core.module import modules_of
from drawstring_model.core.state import FREE, Group, Key, State, Time, Token, Value, World
from drawstring_spec.instants import Action
from drawstring_spec.instants import State as InstantState


class TimelineFile(NamedTuple):
    """A file of the timeline, by what its name says."""

    requested_time: Time
    action: Action
    state: InstantState
    completion_time: Time | None


class StorageView(NamedTuple):
    """The part of a state that can be read from storage, for comparison with an implementation's bytes.

    Attributes:
        timeline: all files of the timeline.
        data_files: rows of each data file, by (file group, requested time, write token).
        lock_held: whether the table lock is taken (by whoever, dead or alive).
        heartbeats: requested times that have a heartbeat file, expired or not. Those of instants that are not
            pending say nothing: they are garbage that is removed sooner or later.

    """

    timeline: frozenset[TimelineFile]
    data_files: Mapping[tuple[Group, Time, Token], Mapping[Key, Value | None]]
    lock_held: bool
    heartbeats: frozenset[Time]


@runtime_checkable
class Shows(Protocol):
    """A module that has something on storage."""

    def show(self, world: World, view: StorageView) -> StorageView:
        """`view` with what lies on storage of this module's."""
        ...


def storage_view(state: State, config: Config) -> StorageView:
    """What of `state` lies on storage."""
    world = state.world
    timeline = {TimelineFile(time, Action.COMMIT, InstantState.REQUESTED, None) for time in world.requested}
    timeline |= {TimelineFile(time, Action.COMMIT, InstantState.INFLIGHT, None) for time in world.inflight}
    timeline |= {
        TimelineFile(commit.requested, Action.COMMIT, InstantState.COMPLETED, commit.completion)
        for commit in world.commits
    }
    view = StorageView(
        timeline=frozenset(timeline),
        data_files={(file.group, file.requested, file.token): dict(file.rows) for file in world.files},
        lock_held=world.lock != FREE,
        heartbeats=frozenset(),
    )
    for module in modules_of(config):
        if isinstance(module, Shows):
            view = module.show(world, view)
    return view
