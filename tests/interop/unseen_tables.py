"""Hunt with tables that were told, not drawn: ``PYTHONPATH=tests python -m interop.unseen_tables --help``.

What we refuse by name is told beside the answers that differ, and not counted with them.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from drawstring.errors import UnsupportedTableError
from drawstring_conformance.vectors import Case
from interop.java.client import JavaHudi, JavaHudiError
from interop.java.environment import find_environment
from interop.unseen_filters import filtered_queries, wrong_filtered
from interop.unseen_recording import Recorder, wrong_answers
from interop.unseen_stories import STORIES
from interop.unseen_story import Story

_LONGEST_LINE: Final = 1200


def record(java: JavaHudi, story: Story, work: Path, folder: Path) -> Case:
    """Let Java write a story's table, ask it everything, and keep the case."""
    recorder = Recorder(java, work / story.name, story.options, story.read_options)
    try:
        story.tell(recorder)
        recorder.ask_all(cdc=story.cdc)
        return recorder.keep(folder / story.name, story.description)
    finally:
        shutil.rmtree(recorder.path, ignore_errors=True)
        shutil.rmtree(recorder.source, ignore_errors=True)


def main() -> int:
    """Record the tables that are asked for, and compare the embedded engine's answers; 1 where some differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="stories, or how their names begin (default: all)")
    parser.add_argument("--keep", type=Path, default=None, help="folder for the cases")
    arguments = parser.parse_args()
    environment = find_environment()
    if environment is None:
        parser.error("Java Hudi is not set up: run `make interop`")
    keep = arguments.keep or Path(tempfile.mkdtemp(prefix="unseen_"))
    keep.mkdir(parents=True, exist_ok=True)
    chosen = [s for s in STORIES.values() if not arguments.names or s.name.startswith(tuple(arguments.names))]
    different = 0
    with JavaHudi(environment, log=keep / "java.log") as java, tempfile.TemporaryDirectory() as work:
        for one in chosen:
            started = time.monotonic()
            try:
                case = record(java, one, Path(work), keep)
            except JavaHudiError as error:
                _say([f"{one.name}: Java could not: {error}"])
                continue
            wrong = {**wrong_answers(case, Path(work) / "judged"), **wrong_filtered(case, Path(work) / "judged")}
            shutil.rmtree(Path(work) / "judged", ignore_errors=True)
            different += sum(not _is_refusal(text) for text in wrong.values())
            _say(_lines(case, wrong, time.monotonic() - started))
    _say([f"{different} answers differ; cases in {keep}"])
    return 1 if different else 0


def _is_refusal(text: str) -> bool:
    return text.startswith(UnsupportedTableError.__name__)


def _lines(case: Case, wrong: dict[str, str], seconds: float) -> Iterable[str]:
    asked = len(case.queries) + len(filtered_queries(case))
    yield f"{case.name}: {asked - len(wrong)} the same, {len(wrong)} different, {seconds:.0f} s"
    for refused in case.details["failed_queries"]:
        time = refused.get("as_of") or refused.get("start") or ""
        yield f"  Java refused {refused['id']} {time}: {refused['error'][:160]}"
    times_of = {query.id: (query.as_of, query.start, query.end) for query in case.queries}
    for name, text in wrong.items():
        times = " ".join(filter(None, times_of.get(name, ())))
        yield f"  {'refused' if _is_refusal(text) else 'DIFFERENT'} {name} {times}: {text[:_LONGEST_LINE]}"


def _say(lines: Iterable[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
