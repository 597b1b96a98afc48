"""Messages of the clients and the sandbox name actions, and never the syntax of one interface."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "labext"
CHECKED = ["jobs", "lab", "nb", "http", "config", "frames", "sandbox"]
SYNTAX = re.compile(r"%(?:jobs|lab|nb)\b|`%+$|(?<![\w-])--[a-z][\w-]*")
"""A magic (also with its name filled in) or an option."""

OPTION_ALONE = re.compile(r"--[a-z][\w-]*")
"""An argument of a process; a message never consists of an option alone."""

EXCEPTIONS = {"frames/views.py": ["--jp-code-font-family"]}  # a variable of CSS
FILES = sorted(
    [*ROOT.glob("*.py"), *(path for name in CHECKED for path in (ROOT / name).rglob("*.py"))]
)


def texts(tree: ast.AST) -> Iterator[str]:
    """The string literals of a module without its docstrings."""
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documents = {
        statement.value
        for node in ast.walk(tree)
        if isinstance(node, described)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documents:
            yield node.value


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_has_magic_syntax(path: Path) -> None:
    source = path.read_text("utf-8")
    literals = texts(ast.parse(source)) if re.search("%|--", source) else []
    messages = [text for text in literals if not OPTION_ALONE.fullmatch(text)]
    matches = [match for text in messages for match in SYNTAX.findall(text)]
    assert sorted(matches) == sorted(EXCEPTIONS.get(path.relative_to(ROOT).as_posix(), []))


def test_the_check_finds_a_line_an_option_and_a_magic_that_is_filled_in() -> None:
    for text in ('"See `%jobs list`."', '"Add `--yes`."', 'f"Run `%{service} login`."'):
        assert any(SYNTAX.search(match) for match in texts(ast.parse(f"x = {text}")))


def test_services_name_the_commands_of_a_sandbox_or_of_a_server() -> None:
    """Commands come from `admin_command` or `DataFolder.command`, which depend on the server."""
    fixed = {
        (path.relative_to(ROOT).as_posix(), text)
        for path in (ROOT / "sandbox").rglob("*.py")
        for text in texts(ast.parse(path.read_text("utf-8")))
        if "labext sandbox " in text
    }
    assert {path for path, _ in fixed} == {"sandbox/core/startup_checks.py"}
