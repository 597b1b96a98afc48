"""The committed bundles equal the build of the sources, and are sent when first used."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import comm
import pytest

from labext_widgets.core import hub

WIDGETS = Path(__file__).parents[2] / "widgets"
STATIC = Path("labext_widgets/static")
BUNDLES = (
    "alignment.js",
    "gallery.js",
    "hub.js",
    "player.js",
    "plot.js",
    "sequence.js",
    "structure.js",
)
STRINGS_OF_3DMOL = ("rcsb.org", "pubchem", "stackoverflow", "github.com", "mrl.nyu.edu")
DISABLED_REQUESTS = "--define:fetch=undefined --define:XMLHttpRequest=undefined"
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
        assert sorted(path.name for path in (folder / STATIC).glob("*.js")) == list(BUNDLES)


@pytest.mark.parametrize("name", BUNDLES)
def test_bundle_requests_nothing_from_the_network(name: str) -> None:
    bundle = (WIDGETS / STATIC / name).read_text()
    addresses = set(re.findall(r"https?://[^\"'`\s)]+", bundle))
    if (
        name == "structure.js"
    ):  # 3Dmol contains addresses of services, but the build removes the requests
        addresses = {url for url in addresses if not any(part in url for part in STRINGS_OF_3DMOL)}
        assert DISABLED_REQUESTS in (WIDGETS / "package.json").read_text()
        bundle = re.sub(r"\b\w\.fetch=|\"fetch of \"", "", bundle)  # a name and a message
    assert addresses <= {"http://www.w3.org/2000/svg"}, "a namespace is a name, not an address"
    assert re.findall(r"\bimport\((.*?)\)", bundle) == (["url"] if name == "hub.js" else [])
    assert not re.findall(r"\b(?:fetch|XMLHttpRequest|WebSocket|importScripts)\b", bundle)


def test_all_bundles_together_have_at_most_a_megabyte_and_a_fifth() -> None:
    assert sum((WIDGETS / STATIC / name).stat().st_size for name in BUNDLES) <= 1_200_000


def test_licenses_of_bundled_packages_are_distributed() -> None:
    lock = json.loads((WIDGETS / "package-lock.json").read_text())["packages"]
    bundled = [name for name in lock if name and lock[name].get("dev") and "esbuild" not in name]
    text = (WIDGETS / STATIC / "structure.LICENSES.txt").read_text()
    missing = [name for name in bundled if f"\n{name.rpartition('node_modules/')[2]} " not in text]
    assert bundled
    assert not missing


def test_hub_imports_only_blobs_sent_by_the_kernel() -> None:
    hub = (WIDGETS / STATIC / "hub.js").read_text()
    assert re.findall(r"\burl = (.*);", hub) == [
        'URL.createObjectURL(new Blob([code], { type: "text/javascript" }))'
    ]


def test_lock_file_names_no_registry() -> None:
    lock = json.loads((WIDGETS / "package-lock.json").read_text())
    assert lock["packages"]
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_numbers_do_not_depend_on_the_language_of_the_browser() -> None:
    sources = {path.name: path.read_text() for path in (WIDGETS / "js").rglob("*.js")}
    assert "format.js" in sources
    assert not [name for name, source in sources.items() if "toLocaleString()" in source]


def test_style_sheets_share_no_class() -> None:
    """The styles of every bundle on a page apply to the views of all others."""
    alone = re.compile(r"\.(labext-[\w-]+)(?:\[[^\]]*\]|::?[\w-]+(?:\([^)]*\))?)*")
    owners: dict[str, set[str]] = {}
    for path in sorted((WIDGETS / "js").rglob("*.css")):
        css = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for selectors in re.findall(r"([^{}]+)\{", css):
            for selector in selectors.split(","):
                if match := alone.fullmatch(selector.strip()):
                    owners.setdefault(match[1], set()).add(str(path.relative_to(WIDGETS / "js")))
    del owners["labext-live"]
    assert {name: paths for name, paths in owners.items() if len(paths) > 1} == {}


class Comm(comm.base_comm.BaseComm):
    """A connection to a page that records sent messages."""

    sent: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
        self.sent.append((msg_type, data or {}))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    monkeypatch.setattr(comm, "create_comm", Comm)
    monkeypatch.setattr(Comm, "sent", [])
    yield Comm.sent
    hub.close()


def opened(sent: list[tuple[str, dict[str, Any]]], key: str) -> list[dict[str, Any]]:
    states = [data.get("state", {}) for kind, data in sent if kind == "comm_open"]
    return [state for state in states if key in state]


def test_bundle_is_sent_once_and_only_for_its_views(sent: list[tuple[str, dict[str, Any]]]) -> None:
    progress = hub.mount("a", "progress", {})
    assert opened(sent, "code") == []
    first_model = hub.mount("b", "sequence", {"bases": "ACGT"})
    two = hub.mount("c", "sequence", {"bases": "ACGT"})
    (bundle,) = opened(sent, "code")
    assert bundle["code"] == (hub._STATIC / "sequence.js").read_text("utf-8")
    assert progress.bundle == ""
    assert first_model.bundle == two.bundle != ""
    assert repr(hub._bundles["sequence.js"]) == "Bundle()"
    for model in (progress, first_model, two):
        hub.unmount(model)
    hub.close()
    assert hub._bundles == {}
    again = hub.mount("d", "sequence", {})
    assert again.bundle != first_model.bundle, "after an unload it is sent again"
    hub.unmount(again)


def test_partial_update_is_sent_without_the_rest_of_the_state(
    sent: list[tuple[str, dict[str, Any]]],
) -> None:
    view = hub.mount("a", "sequence", {"bases": "ACGT" * 1000, "selection": None})
    sent.clear()
    for change in ({"selection": 7}, {"sites": []}, {"sites": []}):
        view.update_state(change)
    assert [kind for kind, _ in sent] == ["comm_msg"] * 3, "equal updates are sent, too"
    assert all(list(data["state"]) == ["changes"] for _, data in sent)
    last = sent[-1][1]["state"]["changes"]
    assert (last["parts"], last["last"]) == ({"selection": 7, "sites": []}, ["sites"])
    assert len(view.get_state("state")["state"]["bases"]) == 4000
    hub.unmount(view)
