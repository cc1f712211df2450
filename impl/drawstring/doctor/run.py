"""Runs the checks one after the other. Whose duty: a check that cannot run is named, not passed over."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from drawstring.doctor import (
    archive,
    bootstrap,
    contents,
    data_files,
    leftovers,
    log_files,
    metadata_table,
    properties,
    timeline,
)
from drawstring.doctor.examination import Examination
from drawstring.doctor.findings import REGISTER, BlockedError, Check, Finding, Problem, Severity
from drawstring.errors import DrawstringError, TableNotFoundError
from drawstring.metadata.storage import SubStorage
from drawstring.ports import Ports
from drawstring.table_properties import table_exists
from drawstring_spec.layout import METADATA_TABLE_FOLDER, PROPERTIES_FILE

SUBJECTS = (properties, timeline, archive, data_files, bootstrap, log_files, leftovers, metadata_table, contents)
"""Modules with checks; that they are imported registers them."""


@dataclass(frozen=True, slots=True)
class Report:
    """What an examination found.

    Attributes:
        findings: all that is wrong; errors first, then by check and path.
        passed: names of the checks that ran and found nothing.
        not_run: names of the checks that could not run, each with the reason.

    """

    findings: tuple[Finding, ...]
    passed: tuple[str, ...]
    not_run: Mapping[str, str]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing was found, and every check ran."""
        return not self.findings and not self.not_run

    def count(self, severity: Severity) -> int:
        """How many findings have a severity."""
        return Counter(finding.severity for finding in self.findings)[severity]


def all_checks(*, deep: bool) -> tuple[Check, ...]:
    """Return the checks in their order; those that read rows only where `deep` is true."""
    return tuple(check for check in REGISTER.values() if deep or not check.deep)


def examine(
    ports: Ports,
    *,
    deep: bool = False,
    only: frozenset[str] | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> Report:
    """Examine a table against the specification; nothing is changed.

    Args:
        ports: of the table. Its storage is wrapped, so that no check can write to it.
        deep: with the checks that read rows.
        only: names of the checks to run; None for all.
        step: is called with what is done next, for progress displays.

    Raises:
        TableNotFoundError: the location holds no table.

    """
    if not table_exists(ports.storage):
        raise TableNotFoundError(
            f"There is no Hudi table at {ports.storage.uri}: it has no {PROPERTIES_FILE}.",
            rule="SL-003",
            way_out="Check the location.",
        )
    findings: list[Finding] = []
    passed: list[str] = []
    not_run: dict[str, str] = {}
    outer = Examination(ports, step)
    inner = _inner(outer)
    for check in all_checks(deep=deep):
        if only is not None and check.name not in only:
            continue
        step(check.says)
        found: list[Finding] = []
        try:
            found += _run(check, outer, "")
            if check.nested and inner is not None:
                found += _run(check, inner, f"{METADATA_TABLE_FOLDER}/")
        except BlockedError as error:
            not_run[check.name] = error.message
        findings += found
        if not found and check.name not in not_run:
            passed.append(check.name)
    order = {severity: index for index, severity in enumerate(Severity)}
    findings.sort(key=lambda f: (order[f.severity], f.check, f.path, f.message))
    return Report(tuple(findings), tuple(passed), not_run)


def _inner(outer: Examination) -> Examination | None:
    """Return the metadata table as a table of its own; None where there is none."""
    storage = SubStorage(outer.storage, METADATA_TABLE_FOLDER)
    if not table_exists(storage):
        return None
    return Examination(dataclasses.replace(outer.ports, storage=storage), outer.step)


def _run(check: Check, table: Examination, prefix: str) -> Iterator[Finding]:
    try:
        for problem in check.examine(table):
            yield _finding(check, problem, prefix)
    except BlockedError:
        raise
    except DrawstringError as error:
        # What no check foresaw is told in the error's own words.
        rules = (error.rule,) if error.rule else check.rules
        yield Finding(check.name, rules, Severity.ERROR, prefix.rstrip("/"), error.message)


def _finding(check: Check, problem: Problem, prefix: str) -> Finding:
    return Finding(
        check.name,
        problem.rules or check.rules,
        problem.severity or check.severity,
        prefix + problem.path,
        problem.message,
    )
