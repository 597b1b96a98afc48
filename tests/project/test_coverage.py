"""The operation tables of the Open Notebook backend match the server, the client and `%nb`."""

from __future__ import annotations

import importlib
import pkgutil
import re
from operator import attrgetter
from pathlib import Path

from labext.http import Operation
from labext.nb import NotebookClient, backends
from labext_magics.nb.magic import MAGIC

ROOT = Path(__file__).parents[2]
COVERAGE = ROOT / "labext" / "nb" / "backends" / "open_notebook" / "COVERAGE.md"
OPERATIONS = ROOT / "tests" / "support" / "open_notebook" / "operations.txt"

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in COVERAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
]
CALLED = {row[0].strip("`"): row[1:] for row in ROWS if len(row) == 4}
LEFT_OUT = {row[0].strip("`"): row[1] for row in ROWS if len(row) == 2}


def _without_names(method: str, path: str) -> tuple[str, str]:
    return method, re.sub(r"\{\w+\}", "{}", path.removeprefix("/api").strip("/"))


def _client_operations() -> set[tuple[str, str]]:
    names = set()
    for module in pkgutil.walk_packages(backends.__path__, f"{backends.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            for member in (value, *getattr(value, "__dict__", {}).values()):
                if isinstance(member, Operation):
                    names.add(_without_names(member.method, member.path))
    return names


def test_tables_hold_every_operation_once() -> None:
    lines = OPERATIONS.read_text(encoding="utf-8").splitlines()
    commands = [" ".join(line.split()[:2]) for line in lines if line]
    assert sorted(row[0].strip("`") for row in ROWS) == sorted(commands)
    assert len(commands) == 115


def test_introduction_states_the_counts() -> None:
    numbers = re.search(
        r"has (\d+) operations\. The client calls (\d+) of them and leaves out (\d+)",
        COVERAGE.read_text(encoding="utf-8"),
    )
    assert numbers is not None
    counts = [len(ROWS), len(CALLED), len(LEFT_OUT)]
    assert [int(number) for number in numbers.groups()] == counts


def test_every_operation_left_out_has_a_reason() -> None:
    assert all(LEFT_OUT.values())


def test_named_methods_exist() -> None:
    with NotebookClient("http://127.0.0.1:1/api", backend="open-notebook") as client:
        for operation, (methods, _, _) in CALLED.items():
            names = re.findall(r"`([\w.]+)`", methods)
            assert names, operation
            assert all(callable(attrgetter(name)(client)) for name in names), operation


def test_named_lines_exist() -> None:
    for operation, (_, line, note) in CALLED.items():
        lines = re.findall(r"`%nb ([^`]+)`", f"{line} {note}")
        assert lines, operation
        for words in lines:
            command = MAGIC.find(words.split())
            assert command is not None, words
            assert words.startswith(command.name), words
            for option in re.findall(r"--([a-z-]+)", words):
                assert command.option(f"--{option}"), words


def test_called_operations_are_declared_by_the_backends() -> None:
    declared = _client_operations()
    for operation in CALLED:
        method, path = operation.split()
        assert _without_names(method, path) in declared, operation
