"""Imports point one way, and only where they may."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOMES = {
    "labext": ROOT / "labext",
    "labext_widgets": ROOT / "widgets" / "labext_widgets",
    "labext_magics": ROOT / "magics" / "labext_magics",
}
ORDER = list(HOMES)
CLIENT = (
    "labext.jobs",
    "labext.http",
    "labext.frames.conversion",
    "labext.config",
    "labext.progress",
)
POSIX = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}


def modules() -> Iterator[tuple[str, Path]]:
    for package, home in HOMES.items():
        for path in home.rglob("*.py"):
            parts = path.relative_to(home).with_suffix("").parts
            yield ".".join([package, *(part for part in parts if part != "__init__")]), path


def imported(name: str, path: Path) -> Iterator[tuple[str, ast.stmt]]:
    """Every module that `path` names in an import, at any depth, with the statement."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            head = ".".join([*base, node.module or ""]).strip(".") if node.level else node.module
            yield from ((f"{head}.{alias.name}", node) for alias in node.names)


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def function_of(path: Path, statement: ast.stmt) -> str | None:
    """The name of the function that holds a statement, by its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.lineno < statement.lineno <= (
            node.end_lineno or 0
        ):
            return node.name
    return None


def behind_the_platform(path: Path, statement: ast.stmt) -> bool:
    """Whether a statement stands under an `if sys.platform …`."""
    return any(
        isinstance(node, ast.If)
        and "sys.platform" in ast.unparse(node.test)
        and node.lineno < statement.lineno <= (node.end_lineno or 0)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


@pytest.fixture(scope="module")
def imports() -> list[tuple[str, Path, str, ast.stmt]]:
    """Yield every import: the module, its file, the imported name, and the statement."""
    return [
        (name, path, target, statement)
        for name, path in modules()
        for target, statement in imported(name, path)
    ]


def test_they_point_one_way(imports: list[tuple[str, Path, str, ast.stmt]]) -> None:
    upwards = [
        (name, path, target, statement)
        for name, path, target, statement in imports
        if within(target, *ORDER[ORDER.index(name.split(".")[0]) + 1 :])
    ]
    for name, path, target, statement in upwards:
        assert name == "labext", f"{name} imports {target}, which is above it"
        assert function_of(path, statement) in {
            "load_ipython_extension",
            "unload_ipython_extension",
        }
    assert upwards


def test_client_and_sandbox_are_each_other_s_independent_check(
    imports: list[tuple[str, Path, str, ast.stmt]],
) -> None:
    for name, _, target, _ in imports:
        if within(name, *CLIENT):
            assert not within(target, "labext.sandbox"), f"{name} is a client: {target}"
        if within(name, "labext.sandbox"):
            assert not within(target, *CLIENT[:3]), f"{name} is of the sandbox: {target}"


def test_nothing_outside_the_sandbox_is_posix_only(
    imports: list[tuple[str, Path, str, ast.stmt]],
) -> None:
    for name, path, target, statement in imports:
        if not within(name, "labext.sandbox") and target.split(".")[0] in POSIX:
            assert behind_the_platform(path, statement), f"{name} imports {target}"


def test_every_folder_of_modules_is_a_package() -> None:
    """Of a folder without `__init__.py` import-linter sees nothing, and says nothing."""
    folders = {path.parent for home in HOMES.values() for path in home.rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []
