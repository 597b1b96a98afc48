"""Choose the view of a result file, of a job and of a batch by the contents of the files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from labext.errors import InputError, NotFoundError
from labext.jobs.output_kinds import output_kind
from labext.messages import join_words, suggest
from labext_widgets.core.picture import PictureView
from labext_widgets.results.files import JobFiles, TextView, read_table
from labext_widgets.results.gallery import Entry, Gallery

if TYPE_CHECKING:
    import pandas as pd

    from labext_widgets.structure import StructureViewer

_COMMON = {"settings.json", "score.json", "log.txt", "metrics.csv"}
"""Files that the sandbox adds to every job."""

_STRUCTURE_FORMATS = {".pdb": "pdb", ".ent": "pdb", ".cif": "cif", ".mmcif": "cif", ".sdf": "sdf"}
_NOT_IN_GALLERY = ("table", "text")


def main_file(files: JobFiles) -> str:
    """Return the path of the most informative file of a job.

    The first ranked structure is preferred to the job's initial structure, and a file with all
    models to a file with one model.

    Raises:
        InputError: none of the files can be shown.
    """
    if (path := _find_main_file(files)) is None:
        names = join_words(files.paths, 5) if files.paths else "no files"
        raise InputError(f"{files.job} wrote {names}, which can't be shown.", "Download them.")
    return path


def _find_main_file(files: JobFiles) -> str | None:
    preference = [*_OPENERS]
    viewable = [
        (preference.index(kind), _rank(path), path)
        for path in files.paths
        if (kind := output_kind(path)) is not None
    ]
    return min(viewable)[2] if viewable else None


def _rank(path: str) -> tuple[int, str]:
    name = PurePosixPath(path)
    if name.name in _COMMON:
        return 3, path
    if name.suffix == ".sdf":
        return 0, path
    return (2 if name.stem in ("start", "input") else 1), path


def open_job(files: JobFiles, path: str | None = None) -> Any:
    """Return the view of a job, or of one of its files.

    Args:
        files: the files of the job.
        path: the path of a file, or its name; by default the most informative file.

    Raises:
        NotFoundError: there is no such file.
        InputError: the file can't be shown.
    """
    return open_file(files, main_file(files) if path is None else _find_path(files, path))


def open_file(files: JobFiles, path: str) -> Any:
    """Return the view of one file: an object that is displayed when it is the value of a cell."""
    kind = output_kind(path)
    if kind is None:
        content = files.read(path)
        if b"\0" in content[:8000]:
            raise InputError(f"{path} is not a text and can't be shown.", "Download it.")
        return TextView(content.decode("utf-8", "replace"), f"{files.job}: {path}")
    return _OPENERS[kind](files, path)


def open_comparison(files: JobFiles, path: str | None, other: JobFiles) -> StructureViewer:
    """Return the view of two superposed structures.

    Raises:
        InputError: one of them is not a structure.
    """
    viewer = _open_structure(files, _structure_path(files, path))
    reference = _structure_path(other, None)
    return viewer.compare(other.read(reference), _structure_format(reference), name=other.job)


def open_gallery(
    name: str,
    jobs: Sequence[JobFiles],
    *,
    sort: str | None = None,
    ascending: bool = True,
    page: int = 1,
) -> Gallery:
    """Return a gallery of the jobs of a batch, sorted by a score.

    Args:
        name: the batch's name.
        jobs: the files of its complete jobs; those without a drawing or structure are left out.
        sort: the score; by default the jobs keep their order.
        ascending: whether the lowest score comes first.
        page: the page, from 1.

    Raises:
        InputError: no job has files to show in a gallery, or no job has the score.
    """
    entries = [
        Entry(files.job, files.scores, partial(open_file, files, path))
        for files in jobs
        if (path := _find_main_file(files)) and output_kind(path) not in _NOT_IN_GALLERY
    ]
    if not entries:
        raise InputError(
            f"The jobs of {name} wrote no structures or drawings to show side by side.",
            "View one of its jobs.",
        )
    gallery = Gallery(name, entries)
    if sort is not None:
        gallery.sort(sort, ascending=ascending)
    gallery.show_page(page)
    gallery.cards()  # reads the files now, when an interrupt is an error of the command
    return gallery


def _find_path(files: JobFiles, path: str) -> str:
    if path in files.paths or not files.paths:  # unknown for a very large archive
        return path
    same_name = [other for other in files.paths if other.rpartition("/")[2] == path]
    if len(same_name) == 1:
        return same_name[0]
    if same_name:
        raise InputError(
            f"{files.job} has {len(same_name):,} files called {path}: {join_words(same_name, 3)}.",
            f"Give the path of one of them, such as {same_name[0]}.",
        )
    raise NotFoundError(
        f"{files.job} has no result file {path}.",
        suggest(path, files.paths, f"It has {join_words(files.paths, 8)}."),
    )


def _structure_path(files: JobFiles, path: str | None) -> str:
    chosen = main_file(files) if path is None else _find_path(files, path)
    if output_kind(chosen) != "structure":
        raise InputError(
            f"{files.job} has no structure to superpose: {chosen} is not one.",
            "Name a PDB, mmCIF or SDF file.",
        )
    return chosen


def _structure_format(path: str) -> Any:
    return _STRUCTURE_FORMATS.get(PurePosixPath(path).suffix.lower(), "pdb")


def _open_structure(files: JobFiles, path: str) -> StructureViewer:
    from labext_widgets.structure import structure_viewer

    return structure_viewer(files.read(path), _structure_format(path), name=files.job)


def _open_tree(files: JobFiles, path: str) -> Any:
    from labext_widgets.alignment import tree_view

    alignment = _read_optional(files, "alignment.fasta")
    return tree_view(files.read_text(path), alignment, name=files.job)


def _open_alignment(files: JobFiles, path: str) -> Any:
    from labext_widgets.alignment import alignment_view

    return alignment_view(files.read_text(path), name=files.job)


def _open_digest(files: JobFiles, path: str) -> Any:
    from labext_widgets.drawings import digest_view

    length = files.scores.get("length")
    return digest_view(
        files.read_text(path),
        name=files.job,
        length=None if length is None else int(length),
        circular=files.settings.get("circular") is True,
    )


def _open_rna(files: JobFiles, path: str) -> Any:
    from labext_widgets.drawings import rna_view

    pairs, drawing = (_read_optional(files, name) for name in ("pairs.csv", "structure.svg"))
    return rna_view(files.read_text(path), pairs, drawing, name=files.job)


def _read_optional(files: JobFiles, name: str) -> str | None:
    path = files.find(name)
    return None if path is None else files.read_text(path)


def _open_primers(files: JobFiles, path: str) -> Any:
    from labext_widgets.drawings import primers_view

    template = files.settings.get("sequence")
    return primers_view(files.read_text(path), str(template or ""), name=files.job)


def _open_domains(files: JobFiles, path: str) -> Any:
    from labext_widgets.drawings import domains_view

    return domains_view(files.read_text(path), name=files.job)


def _open_picture(files: JobFiles, path: str) -> PictureView:
    return PictureView(files.read(path), f"{files.job}: {path}")


def _open_table(files: JobFiles, path: str) -> pd.DataFrame:
    from labext.frames.views import RowView

    try:
        frame = read_table(files.read(path))
    except ValueError as error:
        raise InputError(f"{path} is not a valid CSV table: {error}.", "Download it.") from None
    return RowView(name="result table", empty="The table has no rows.").show(frame)


def _open_text(files: JobFiles, path: str) -> TextView:
    return TextView(files.read_text(path), f"{files.job}: {path}")


_OPENERS: Mapping[str, Callable[[JobFiles, str], Any]] = {
    "structure": _open_structure,
    "tree": _open_tree,
    "digest": _open_digest,
    "rna": _open_rna,
    "primers": _open_primers,
    "domains": _open_domains,
    "alignment": _open_alignment,
    "picture": _open_picture,
    "table": _open_table,
    "text": _open_text,
}
"""The view of each kind of file, in order of preference: the default file of a job is the first."""
