"""Contents of the wheel, the source distribution and the top level."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from labext.cli import examples

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
USERS = (
    "sandbox",
    "tools",
    "semantic",
    "speech",
    "rna",
    "gpl-tools",
    "docs",
    "views",
    "plots",
    "references",
    "cluster",
    "postgresql",
)
"""The extras with packages that labext itself imports."""
SERVED = {"fastapi-offline"}
"""Of these the files are served, and nothing is imported."""
PINNED = {"pydantic_core": ["pydantic"]}
"""Parts that come with another package, in the one version that it asks for."""
SOURCES = [
    path
    for folder in ("labext", "magics/labext_magics", "widgets/labext_widgets")
    for path in (ROOT / folder).rglob("*.py")
]
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


def test_the_wheel_holds_every_module(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for home in ("labext", "magics/labext_magics", "widgets/labext_widgets"):
        folder = ROOT / home
        for path in [*folder.rglob("*.py"), folder / "py.typed"]:
            assert f"{folder.name}/{path.relative_to(folder).as_posix()}" in names


def test_the_notebooks_travel_in_the_wheel_with_their_data(wheel: zipfile.ZipFile) -> None:
    inside = "labext/example_notebooks/"
    ours = examples.read_examples(ROOT / "example_notebooks")
    assert "jobs.ipynb" in ours
    assert "data/hairpins.csv" in ours
    travelling = {name: wheel.read(name) for name in wheel.namelist() if name.startswith(inside)}
    assert travelling == {inside + name: content for name, content in ours.items()}


def test_the_sources_of_the_reference_travel_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    ours = {path.relative_to(ROOT).as_posix() for path in (ROOT / ".docs").rglob("*.*")}
    assert ".docs/text/index.md" in ours
    assert {f"labext/{name}" for name in ours} <= set(wheel.namelist())


def test_the_wheel_holds_no_front_end_sources_twice_and_no_bytecode(wheel: zipfile.ZipFile) -> None:
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
        pytest.skip("not a git checkout: what lies about here is nobody's business")
    tops = {line.split("/")[0] for line in tracked.stdout.splitlines()}
    assert {top for top in tops if not top.startswith(".")} == TOP


def test_every_dependency_declares_a_lower_bound() -> None:
    extras = PROJECT["optional-dependencies"].values()
    for line in [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]:
        assert ">=" in line or line.startswith("labext-jupyter["), line


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    extras = PROJECT["optional-dependencies"]
    lines = [line for name in USERS for line in extras[name]]
    declared = {canonical(line) for line in [*PROJECT["dependencies"], *lines]}
    # The GPL pair is not installed where only dev is.
    homes = {"primer3": ["primer3-py"], **metadata.packages_distributions(), **PINNED}
    used = {
        canonical(distribution)
        for name in {name for path in SOURCES for name in imported(path.read_text("utf-8"))}
        for distribution in homes.get(name, [name])
        if name not in sys.stdlib_module_names and not name.startswith("labext")
    }
    assert used - {canonical(line) for line in extras["demo"]} == declared - SERVED


def test_packages_under_the_gpl_are_imported_by_their_own_tools_alone() -> None:
    tools = ROOT / "labext" / "sandbox" / "jobs" / "tools"
    assert importing_files("primer3") == [tools / "primer_design.py"]
    assert importing_files("pyrodigal") == [tools / "gene_find.py"]


def test_the_library_under_the_gpl_is_loaded_by_the_voice_alone_and_when_it_speaks() -> None:
    voice = ROOT / "labext" / "sandbox" / "nb" / "speech" / "espeak.py"
    assert importing_files("espeakng_loader") == [voice]
    extras = PROJECT["optional-dependencies"]
    having = [name for name in extras if "espeakng-loader" in map(canonical, extras[name])]
    assert having == ["speech"]


def importing_files(package: str) -> list[Path]:
    """The files that import a package; all of them must do so within functions."""
    texts = {path: path.read_text("utf-8") for path in SOURCES}
    naming = {path: text for path, text in texts.items() if package in text}
    for text in naming.values():
        body = ast.parse(text).body
        assert package not in modules(node for node in body if not is_function(node))
    return [path for path, text in naming.items() if package in imported(text)]


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef)


def canonical(requirement: str) -> str:
    return re.split(r"[\[>]", requirement)[0].lower().replace("_", "-")


def imported(text: str) -> set[str]:
    """The first part of every absolute import in a module, those within functions too."""
    return modules(ast.walk(ast.parse(text)))


def modules(nodes: Iterable[ast.AST]) -> set[str]:
    results = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            results |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            results.add((node.module or "").split(".")[0])
    return results


def test_the_extras_nest_as_they_should() -> None:
    extras = PROJECT["optional-dependencies"]
    assert (
        "labext-jupyter[lab,sandbox,tools,rna,semantic,speech,views,plots,references]"
        in extras["demo"]
    )
    assert "labext-jupyter[demo]" in extras["dev"]
    for name in USERS:
        assert not any(line.startswith("labext-jupyter") for line in extras[name])
    # What is under the GPL comes to nobody who did not ask for it.
    assert not any("gpl-tools" in line for lines in extras.values() for line in lines)
    others = {canonical(line) for name in extras if name != "gpl-tools" for line in extras[name]}
    assert others.isdisjoint(canonical(line) for line in extras["gpl-tools"])
