"""What the checks of the requirements must be: tests that exist, promises of the model that exist, not too many to one.

Tests are found by reading their source, so that a test that needs what this machine has not got is found too.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from drawstring_model.invariants import Promise
from drawstring_spec.requirements import MODEL_CHECK, Level, Requirement

MOST_REQUIREMENTS_OF_ONE_TEST = 5
"""A test without parameters that claims to cover more than this covers none of them well."""

TOLERATED_UNCHECKED: frozenset[str] = frozenset()
"""MUSTs that nothing covers because nothing of ours does what they are about. This list only gets shorter."""

_RULE = re.compile(r"""\brule=["']([A-Z]{2}-[0-9]{3})["']""")


def find_tests(source: str) -> Mapping[str, bool]:
    """Return the names of the tests in a module's source, each with whether it runs on many examples."""
    tree = ast.parse(source)
    many = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and "parametrize" in ast.unparse(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {
        node.name: any(_is_many(ast.unparse(decorator), many) for decorator in node.decorator_list)
        for node in functions
        if node.name.startswith("test_")
    }


def _is_many(decorator: str, many: Iterable[str]) -> bool:
    return "parametrize" in decorator or decorator.startswith("given(") or decorator in many


def findings(requirements: Iterable[Requirement], repository: Path) -> Iterator[str]:
    """Yield, in words, everything that is wrong with the requirements' checks."""
    requirements = tuple(requirements)
    promises = {promise.value for promise in Promise}
    tests: dict[str, Mapping[str, bool]] = {}
    for requirement in requirements:
        for check in requirement.checks:
            if check.startswith(MODEL_CHECK):
                if check.removeprefix(MODEL_CHECK) not in promises:
                    yield f"{requirement.id}: the model promises nothing called {check!r}"
                continue
            file, _, test = check.partition("::")
            if file not in tests:
                path = repository / file
                tests[file] = find_tests(path.read_text(encoding="utf-8")) if path.is_file() else {}
            if test not in tests[file]:
                yield f"{requirement.id}: there is no {check}"
        if requirement.level is Level.MUST and requirement.unchecked and requirement.id not in TOLERATED_UNCHECKED:
            yield f"{requirement.id}: a MUST that nothing checks"
    yield from _repeated_ids(requirements)
    yield from _overloaded_tests(requirements, tests)


def _repeated_ids(requirements: Iterable[Requirement]) -> Iterator[str]:
    for requirement_id, times in Counter(requirement.id for requirement in requirements).items():
        if times > 1:
            yield f"{requirement_id}: stands in the catalogue {times} times"


def _overloaded_tests(requirements: Iterable[Requirement], tests: Mapping[str, Mapping[str, bool]]) -> Iterator[str]:
    for check, times in Counter(check for requirement in requirements for check in requirement.checks).items():
        file, _, test = check.partition("::")
        single = tests.get(file, {}).get(test) is False
        if single and times > MOST_REQUIREMENTS_OF_ONE_TEST:
            yield f"{check}: one example, and {times} requirements claim it"


def rules_in(source: str) -> set[str]:
    """Return the ids of the requirements that a source's errors name."""
    return set(_RULE.findall(source))
