from __future__ import annotations

import json
import zipfile

import pytest

from drawstring_conformance.vectors import MAX_MEMBER_BYTES, QueryType, load_case, load_cases
from drawstring_spec.errors import FormatError


def write_case(folder, members, name="case"):
    (folder / name).mkdir()
    details = {"name": name, "table_type": "COPY_ON_WRITE", "table_properties": {}, "queries": []}
    (folder / name / "case.json").write_text(json.dumps(details))
    with zipfile.ZipFile(folder / name / "table.zip", "w") as archive:
        for member, content in members:
            archive.writestr(member, content)
    return load_case(name, folder)


def test_all_cases_and_queries_are_loaded_with_their_answers():
    cases = load_cases()
    assert len(cases) == 63
    assert sum(len(case.queries) for case in cases) == 885
    assert all(query.expected.is_file() for case in cases for query in case.queries)


def test_a_query_knows_its_arguments():
    queries = {query.id: query for query in load_case("cow_partitioned_hive").queries}
    assert queries["snapshot"].type is QueryType.SNAPSHOT
    assert queries["snapshot"].as_of is None
    travel = next(query for query in queries.values() if query.type is QueryType.TIME_TRAVEL)
    assert travel.as_of in travel.id


def test_a_case_is_extracted_file_by_file(tmp_path):
    case = load_case("cow_nonpartitioned")
    base = case.extract(tmp_path / "table")
    found = {path.relative_to(base).as_posix(): path.read_bytes() for path in base.rglob("*") if path.is_file()}
    assert found == dict(case.read_files())
    assert (base / ".hoodie/timeline/history").is_dir()


def test_one_file_of_a_case_is_read_alone():
    case = load_case("cow_nonpartitioned")
    assert b"hoodie.table.name" in case.read_file(".hoodie/hoodie.properties")
    with pytest.raises(KeyError):
        case.read_file("nothing")


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/outside", "C:/outside", "a\\..\\outside", ""])
def test_a_member_that_leaves_the_table_is_refused(tmp_path, name):
    entry = zipfile.ZipInfo("placeholder")
    entry.filename = name
    case = write_case(tmp_path, [(entry, b"x")])
    with pytest.raises(FormatError, match="below the table"):
        case.extract(tmp_path / "table")
    assert not (tmp_path / "outside").exists()


def test_a_member_that_is_a_link_is_refused(tmp_path):
    entry = zipfile.ZipInfo("link")
    entry.external_attr = 0o120777 << 16
    case = write_case(tmp_path, [(entry, b"/etc/passwd")])
    with pytest.raises(FormatError, match="below the table"):
        case.extract(tmp_path / "table")


def test_a_member_that_claims_to_be_huge_is_refused(tmp_path):
    case = write_case(tmp_path, [("big", b"x")])
    with zipfile.ZipFile(case.folder / "table.zip") as archive:
        entry = archive.getinfo("big")
        entry.file_size = MAX_MEMBER_BYTES + 1
        from drawstring_conformance import vectors

        with pytest.raises(FormatError, match="claims"):
            vectors._checked(entry)


@pytest.mark.parametrize("name", ["no_such_case", "../vectors", ""])
def test_a_case_that_is_not_there_is_refused_by_name(name):
    with pytest.raises(FormatError, match="no case"):
        load_case(name)
