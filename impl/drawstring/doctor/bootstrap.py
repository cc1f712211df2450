"""Checks of bootstrap tables: what their skeleton files stand for."""

from __future__ import annotations

from collections.abc import Iterator

from drawstring.data.stitched_file import open_rows
from drawstring.doctor.examination import Examination
from drawstring.doctor.findings import Problem, check
from drawstring.errors import DrawstringError
from drawstring.files import BaseFile
from drawstring.read.bootstrap import is_skeleton, with_source


@check("bootstrap-index", "RD-024", "RD-025", says="the bootstrap index has the source file of every skeleton file")
def bootstrap_index(table: Examination) -> Iterator[Problem]:
    """Where the user said where source files are, each is there and has as many rows."""
    for file in table.base_files():
        status = file.status
        base = BaseFile(status.path, file.group, file.requested_time, status.size)
        if not is_skeleton(table.context, base):
            continue
        try:
            found = with_source(table.context, base)
            if table.ports.source_files is not None:
                open_rows(table.storage, found).schema()
        except DrawstringError as error:
            yield Problem(status.path, error.message, rules=(error.rule,) if error.rule else ())
