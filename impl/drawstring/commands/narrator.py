"""Says what is going on: a moving line for what takes long, a line that stays for what is done, a verdict per check."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.status import Status

from drawstring.events import Event
from drawstring_spec.steps import Step


@dataclass(slots=True)
class Doing:
    """Something that takes a while; `done` says what came of it."""

    outcome: str = ""

    def done(self, outcome: str) -> None:
        """Say what came of it, for the line that stays."""
        self.outcome = outcome


class Narrator:
    """Prints a story as it happens, and counts the checks."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._text = ""
        self._num_files = 0
        self._started = time.monotonic()
        self.num_right = 0
        self.num_wrong = 0

    def chapter(self, title: str) -> None:
        """Begin a chapter."""
        self._console.print(f"\n[bold cyan]{title}[/]")

    def say(self, text: str) -> None:
        """Print a sentence; it may carry rich's markup."""
        self._console.print(f"  {text}")

    def show(self, renderable: RenderableType) -> None:
        """Print a table."""
        self._console.print(renderable)

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show that something is going on; what follows tells what came of it."""
        with self._console.status(f"{text} …"):
            yield

    @contextmanager
    def doing(self, text: str) -> Iterator[Doing]:
        """Show that something is going on, and afterwards what came of it and how long it took."""
        self._text, self._num_files = text, 0
        started = time.monotonic()
        doing = Doing()
        with self._console.status(f"{text} …") as self._status:
            yield doing
        self._status = None
        outcome = f": [bold]{doing.outcome}[/]"
        self._console.print(f"  [green]✓[/] {text}{outcome} [dim]({time.monotonic() - started:.1f} s)[/]")

    def listen(self, event: Event) -> None:
        """Hear the protocol's steps, and show the last one beside what is going on."""
        if event.step is Step.WRITE_FILE:
            self._num_files += 1
        if self._status is not None:
            files = f", {self._num_files} files" if self._num_files else ""
            self._status.update(f"{self._text} … [dim]{event.step}{files}[/]")

    def verdict(self, question: str, difference: str | None, *, size: str) -> None:
        """Say whether an answer is what pandas has."""
        if difference is None:
            self.num_right += 1
            self._console.print(f"  [green]✓[/] {question}: {size}, [green]the same as in pandas[/]")
            return
        self._wrong(f"{question}: {size}, [bold red]not what pandas has[/]", difference)

    def expect(self, fact: str, *, holds: bool) -> None:
        """Say whether something is as it ought to be."""
        if holds:
            self.num_right += 1
            self._console.print(f"  [green]✓[/] {fact}")
            return
        self._wrong(fact, "This ought to be so, and it is not.")

    def _wrong(self, line: str, explanation: str) -> None:
        self.num_wrong += 1
        self._console.print(f"  [bold red]✗[/] {line}")
        self._console.print(escape(explanation), style="red")

    def conclude(self, remark: str) -> None:
        """Say how it went."""
        elapsed = f"{time.monotonic() - self._started:.0f} s"
        if self.num_wrong:
            self._console.print(f"\n[bold red]{self.num_wrong} checks do not hold.[/] {elapsed}. {remark}")
        else:
            self._console.print(f"\n[bold green]All {self.num_right} checks hold.[/] {elapsed}. {remark}")
