"""Downloads interrupted at any step on disk are completed by the next call.

An audit hook counts every opening, renaming, removal and creation of a file or folder. The download
is interrupted at many of them: by KeyboardInterrupt, which allows cleanup, and by a simulated kill,
after which nothing reaches the disk.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from labext.jobs import JobsClient

pytestmark = pytest.mark.faults

STEPS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}


class Killed(BaseException):
    """A simulated kill: no later step succeeds."""


class Saboteur:
    """Count the steps of a download below a folder, and raise at one of them."""

    def __init__(self) -> None:
        self.below: str | None = None
        self.steps = 0
        self.at = -1
        self.kind: type[BaseException] = KeyboardInterrupt

    def arm(self, below: Path, at: int = -1, kind: type[BaseException] = KeyboardInterrupt) -> None:
        self.steps, self.at, self.kind, self.below = 0, at, kind, str(below)

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.below is None or event not in STEPS or not _is_path(args[0]):
            return
        if not os.fsdecode(args[0]).startswith(self.below):
            return
        self.steps += 1
        again = self.kind is Killed and self.steps > self.at >= 0
        if self.steps == self.at or again:
            raise self.kind


def _is_path(value: object) -> bool:
    return isinstance(value, str | bytes | os.PathLike)


_saboteur = Saboteur()


@pytest.fixture(scope="module")
def hooked() -> None:
    """Add the audit hook, which cannot be removed and is inert unless armed."""
    sys.addaudithook(_saboteur)


@pytest.fixture
def saboteur(hooked: None) -> Iterator[Saboteur]:
    yield _saboteur
    _saboteur.below = None


def tree(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder without their timestamps."""
    return {
        str(path.relative_to(folder)): b"" if path.suffix == ".json" else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def hidden(name: str) -> bool:
    """Return True for a temporary record that a kill may leave."""
    return name.startswith(".") and name.rpartition(".")[0].endswith(".json")


Fetch = Callable[[Path], object]


def every_step(
    saboteur: Saboteur,
    fetch: Fetch,
    make: Callable[[], Path],
    kind: type[BaseException],
    stride: int = 1,
) -> int:
    """Interrupt a download at each step, complete it and compare; return the number of steps.

    Args:
        saboteur: the audit hook.
        fetch: downloads into a folder.
        make: creates the folder as it is before the download.
        kind: the exception that interrupts the download.
        stride: interrupt at every `stride`-th step only.
    """
    whole = make()
    saboteur.arm(whole)
    fetch(whole)
    saboteur.below, steps = None, saboteur.steps
    expected = tree(whole)
    for at in range(1, steps + 1, stride):
        folder = make()
        saboteur.arm(folder, at, kind)
        with pytest.raises(kind):
            fetch(folder)
        saboteur.below = None
        fetch(folder)
        result = tree(folder)
        if kind is Killed:
            result = {name: content for name, content in result.items() if not hidden(name)}
        assert result == expected, f"after step {at} of {steps}"
    return steps


@pytest.fixture
def folders(tmp_path: Path) -> Callable[[], Path]:
    created: list[Path] = []

    def make() -> Path:
        folder = tmp_path / f"{len(created):04d}"
        folder.mkdir()
        (folder / "notes.txt").write_text("the user's own")
        created.append(folder)
        return folder

    return make


@pytest.fixture
def done(ledger: Any) -> Any:
    """The service with a complete job f1, and a complete batch in two parts, b."""
    ledger.add("f1", settings={"sequence": "A"})
    ledger.complete("f1", results={"rank_1.pdb": "ATOM\n", "deep/er/log.txt": "done\n"})
    for number, job in ((1, "x"), (2, "yy")):
        ledger.add_batch(f"b-part{number}of2", {job: {}})
        ledger.complete(f"b-part{number}of2")
    return ledger


@pytest.mark.parametrize(
    ("name", "to", "file", "stride"),
    [
        ("f1", "", None, 2),
        ("b", "", None, 7),
        ("f1", "f1.zip", None, 3),
        ("f1", "m.pdb", "rank_1.pdb", 3),
    ],
)
def test_interrupted_download_can_be_repeated(
    client: JobsClient,
    done: Any,
    saboteur: Saboteur,
    folders: Any,
    name: str,
    to: str,
    file: str | None,
    stride: int,
) -> None:
    def fetch(folder: Path) -> object:
        return client.download(name, folder / to, file=file)

    steps = every_step(saboteur, fetch, folders, KeyboardInterrupt, stride)
    assert steps > (5 if to else 20)
    every_step(saboteur, fetch, folders, Killed, stride=7)


def test_interrupted_replacement_of_results_can_be_repeated(
    client: JobsClient, done: Any, saboteur: Saboteur, folders: Any
) -> None:
    """Files of the earlier run are removed, wherever the download was interrupted."""
    runs = [
        ("2026-01-01T01:00:00Z", done.zipped({"old/only.pdb": "ATOM old\n", "log.txt": "old\n"})),
        ("2026-01-01T02:00:00Z", done.zipped({"new.pdb": "ATOM new\n", "log.txt": "new\n"})),
    ]

    def run(number: int) -> None:
        done.rows["f1"]["Completed"], done.archives["f1"] = runs[number]

    def make() -> Path:
        folder: Path = folders()
        run(0)
        client.download("f1", folder)
        run(1)
        return folder

    assert every_step(saboteur, lambda to: client.download("f1", to), make, Killed, stride=3) > 20
    last = make()
    client.download("f1", last)
    assert not (last / "old").exists()
