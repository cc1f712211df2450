"""Answers of the vectors that are known to be wrong: a bug of Java Hudi's, with what proves it.

Whose duty: nobody passes and nobody fails by such an answer, and none is left out in silence. A reader that is judged
is asked all the same, and the report says whether it gives the wrong answer or another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class Defect:
    """Why the expected rows of a query are not the right ones.

    Attributes:
        what: is wrong in them.
        evidence: how that can be seen: a file and what to look for in it.

    """

    what: str
    evidence: str


_OVERWRITTEN: Final = Defect(
    what=(
        "The range covers an insert overwrite. Java keeps the rows of the replaced file group in a map whose values "
        "are one and the same row object, so all its deletes carry the image of the row that was read last."
    ),
    evidence=(
        "Requirement CH-010; tests/interop/test_golden_changes.py::"
        "test_deletes_by_an_overwrite_have_the_images_of_the_rows_that_it_replaced: the deletes of commit "
        "20261121035351024 are as many as the rows replaced, but have one image for each file group, while time travel "
        "to just before returns different rows."
    ),
)

KNOWN_DEFECTS: Final[Mapping[tuple[str, str], Defect]] = MappingProxyType(
    {("cdc_insert_overwrite", name): _OVERWRITTEN for name in ("cdc_0", "cdc_1", "cdc_2", "cdc_3", "cdc_6")}
)
"""By case and query."""
