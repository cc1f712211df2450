"""What the checks of the requirements must be: there, or a reason why not; and not too many requirements to one.

A check is a test that exists, a promise of the model that exists, or an invariant that a TLA+ module defines.

Tests are found by reading their source, so that a test that needs what this machine has not got is found too.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from drawstring_model.catalogue import known_modules
from drawstring_model.config import Config
from drawstring_model.invariants import Promise
from drawstring_spec.errata import AREAS, load_errata, number_of
from drawstring_spec.requirements import MODEL_CHECK, TLA_CHECK, Level, Requirement

MOST_REQUIREMENTS_OF_ONE_TEST = 5
"""A test without parameters that claims to cover more than this covers none of them well."""

_PROMISES = {promise.value for promise in Promise}
_SWITCHES = {field.name for field in fields(Config)} - {"planted", "bounds", "asked", "modules"} | {
    f"{module.__name__}.{switch}"
    for module in known_modules().values()
    for switch in getattr(module, "__dataclass_fields__", ())
}
_DEFINITION = re.compile(r"^(\w+) ==", re.MULTILINE)
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
    """Yield, in words, everything that is wrong with the requirements' checks and errata."""
    requirements = tuple(requirements)
    tests = {file: _tests_of(repository / file) for file in _test_files(requirements)}
    invariants = tla_invariants(repository)
    for requirement in requirements:
        for check in requirement.checks:
            if problem := _problem(check, tests, invariants):
                yield f"{requirement.id}: {problem}"
        if requirement.level is Level.MUST and not (requirement.checks or requirement.unmet or requirement.unchecked):
            yield f"{requirement.id}: a MUST that nothing checks, without a reason"
        if requirement.model_switch is not None and requirement.model_switch not in _SWITCHES:
            yield f"{requirement.id}: the model has no switch {requirement.model_switch!r}"
    yield from _repeated_ids(requirements)
    yield from _overloaded_tests(requirements, tests)


def _test_files(requirements: Iterable[Requirement]) -> set[str]:
    checks = (check for requirement in requirements for check in requirement.checks)
    return {check.partition("::")[0] for check in checks if check.startswith("tests/")}


def _tests_of(path: Path) -> Mapping[str, bool]:
    return find_tests(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _problem(check: str, tests: Mapping[str, Mapping[str, bool]], invariants: set[str]) -> str | None:
    if check.startswith(MODEL_CHECK):
        return None if check.removeprefix(MODEL_CHECK) in _PROMISES else f"the model promises nothing called {check!r}"
    if check.startswith(TLA_CHECK):
        return None if check.removeprefix(TLA_CHECK) in invariants else f"no TLA+ module defines {check!r}"
    file, _, test = check.partition("::")
    return None if test in tests[file] else f"there is no {check}"


def tla_invariants(repository: Path) -> set[str]:
    """Return the names of everything that a module in ``tla/`` defines without parameters."""
    modules = sorted((repository / "tla").rglob("*.tla"))
    return {name for module in modules for name in _DEFINITION.findall(module.read_text(encoding="utf-8"))}


def gaps_of_errata(requirements: Iterable[Requirement]) -> list[str]:
    """Return the numbers of errata that are missing or there twice: each area counts from 1 without a gap."""
    numbers = Counter(number_of(requirement) for requirement in load_errata(requirements))
    return [
        f"{area}{number}"
        for area in AREAS
        for number in range(1, max([n for a, n in numbers if a == area], default=1) + 1)
        if numbers[area, number] != 1
    ]


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
