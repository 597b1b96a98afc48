"""Check the RULES.md of each sandbox service and of the server: numbers, modules and tests."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SANDBOX = ROOT / "labext" / "sandbox"
FILES = sorted([SANDBOX / "RULES.md", *SANDBOX.glob("*/RULES.md")])
HEADER = "| number | rule | module | test |"
NAMES = re.compile(r"`([^`]+)`")

Row = tuple[str, str, list[str], list[str]]
"""Number, rule, modules and tests."""


def prefix_of(file: Path) -> str:
    """Return the prefix of the numbers of a file: SERVER, or the name of a service."""
    return "SERVER" if file.parent == SANDBOX else file.parent.name.upper()


def rows_of(file: Path) -> list[Row]:
    rows = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|") or line == HEADER or set(line) <= set("|- :"):
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        assert len(cells) == 4, line
        number, rule, modules, tests = cells
        rows.append((number, rule, NAMES.findall(modules), NAMES.findall(tests)))
    return rows


def module_exists(name: str) -> bool:
    """Return whether a module exists; it is a dotted name or a path from the root."""
    path = ROOT / (name if name.endswith(".py") else name.replace(".", "/"))
    return path.is_file() or path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@cache
def read_test_names(path: str) -> frozenset[str]:
    """Return the test functions of a file, those in classes as `Class::name`."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        names |= {prefix + node.name for node in inner if isinstance(node, functions)}
    return frozenset(name for name in names if name.split("::")[-1].startswith("test"))


def test_services_have_rules() -> None:
    assert {"lab", "jobs", "nb"} <= {file.parent.name for file in FILES}


@pytest.fixture(scope="module")
def cited() -> dict[str, Path]:
    """The numbers of rules in docstrings and comments of the services and of tests."""
    number = re.compile(rf"\b(?:{'|'.join(map(prefix_of, FILES))})-[0-9]+\b")
    return {
        match: module.relative_to(ROOT)
        for module in [*SANDBOX.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
        for match in number.findall(module.read_text(encoding="utf-8"))
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_rule_numbers_are_unique(file: Path) -> None:
    prefix = prefix_of(file)
    numbers = [row[0] for row in rows_of(file)]
    assert len(set(numbers)) == len(numbers)
    assert all(re.fullmatch(rf"{prefix}-[1-9][0-9]*", number) for number in numbers)
    assert numbers


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_rule_names_existing_modules_and_tests(file: Path) -> None:
    wrong = []
    for number, rule, modules, tests in rows_of(file):
        if not (rule and modules and tests):
            wrong.append(f"{number}: has no rule, module or test")
        wrong += [f"{number}: no module {name}" for name in modules if not module_exists(name)]
        for test in tests:
            path, _, name = test.partition("::")
            if name not in read_test_names(path):
                wrong.append(f"{number}: no test {test}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_rules_are_not_repeated(file: Path) -> None:
    rules = [row[1] for row in rows_of(file)]
    assert len(set(rules)) == len(rules)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_cited_rule_exists(file: Path, cited: dict[str, Path]) -> None:
    known = {row[0] for row in rows_of(file)}
    prefix = f"{prefix_of(file)}-"
    unknown = {n: module for n, module in cited.items() if n.startswith(prefix) and n not in known}
    assert unknown == {}
