"""Declared dependencies and imports."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
HOMES = {
    "labext": ROOT / "labext",
    "labext_widgets": ROOT / "widgets" / "labext_widgets",
    "labext_magics": ROOT / "magics" / "labext_magics",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OTHER_EXTRAS = ("demo", "dev")
"""Extras with packages that labext does not import itself."""
SERVED = {"fastapi-offline"}
"""Packages whose files are served without an import."""
PINNED = {"pydantic_core": ["pydantic"]}
"""Parts of another package, which requires a single version of them."""
POSIX = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}
GPL = {
    "primer3": "labext.sandbox.jobs.tools.primer_design",
    "pyrodigal": "labext.sandbox.jobs.tools.gene_find",
    "espeakng_loader": "labext.sandbox.nb.speech.espeak",
}
"""The only module that imports each package under the GPL."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """All imports, those within functions included."""
    return grimp.build_graph(*HOMES, include_external_packages=True, cache_dir=None)


def importers(graph: grimp.ImportGraph, package: str) -> set[str]:
    return graph.find_modules_that_directly_import(package) if package in graph.modules else set()


def tree(module: str) -> ast.Module:
    package, *parts = module.split(".")
    path = HOMES[package].joinpath(*parts)
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def unguarded_imports(node: ast.AST) -> Iterator[str]:
    """The modules that are imported at any depth, but not under an `if sys.platform …`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and not child.level:
            yield child.module
        elif not (isinstance(child, ast.If) and "sys.platform" in ast.unparse(child.test)):
            yield from unguarded_imports(child)


def canonical(requirement: str) -> str:
    return requirement.split(">=")[0].split("[")[0].lower().replace("_", "-")


def test_imported_packages_are_the_declared_ones(graph: grimp.ImportGraph) -> None:
    lines = [line for name in EXTRAS.keys() - OTHER_EXTRAS for line in EXTRAS[name]]
    declared = {canonical(line) for line in [*PROJECT["dependencies"], *lines]}
    # The extra gpl-tools may not be installed.
    homes = {"primer3": ["primer3-py"], **metadata.packages_distributions(), **PINNED}
    used = {
        canonical(distribution)
        for name in graph.modules
        for distribution in homes.get(name, [name])
        if name not in sys.stdlib_module_names and not name.startswith("labext")
    }
    assert used - {canonical(line) for line in EXTRAS["demo"]} == declared - SERVED


@pytest.mark.parametrize(("package", "module"), GPL.items())
def test_package_under_the_gpl_is_imported_by_one_module_when_it_runs(
    graph: grimp.ImportGraph, package: str, module: str
) -> None:
    assert importers(graph, package) == {module}
    body = [node for node in tree(module).body if not isinstance(node, ast.FunctionDef)]
    assert package not in unguarded_imports(ast.Module(body, []))


@pytest.mark.parametrize(
    ("package", "extra"),
    [("espeakng-loader", "speech"), ("primer3-py", "gpl-tools"), ("pyrodigal", "gpl-tools")],
)
def test_package_under_the_gpl_is_in_one_extra(package: str, extra: str) -> None:
    assert [name for name in EXTRAS if package in map(canonical, EXTRAS[name])] == [extra]


def test_extras_include_one_another_as_declared() -> None:
    included = {
        name: [line for line in lines if line.startswith("labext-jupyter")]
        for name, lines in EXTRAS.items()
    }
    light = "lab,sandbox,tools,rna,semantic,speech,views,plots,references"
    assert {name: lines for name, lines in included.items() if lines} == {
        "demo": [f"labext-jupyter[{light}]"],
        "dev": [
            f"labext-jupyter[{extra}]"
            for extra in ("demo", "docs", "postgresql", "cluster", "server", "s3")
        ],
    }


def test_every_dependency_declares_a_lower_bound() -> None:
    for line in [*PROJECT["dependencies"], *(line for lines in EXTRAS.values() for line in lines)]:
        assert ">=" in line or line.startswith("labext-jupyter["), line


def test_nothing_outside_the_sandbox_is_posix_only(graph: grimp.ImportGraph) -> None:
    for module in set().union(*(importers(graph, name) for name in POSIX)):
        if not module.startswith("labext.sandbox."):
            assert POSIX.isdisjoint(unguarded_imports(tree(module))), module


def test_every_folder_of_modules_is_a_package() -> None:
    """Import-linter silently skips a folder without `__init__.py`."""
    folders = {path.parent for home in HOMES.values() for path in home.rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []
