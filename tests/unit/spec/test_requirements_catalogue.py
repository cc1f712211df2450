from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_spec.errors import FormatError
from drawstring_spec.requirements import (
    Level,
    Reading,
    UnknownRequirementError,
    find_requirement,
    load_requirements,
    parse_requirements,
    render_markdown,
    select_requirements,
)
from drawstring_spec.steps import Step

READINGS = 'text_reading = "a"\nactual_reading = "b"\nevidence = "c"\nerratum = "T1"'
CHAPTER = """
chapter = "Planted"
prefix = "XX"

[[requirement]]
id = "XX-001"
level = "MUST"
text = \"\"\"
It holds,
always.\"\"\"
source = "Nowhere"
checks = ["tests/unit/x/test_y.py::test_z", "model::no lost update"]
"""


def planted(old: str, new: str) -> str:
    assert old in CHAPTER
    return CHAPTER.replace(old, new)


def test_a_requirement_is_read_with_its_text_on_one_line():
    (requirement,) = parse_requirements(CHAPTER, "x.toml")
    assert (requirement.id, requirement.chapter, requirement.level) == ("XX-001", "Planted", Level.MUST)
    assert requirement.text == "It holds, always."
    assert requirement.checks == ("tests/unit/x/test_y.py::test_z", "model::no lost update")
    assert not requirement.differs


def test_a_requirement_with_both_readings_differs_from_the_text():
    readings = 'text_reading = "a"\nactual_reading = "b"\nevidence = "c"\nerratum = "T1"\nsource ='
    (requirement,) = parse_requirements(planted("source =", readings), "x.toml")
    assert requirement.differs
    assert (requirement.text_reading, requirement.actual_reading, requirement.evidence) == ("a", "b", "c")
    assert (requirement.erratum, requirement.taken) == ("T1", Reading.ACTUAL)


def test_a_requirement_says_which_reading_is_taken_what_decides_it_and_which_steps_it_is_about():
    more = f'{READINGS}\ntaken = "own"\nmodel_switch = "salt"\nguarantee = "g"\nsteps = ["Crash"]\nsource ='
    (requirement,) = parse_requirements(planted("source =", more), "x.toml")
    assert (requirement.taken, requirement.model_switch, requirement.guarantee) == (Reading.OWN, "salt", "g")
    assert requirement.steps == (Step.CRASH,)


@pytest.mark.parametrize("reason", ["unmet", "unchecked"])
def test_a_requirement_without_checks_gives_its_reason(reason):
    text = planted('["tests/unit/x/test_y.py::test_z", "model::no lost update"]', f'[]\n{reason} = "Because."')
    (requirement,) = parse_requirements(text, "x.toml")
    assert requirement.checks == ()
    assert requirement.as_dict()[reason] == "Because."


def test_a_requirement_that_is_met_in_part_has_checks_and_says_what_is_missing():
    (requirement,) = parse_requirements(planted("source =", 'unmet = "Half of it."\nsource ='), "x.toml")
    assert requirement.checks
    assert ("Not met", "Half of it.") in requirement.remarks()


def test_plain_data_of_a_requirement_leaves_out_what_is_not_given():
    (requirement,) = parse_requirements(CHAPTER, "x.toml")
    assert requirement.as_dict() == {
        "id": "XX-001",
        "chapter": "Planted",
        "level": "MUST",
        "text": "It holds, always.",
        "source": "Nowhere",
        "checks": ["tests/unit/x/test_y.py::test_z", "model::no lost update"],
    }


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("not toml", "no chapter"),
        (planted('chapter = "Planted"', ""), "no chapter"),
        (planted('prefix = "XX"', ""), "no chapter"),
        (planted('source = "Nowhere"', ""), "has no source"),
        (planted('id = "XX-001"', ""), "has no id"),
        (planted('source = "Nowhere"', 'source = "Nowhere"\nchecked = true'), "has checked"),
        (planted("XX-001", "XX-1"), "not an id"),
        (planted("XX-001", "YY-001"), "not an id"),
        (planted("MUST", "must"), "the level 'must'"),
        (planted('source = "Nowhere"', 'source = "Nowhere"\nevidence = "x"'), "both readings"),
        (planted('source = "Nowhere"', 'source = "Nowhere"\ntext_reading = "x"'), "both readings"),
        (planted('source = "Nowhere"', 'source = "Nowhere"\nunchecked = "x"'), "says that nothing covers it"),
        (planted('["tests/unit/x/test_y.py::test_z", "model::no lost update"]', "[]"), "needs checks"),
        (planted("tests/unit/x/test_y.py::test_z", "test_z"), "no test, promise"),
        (planted("source =", 'steps = ["Jump"]\nsource ='), "no step"),
        (planted("source =", 'taken = "text"\nsource ='), "no two readings"),
        (planted("source =", f'{READINGS}\ntaken = "any"\nsource ='), "takes the reading"),
        (planted("source =", READINGS.replace("T1", "one") + "\nsource ="), "the erratum"),
    ],
)
def test_a_chapter_that_is_not_well_formed_is_refused(content, says):
    with pytest.raises(FormatError, match=says):
        parse_requirements(content, "x.toml")


def test_the_catalogue_is_sorted_by_id():
    ids = [requirement.id for requirement in load_requirements()]
    assert ids == sorted(ids)
    assert len(ids) > 300


def test_a_requirement_is_found_by_its_id_in_any_case():
    assert find_requirement("tl-006").id == "TL-006"


def test_a_requirement_that_is_not_there_is_an_error_that_says_where_to_look():
    with pytest.raises(UnknownRequirementError) as refused:
        find_requirement("TL-999")
    assert "drawstring spec list" in str(refused.value)


@pytest.mark.parametrize("chapter", ["TL", "tl", "Timeline", "timel"])
def test_a_chapter_is_selected_by_its_letters_or_its_title(chapter):
    assert {r.id[:2] for r in select_requirements(chapter=chapter)} == {"TL"}


def test_requirements_are_selected_by_level_and_by_difference():
    assert {r.level for r in select_requirements(level=Level.MAY)} == {Level.MAY}
    assert all(r.differs for r in select_requirements(differs=True))
    assert not any(r.checks for r in select_requirements(unchecked=True))
    assert all(r.unmet for r in select_requirements(unmet=True))


def test_conditions_of_a_selection_hold_together():
    chosen = select_requirements(chapter="TL", differs=True)
    assert {"TL-006"} <= {r.id for r in chosen} < {r.id for r in select_requirements(chapter="TL")}


def test_the_page_has_each_requirement_once_with_its_source_and_checks():
    page = render_markdown()
    for requirement in load_requirements():
        assert page.count(f"### {requirement.id} (") == 1
        assert all(f"- Check: `{check}`" in page for check in requirement.checks)


def test_the_page_gives_both_readings_and_what_is_unchecked():
    page = render_markdown([replace(find_requirement("TL-006"), checks=(), unchecked="Nobody has found a way.")])
    assert "- The text reads: " in page
    assert "- Really: " in page
    assert "- Unchecked: " in page


def test_the_page_shows_what_looks_like_markup_as_it_is():
    page = render_markdown([find_requirement("SL-007")])
    assert r"\<file id\>\_\<write token\>\_\<requested time\>.\<extension\>" in page
