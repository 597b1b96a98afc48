"""The committed bundle is what the committed sources build to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

WIDGETS = Path(__file__).parents[2] / "widgets"
BUNDLE = Path("labext_widgets/static/hub.js")
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


def test_the_bundle_is_what_the_sources_build_to(copy: Path) -> None:
    built = (copy / BUNDLE).read_text()
    assert built == (WIDGETS / BUNDLE).read_text(), "run `npm ci && npm run build` in widgets/"


def test_the_bundle_asks_the_network_for_nothing() -> None:
    bundle = (WIDGETS / BUNDLE).read_text()
    assert "http://" not in bundle
    assert "https://" not in bundle
    assert "import(" not in bundle


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((WIDGETS / "package-lock.json").read_text())
    assert lock["packages"]
    assert not [name for name, each in lock["packages"].items() if "resolved" in each]
    assert all("integrity" in each for name, each in lock["packages"].items() if name)
