from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_spec.errata import AREAS, load_errata, number_of, render_errata
from drawstring_spec.errors import FormatError
from drawstring_spec.requirements import Reading, find_requirement, load_requirements


def test_every_requirement_with_two_readings_is_an_erratum():
    assert set(load_errata()) == {requirement for requirement in load_requirements() if requirement.differs}


def test_errata_come_in_the_order_of_areas_and_of_numbers_not_of_digits():
    planted = [replace(find_requirement("TL-006"), erratum=number) for number in ("L1", "T10", "T9", "W1")]

    assert [requirement.erratum for requirement in load_errata(planted)] == ["T9", "T10", "L1", "W1"]


@pytest.mark.parametrize("number", ["Z1", "", None, "Tx"])
def test_an_erratum_of_no_area_is_refused_by_its_requirement(number):
    with pytest.raises(FormatError, match="TL-006"):
        number_of(replace(find_requirement("TL-006"), erratum=number))


def test_the_page_gives_of_each_erratum_both_readings_and_which_one_is_taken():
    page = render_errata()

    assert all(f"\n## {title}\n" in page for title in AREAS.values())
    for requirement in load_errata():
        (entry,) = [part for part in page.split("\n### ") if part.startswith(f"{requirement.erratum}\n")]
        assert all(f"- {label}: " in entry for label in ("The text", "Java", "Evidence"))
        assert f"(requirements.md#{requirement.id.lower()}-{requirement.level.lower()})" in entry
        assert "takes the reading: " in entry


def test_what_the_model_decides_is_named_with_the_guarantee_that_it_keeps():
    decided = [requirement for requirement in load_errata() if requirement.model_switch]

    assert {"snapshot_time", "key_check"} <= {requirement.model_switch for requirement in decided}
    assert all(requirement.guarantee for requirement in decided)


def test_where_java_may_lose_or_double_data_its_reading_is_not_taken():
    assert find_requirement("CC-012").taken is Reading.TEXT
    assert find_requirement("HF-002").taken is Reading.OWN
