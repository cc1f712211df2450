"""Storage: what a put does where a file is, and the names that attempts to write a data file have.

With clocks that never repeat themselves and writers that hear of every put, no file is put twice, and the core needs
none of this. Where two operations share a time, storage with put-if-absent refuses the second file, and its writer
gives up; storage without it replaces the first file, unseen. A write token of its own for each attempt (salt) keeps
data files apart, and nothing else. Source: RFC-22, "Unique instant times"; Java ``FSUtils.makeWriteToken``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.conflict import AbortWrite
from drawstring_model.core.module import Module, without_item
from drawstring_model.core.state import AbortReason, FileName, Group, Move, Phase, Time, Token, World, Writer
from drawstring_model.core.writer import RequestInstant, StartInflight, WriteFile


class PutRequested(RequestInstant):
    """`RequestInstant`, on storage that may replace files.

    Enabled: as in the core; where the file is there, on storage that replaces it.
    Effect: the file exists.
    Unchanged: the data files, the lock.
    """

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """As if a file that is replaced were not there."""
        if writer.requested in world.requested and adopts_files(config):
            world = world._replace(requested=without_item(world.requested, writer.requested))
        return super().refusal(world, writer, move, config)


class PutInflight(StartInflight):
    """`StartInflight`, on storage that may replace files.

    Enabled: as in the core; where the file is there, on storage that replaces it.
    Effect: the file exists.
    Unchanged: the data files, the lock.
    """

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """As if a file that is replaced were not there."""
        if writer.requested in world.inflight and adopts_files(config):
            world = world._replace(inflight=without_item(world.inflight, writer.requested))
        return super().refusal(world, writer, move, config)


class PutFile(WriteFile):
    """`WriteFile`, on storage that may replace files, under a name that has a token.

    Enabled: as in the core; where the file is there, on storage that replaces it.
    Effect: the file exists; one of the same name is replaced.
    Unchanged: the timeline, the lock.
    """

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """With the token of the next attempt."""
        for move in super().moves(world, writer, number, config):
            group = writer.plan[0].group
            yield move._replace(token=next_token(world, group, writer.requested, config))

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """As if a file that is replaced were not there."""
        before = without_file(world, (move.group, writer.requested, move.token))
        replaced = before.files != world.files and config.replaces_files()
        return super().refusal(before if replaced else world, writer, move, config)

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The new file stands."""
        before = without_file(world, (move.group, writer.requested, move.token))
        return super().effect(before, writer, move, config)


class AbortRefused(AbortWrite):
    """`AbortWrite`, also of a writer whose file was refused.

    Enabled: as in the core.
    Effect: as in the core; where the requested file was refused, instant and heartbeat of that time belong to somebody
    else, and are let be.
    Unchanged: all files. What the operation wrote stays pending until a rollback.
    """

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Nothing of another's is given back."""
        if move.reason is AbortReason.COLLISION and writer.phase < Phase.REQUESTED:
            writer = writer._replace(requested=0, parts=())
        return super().effect(world, writer, move, config)


def without_file(world: World, name: tuple[Group | None, Time, Token | None]) -> World:
    """The world without the data file of this name."""
    return world._replace(files=tuple(file for file in world.files if file[:3] != name))


def adopts_files(config: Config) -> bool:
    """Whether a writer goes on where its timeline file exists: replaced unseen, or taken for its own by mistake."""
    return config.planted is PlantedBug.ADOPT_COLLIDING_TIME or config.replaces_files()


def tokens_differ(config: Config) -> bool:
    """Whether a second attempt to write a file gets another name; ask only where there was a first."""
    if config.asked is not None:
        config.asked.add("salt")
    return config.salt


def next_token(world: World, group: Group, requested: Time, config: Config) -> Token:
    """The write token of the next attempt to write a file: with salt one that no earlier attempt's file has.

    Real tokens are random; all that matters of them is which are equal, so the explorer counts.
    """
    tokens = [file.token for file in world.files if file[:2] == (group, requested)]
    return max(tokens) + 1 if tokens and tokens_differ(config) else 0


def collides(world: World, writer: Writer, config: Config) -> bool:
    """Whether the next put of `writer` is refused because the file exists."""
    if writer.phase is Phase.INFLIGHT:
        groups = [file.group for file in writer.plan[:1]]
        names: set[FileName] = {
            (group, writer.requested, next_token(world, group, writer.requested, config)) for group in groups
        }
        return any(file[:3] in names for file in world.files) and not config.replaces_files()
    if config.planted is PlantedBug.ADOPT_COLLIDING_TIME:
        return False
    taken = world.inflight if writer.phase is Phase.LOOKED_UP else world.requested
    puts = writer.phase in (Phase.TIMED, Phase.BEATING, Phase.LOOKED_UP)
    return puts and writer.requested in taken and not config.replaces_files()


class StorageModule(Module):
    """Whether puts can be refused is `Config.put_if_absent`, whether attempts have names of their own `Config.salt`."""

    name = "storage"
    rules = (PutRequested(), PutInflight(), PutFile(), AbortRefused())

    def gives_up(self, world: World, writer: Writer, number: int, config: Config) -> Collection[AbortReason]:
        """A writer whose put is refused."""
        del number
        return (AbortReason.COLLISION,) if collides(world, writer, config) else ()
