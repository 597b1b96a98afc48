"""Contents of wheel and source distribution, declared dependencies, and workflows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from itertools import product
from pathlib import Path

import grimp
import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from labext.cli import examples
from labext.sandbox import lifecycle

ROOT = Path(__file__).parents[2]
TOP = {"pyproject.toml", "README.md", "LICENSE"} | {
    *("labext", "magics", "widgets", "example_notebooks", "tests")
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return zipfile.ZipFile(built)


def test_wheel_contains_three_packages_only(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        *("labext", "labext_magics", "labext_widgets")
    }


def test_wheel_contains_every_module_and_table_of_rules(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for home in ("labext", "magics/labext_magics", "widgets/labext_widgets"):
        folder = ROOT / home
        for path in [*folder.rglob("*.py"), *folder.rglob("*.md"), folder / "py.typed"]:
            assert f"{folder.name}/{path.relative_to(folder).as_posix()}" in names


def test_wheel_contains_the_notebooks_and_their_data(wheel: zipfile.ZipFile) -> None:
    inside = "labext/example_notebooks/"
    ours = examples.read_examples(ROOT / "example_notebooks")
    assert "jobs.ipynb" in ours
    assert "data/hairpins.csv" in ours
    travelling = {name: wheel.read(name) for name in wheel.namelist() if name.startswith(inside)}
    assert travelling == {inside + name: content for name, content in ours.items()}


def test_wheel_contains_the_sources_of_the_reference(wheel: zipfile.ZipFile) -> None:
    ours = {path.relative_to(ROOT).as_posix() for path in (ROOT / ".docs").rglob("*.*")}
    assert ".docs/text/index.md" in ours
    assert {f"labext/{name}" for name in ours} <= set(wheel.namelist())


def test_wheel_contains_no_duplicate_front_end_sources_and_no_bytecode(
    wheel: zipfile.ZipFile,
) -> None:
    for name in wheel.namelist():
        assert "node_modules" not in name
        assert not name.endswith((".pyc", ".map"))


def test_the_source_distribution_builds_the_same_wheel(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    (built,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(built) as archive:
        archive.extractall(tmp_path, filter="data")
    (tree,) = (path for path in tmp_path.iterdir() if path.is_dir())
    (again,) = WheelBuilder(str(tree)).build(directory=str(tmp_path), versions=["standard"])
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(wheel.namelist())


def test_the_top_level_is_fixed() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("not a git checkout")
    tops = {line.split("/")[0] for line in tracked.stdout.splitlines()}
    assert {top for top in tops if not top.startswith(".")} == TOP


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def expand_braces(text: str) -> list[str]:
    """Expand `a/{b,c}.py` as a shell does."""
    parts = re.split(r"\{([^}]*)\}", text)
    choices = [part.split(",") if index % 2 else [part] for index, part in enumerate(parts)]
    return ["".join(words) for words in product(*choices)]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_hash_with_their_version(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_named_test_files_exist(path: Path) -> None:
    named = re.findall(r"tests/\S+\.py", path.read_text(encoding="utf-8"))
    for name in named:
        for expanded in expand_braces(name):
            assert (ROOT / expanded).is_file(), expanded


HOMES = {
    "labext": ROOT / "labext",
    "labext_widgets": ROOT / "widgets" / "labext_widgets",
    "labext_magics": ROOT / "magics" / "labext_magics",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OTHER_EXTRAS = ("demo", "dev")
"""Extras with packages that labext does not import itself."""
NOT_IMPORTED = {"fastapi-offline", "lxml-html-clean"}
"""Packages whose files are served, or that a dependency imports."""
PINNED = {"pydantic_core": ["pydantic"]}
"""Parts of another package, which requires a single version of them."""
POSIX = {"fcntl", "grp", "pty", "pwd", "resource", "termios"}
GPL = {
    "primer3": "labext.sandbox.jobs.tools.primer_design",
    "pyrodigal": "labext.sandbox.jobs.tools.gene_find",
    "espeakng_loader": "labext.sandbox.nb.speech.engines",
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
    assert used - {canonical(line) for line in EXTRAS["demo"]} == declared - NOT_IMPORTED


def test_packages_that_a_sandbox_requires_are_those_of_its_extra() -> None:
    homes = metadata.packages_distributions()
    required = {canonical(homes[name][0]) for name in lifecycle._PACKAGES}
    assert required <= {canonical(line) for line in EXTRAS["sandbox"]}


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
