"""The committed bundles are what the committed sources build to."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

WIDGETS = Path(__file__).parents[2] / "widgets"
STATIC = Path("labext_widgets/static")
BUNDLES = ("hub.js", "player.js", "sequence.js")
UNREACHABLE = ("ENOTFOUND", "ECONNREFUSED", "EAI_AGAIN", "ETIMEDOUT", "ENETUNREACH", "ECONNRESET")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on the PATH; the bundle can't be built")
    folder = tmp_path_factory.mktemp("widgets")
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(WIDGETS / name, folder)
    shutil.copytree(WIDGETS / "js", folder / "js")
    environment = os.environ | {"npm_config_cache": str(folder / "cache")}
    for arguments in (["ci"], ["run", "build"]):
        ran = subprocess.run(
            [npm, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if ran.returncode and any(code in ran.stderr for code in UNREACHABLE):
            pytest.skip("the npm registry can't be reached; the bundle can't be built")
        assert ran.returncode == 0, ran.stderr
    return folder


@pytest.mark.parametrize("name", BUNDLES)
def test_committed_bundle_matches_the_build(copy: Path, name: str) -> None:
    built = (copy / STATIC / name).read_text()
    assert built == (WIDGETS / STATIC / name).read_text(), "run `npm ci && npm run build`"


def test_bundle_list_is_complete(copy: Path) -> None:
    for folder in (copy, WIDGETS):
        assert sorted(each.name for each in (folder / STATIC).iterdir()) == list(BUNDLES)


@pytest.mark.parametrize("name", BUNDLES)
def test_bundle_requests_nothing_from_the_network(name: str) -> None:
    bundle = (WIDGETS / STATIC / name).read_text()
    addresses = set(re.findall(r"https?://[^\"'`\s)]*", bundle))
    assert addresses <= {"http://www.w3.org/2000/svg"}, "a namespace is a name, not an address"
    assert re.findall(r"\bimport\((.*?)\)", bundle) == (["url"] if name == "hub.js" else [])
    assert not re.findall(r"\b(?:fetch|XMLHttpRequest|WebSocket|importScripts)\b", bundle)


def test_hub_imports_only_blobs_sent_by_the_kernel() -> None:
    hub = (WIDGETS / STATIC / "hub.js").read_text()
    assert re.findall(r"\burl = (.*);", hub) == [
        'URL.createObjectURL(new Blob([code], { type: "text/javascript" }))'
    ]


def test_lock_file_names_no_registry() -> None:
    lock = json.loads((WIDGETS / "package-lock.json").read_text())
    assert lock["packages"]
    assert not [name for name, each in lock["packages"].items() if "resolved" in each]
    assert all("integrity" in each for name, each in lock["packages"].items() if name)
