"""The example notebooks: where they are, and putting them into a folder of the user's.

What was put is remembered by its digest in the folder, so that a newer version may replace it while
a file the user has changed is never written over.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from labext.errors import SetupError, StorageError
from labext.storage import storage_errors, write_atomic

MANIFEST = ".labext-examples.json"
"""The file that remembers what was put: a digest for each path."""

_KINDS = {
    *(".ipynb", ".md", ".txt"),
    *(".csv", ".fasta", ".gb", ".gbk", ".pdb"),
    *(".docx", ".html", ".pdf"),
}
_OURS = {"out", ".ipynb_checkpoints", "__pycache__"}


@dataclass
class Placed:
    """What `place` did, as paths relative to the folder.

    Attributes:
        written: files that were missing, or older than ours and unchanged by the user.
        same: files that were already there as they are now.
        kept: files the user has changed, left as they are.
    """

    folder: Path
    written: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def source() -> Path:
    """Where the notebooks are: inside the installed package, else in the checkout beside it.

    Raises:
        SetupError: they are in neither place.
    """
    package = Path(__file__).parent
    for folder in (package / "example_notebooks", package.parent / "example_notebooks"):
        if (folder / "jobs.ipynb").is_file():
            return folder
    raise SetupError(
        "The example notebooks are not part of this installation.",
        "Install it again with `pip install --force-reinstall labext-jupyter`.",
    )


def files(folder: Path) -> dict[str, bytes]:
    """The notebooks and their data in `folder`: relative path to content, without outputs."""
    found = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and path.suffix in _KINDS and not _OURS.intersection(relative.parts):
            found[relative.as_posix()] = path.read_bytes()
    return found


def place(folder: Path) -> Placed:
    """Put the notebooks and their data into `folder`, and keep every file the user has changed.

    Raises:
        StorageError: the folder can't be written.
    """
    placed = Placed(folder)
    ours = files(source())
    try:
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            remembered = _remembered(folder)
            for name, content in ours.items():
                _place_one(placed, name, content, remembered)
        digests = json.dumps(remembered, indent=1, sort_keys=True)
        write_atomic(folder / MANIFEST, digests.encode())
    except StorageError as error:
        raise StorageError(error.what, "Choose another folder with `--folder DIR`.") from None
    return placed


def _place_one(placed: Placed, name: str, content: bytes, remembered: dict[str, str]) -> None:
    target = placed.folder / PurePosixPath(name)
    digest = _digest(content)
    if target.exists():
        theirs = _digest(target.read_bytes())
        if theirs == digest:
            placed.same.append(name)
            remembered[name] = digest
            return
        if theirs != remembered.get(name):
            placed.kept.append(name)
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, content)
    placed.written.append(name)
    remembered[name] = digest


def _remembered(folder: Path) -> dict[str, str]:
    """The digests of an earlier time; a manifest that can't be read counts as none."""
    try:
        known = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return dict(known) if isinstance(known, dict) else {}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
