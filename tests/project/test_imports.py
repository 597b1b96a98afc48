"""Imports that import-linter does not check."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOMES = [ROOT / "labext", ROOT / "widgets" / "labext_widgets", ROOT / "magics" / "labext_magics"]
POSIX = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}


def unguarded_imports(tree: ast.AST) -> Iterator[str]:
    """The modules that are imported at any depth, but not under an `if sys.platform …`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
        elif not (isinstance(node, ast.If) and "sys.platform" in ast.unparse(node.test)):
            yield from unguarded_imports(node)


def test_nothing_outside_the_sandbox_is_posix_only() -> None:
    for path in (path for home in HOMES for path in home.rglob("*.py")):
        text = path.read_text("utf-8")
        if ROOT / "labext" / "sandbox" not in path.parents and any(map(text.__contains__, POSIX)):
            assert POSIX.isdisjoint(unguarded_imports(ast.parse(text))), path


def test_every_folder_of_modules_is_a_package() -> None:
    """Import-linter silently skips a folder without `__init__.py`."""
    folders = {path.parent for home in HOMES for path in home.rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []
