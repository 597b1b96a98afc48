"""Messages of the clients and the sandbox name actions, and never the syntax of one interface."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

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


def magic_syntax(path: Path) -> list[str]:
    """Return the magics and options in the messages of a module."""
    source = path.read_text("utf-8")
    literals = texts(ast.parse(source)) if SYNTAX.search(source) else []
    messages = [text for text in literals if not OPTION_ALONE.fullmatch(text)]
    return [match for text in messages for match in SYNTAX.findall(text)]


def test_no_text_has_magic_syntax() -> None:
    syntax = {path.relative_to(ROOT).as_posix(): magic_syntax(path) for path in FILES}
    assert {path: matches for path, matches in syntax.items() if matches} == EXCEPTIONS


def test_the_check_finds_a_line_an_option_and_a_magic_that_is_filled_in() -> None:
    for text in ('"See `%jobs list`."', '"Add `--yes`."', 'f"Run `%{service} login`."'):
        assert any(SYNTAX.search(match) for match in texts(ast.parse(f"x = {text}")))


def test_services_name_the_commands_of_a_sandbox_or_of_a_server() -> None:
    """Commands come from `admin_command` or `DataFolder.command`, which depend on the server."""
    command = "labext sandbox "
    sources = {path: path.read_text("utf-8") for path in (ROOT / "sandbox").rglob("*.py")}
    fixed = {
        path.relative_to(ROOT).as_posix()
        for path, source in sources.items()
        if command in source and any(command in text for text in texts(ast.parse(source)))
    }
    assert fixed == {"sandbox/core/startup_checks.py"}
