"""`labext docs`: build the reference once per version and open it in the browser."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from labext.config import cache_dir
from labext.errors import LabextError, SetupError
from labext.extras import DISTRIBUTION, install_line
from labext.storage import storage_errors

FIRST = "index.html"
_GENERATORS = ("pdoc", "nbconvert")


class BuildError(LabextError):
    """The generator of the reference failed."""


def reference_page(output: Path | None) -> Path:
    """Return the first page of the reference, built if necessary.

    Args:
        output: the folder to build into; None for a folder of this version in the user's cache,
            which is built once. From a checkout it is built each time, since its texts change.

    Raises:
        SetupError: the generator is not installed.
        StorageError: the folder can't be written.
    """
    sources, is_checkout = _sources_folder()
    folder = output or cache_dir() / "docs" / metadata.version(DISTRIBUTION)
    page = folder.absolute() / FIRST
    if output is None and page.exists() and not is_checkout:
        return page
    missing = [name for name in _GENERATORS if find_spec(name) is None]
    if missing:
        raise SetupError(
            f"The reference needs {' and '.join(missing)}, not installed here.",
            f"Run `{install_line('docs')}`.",
        )
    with storage_errors(folder):
        _build(sources, folder.absolute())
    return page


def _sources_folder() -> tuple[Path, bool]:
    """Return the folder of the texts and templates, and whether it is part of a checkout.

    Raises:
        SetupError: this installation has none.
    """
    package = Path(__file__).parents[1]
    for parent in (package, package.parent):
        if (parent / ".docs" / "templates").is_dir():
            return parent / ".docs", parent != package
    raise SetupError(
        "The reference is not part of this installation.",
        "Install it again with `pip install --force-reinstall labext-jupyter`.",
    )


def _build(sources: Path, folder: Path) -> None:
    """Build the pages and copy them into `folder`, whose other files stay."""
    print("Building the reference …", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as built:
        # In a process of its own: rendering imports every documented module and changes some.
        finished = subprocess.run(
            [sys.executable, "-m", "labext_magics.reference", str(sources), built],
            capture_output=True,
            text=True,
            check=False,
        )
        if finished.returncode:
            reason = finished.stderr.strip().splitlines()[-1:] or ["no message"]
            raise BuildError(f"The reference was not built: {reason[0]}.")
        shutil.copytree(built, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(FIRST))
        # The first page comes last: with it, the reference is complete.
        shutil.copy(Path(built) / FIRST, folder)
