"""Contents of the wheel, the source distribution and the top level."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from labext.cli import examples

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
        pytest.skip("not a git checkout")
    tops = {line.split("/")[0] for line in tracked.stdout.splitlines()}
    assert {top for top in tops if not top.startswith(".")} == TOP
