"""Result files are shown by their content."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from labext.errors import InputError, NotFoundError
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.drawings import rna_view
from labext_widgets.plots.columns import read_column
from labext_widgets.results import Gallery, JobFiles, PictureView, TextView, open_gallery, open_job
from labext_widgets.results.gallery import PAGE_SIZE
from labext_widgets.results.open import main_file

EXAMPLE = Path(__file__).parents[2] / "example_notebooks" / "data" / "1A8O.pdb"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


def job(contents: dict[str, bytes], name: str = "j1", **fields: Any) -> JobFiles:
    def read(path: str) -> bytes:
        if path not in contents:
            raise NotFoundError(f"There is no file {path}.")
        return contents[path]

    return JobFiles(name, list(contents), read, **fields)


def html_of(view: Any) -> str:
    """Return the static HTML of a view."""
    with pytest.MonkeyPatch.context() as patch:
        displayed: list[str] = []
        module = sys.modules[view._ipython_display_.__module__]
        patch.setattr(module, "front_end", lambda: FrontEnd.EXECUTED)
        patch.setattr(module, "display_html", lambda html, text: displayed.append(html))
        view._ipython_display_()
    (html,) = displayed
    return html


@pytest.mark.parametrize(
    ("paths", "main"),
    [
        (["start.pdb", "rank_1.pdb", "energies.csv"], "rank_1.pdb"),
        (["conformers.csv", "rank_1.pdb", "conformers.sdf", "molecule.svg"], "conformers.sdf"),
        (["alignment.fasta", "distances.csv", "tree.nwk"], "tree.nwk"),
        (["fragments.csv", "fragments.fasta", "map.svg"], "fragments.csv"),
        (["pairs.csv", "structure.dbn", "structure.svg"], "structure.dbn"),
        (["hits.csv", "profile.hmm"], "hits.csv"),
        (["residues.csv", "profile.svg", "settings.json"], "profile.svg"),
        (["log.txt", "settings.json", "genes.csv"], "genes.csv"),
        (["log.txt", "notes.txt"], "notes.txt"),
        (["folder/mode1.pdb", "folder/mode2.pdb"], "folder/mode1.pdb"),
    ],
)
def test_main_file_is_the_most_informative_one(paths: list[str], main: str) -> None:
    assert main_file(job(dict.fromkeys(paths, b""))) == main


def test_job_without_viewable_files_is_refused_with_their_names() -> None:
    with pytest.raises(InputError, match=r"j1 wrote archive\.bin, which can't be shown"):
        open_job(job({"archive.bin": b"\0"}))


def test_file_is_found_by_its_name_in_a_folder() -> None:
    files = job({"out/a.svg": SVG, "b.csv": b"x\n1\n", "one/c.svg": SVG, "two/c.svg": SVG})
    with pytest.raises(InputError, match=r"2 files called c\.svg: one/c\.svg, two/c\.svg"):
        open_job(files, "c.svg")
    assert isinstance(open_job(files, "a.svg"), PictureView)
    with pytest.raises(NotFoundError) as caught:
        open_job(files, "out/a.svq")
    assert "out/a.svg" in caught.value.next_step


def test_names_in_a_table_are_texts() -> None:
    frame = open_job(job({"t.csv": b"name,HA,NA\nHA,0,NA\nNA,1,0\n"}))
    assert list(frame["name"]) == ["HA", "NA"]
    assert frame["NA"].isna().tolist() == [True, False]
    samples = open_job(job({"t.csv": b"value,target\n1.50,007\n2,1.10\n"}))
    assert list(samples["target"]) == ["007", "1.10"]
    assert list(samples["value"]) == [1.5, 2]


def test_table_is_a_frame() -> None:
    frame = open_job(job({"t.csv": b"name,value\na,1.5\nb,\n"}))
    assert isinstance(frame, pd.DataFrame)
    assert frame["value"].tolist()[0] == 1.5
    with pytest.raises(InputError, match="not a valid CSV table"):
        open_job(job({"t.csv": b""}))


def test_picture_is_never_inline_markup() -> None:
    hostile = SVG.replace(b"></svg>", b"><script>alert(1)</script></svg>")
    view = open_job(job({"a<b>.svg": hostile}, name="x"))
    assert "<script" not in view.html()
    assert "&lt;b&gt;" in view.html()
    assert 'src="data:image/svg+xml;base64,' in view.html()
    assert 'src="data:image/png;base64,' in open_job(job({"a.png": PNG})).html()
    with pytest.raises(InputError, match="neither an SVG nor a PNG"):
        open_job(job({"a.png": b"GIF89a"}))


def test_text_keeps_line_breaks_without_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    view = open_job(job({"log.txt": b"one\n\x1b[31mtwo\xff\n"}))
    assert isinstance(view, TextView)
    view._ipython_display_()
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == "one"
    assert "\x1b" not in printed


def test_binary_file_is_not_shown_as_text() -> None:
    with pytest.raises(InputError, match="not a text"):
        open_job(job({"a.bin": b"\0\1"}), "a.bin")


def test_gallery_shows_the_pictures_of_one_page_sorted_by_score() -> None:
    jobs = [
        job({"a.svg": SVG}, name=f"j{number:02}", scores={"energy": -float(number)})
        for number in range(15)
    ]
    gallery = open_gallery("batch", jobs, sort="score.energy")
    assert isinstance(gallery, Gallery)
    assert gallery.jobs[:2] == ["j14", "j13"]
    assert html_of(gallery).count("<img") == 12
    assert "page 1 of 2" in str(gallery)
    last = open_gallery("batch", jobs, page=2)
    assert html_of(last).count("<img") == 3
    assert "energy −12" in str(last)
    highest = open_gallery("batch", jobs, sort="energy", ascending=False)
    assert highest.jobs[:2] == ["j00", "j01"]
    assert not highest.ascending


def test_cards_have_all_digits_of_whole_numbers() -> None:
    scores = {"length": 1234567.0, "energy": -12.3456789}
    gallery = open_gallery("b", [job({"a.svg": SVG}, scores=scores)])
    assert "length 1234567, energy −12.3457" in str(gallery)


def test_energy_of_negative_zero_is_zero() -> None:
    gallery = open_gallery("b", [job({"a.svg": SVG}, scores={"energy": -0.0})])
    assert "energy 0" in str(gallery)
    frame = pd.DataFrame({"energy": [-0.0], "gc": [1]})
    assert str(read_column(frame, "energy").values) == "[0.0]"
    assert "MFE 0.00 kcal/mol" in rna_view(">x\nACGU\n.... (-0.0)\n", None, None, name="x").svg


def test_jobs_without_a_number_as_score_come_last() -> None:
    scores: list[dict[str, float]] = [{"s": 3.0}, {"s": float("nan")}, {"s": 1.0}, {}, {"s": 2.0}]
    jobs = [job({"a.svg": SVG}, name=f"j{n}", scores=own) for n, own in enumerate(scores)]
    assert open_gallery("b", jobs, sort="s").jobs == ["j2", "j4", "j0", "j1", "j3"]
    highest = open_gallery("b", jobs, sort="s", ascending=False)
    assert highest.jobs == ["j0", "j4", "j2", "j1", "j3"]


def folded(length: int) -> dict[str, bytes]:
    """Return the files of an RNA with many hairpins, each pair with another probability."""
    brackets = "((((((..((((....))))))))))" * (length // 26)
    pairs = ["i,j,probability"]
    opened: list[int] = []
    for number, bracket in enumerate(brackets, 1):
        if bracket == "(":
            opened.append(number)
        elif bracket == ")":
            pairs.append(f"{opened.pop()},{number},{number % 11 / 10}")
    dbn = f">x mfe -9.5\n{('ACGU' * length)[: len(brackets)]}\n{brackets}\n"
    return {"structure.dbn": dbn.encode(), "pairs.csv": "\n".join(pairs).encode()}


@pytest.mark.parametrize("length", [40, 80, 598])
def test_saved_gallery_of_rna_has_its_pictures_in_a_share_of_200_kilobytes(length: int) -> None:
    jobs = [job(folded(length), name=f"rna{number:02}") for number in range(PAGE_SIZE // 4)]
    html = html_of(open_gallery("folds", jobs))
    assert html.count("<img") == PAGE_SIZE // 4
    assert len(json.dumps(html)) < 200_000 // 4


@pytest.mark.parametrize("chains", [1, 4])
def test_saved_gallery_of_proteins_has_its_pictures_in_a_share_of_200_kilobytes(
    chains: int,
) -> None:
    pytest.importorskip("biotite")
    text = EXAMPLE.read_text()
    copies = [
        "".join(
            f"{row[:21]}{chain}{row[22:30]}{float(row[30:38]) + 25 * number:8.3f}{row[38:]}"
            for row in text.splitlines(keepends=True)
            if row.startswith("ATOM")
        )
        for number, chain in enumerate("ABCD"[:chains])
    ]
    content = "".join(copies).encode()
    jobs = [job({"a.pdb": content}, name=f"p{number:02}") for number in range(PAGE_SIZE // 4)]
    html = html_of(open_gallery("proteins", jobs))
    assert html.count("<img") == PAGE_SIZE // 4
    assert len(json.dumps(html)) < 200_000 // 4


def test_unreadable_picture_leaves_the_others_in_the_gallery() -> None:
    broken = JobFiles("broken", ["a.svg"], lambda path: job({}).read(path))
    html = html_of(open_gallery("batch", [job({"a.svg": SVG}), broken]))
    assert html.count("<img") == 1
    assert "There is no file a.svg." in html


def test_interrupt_while_files_are_read_is_raised_when_the_gallery_is_opened() -> None:
    def interrupt(_: str) -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_gallery("batch", [JobFiles("slow", ["a.svg"], interrupt)])


def test_job_without_viewable_files_is_left_out_of_the_gallery() -> None:
    jobs = [job({"map.npz": b"\0"}, name="binary"), job({"a.svg": SVG}, name="drawn")]
    assert open_gallery("batch", jobs).jobs == ["drawn"]


def test_unknown_score_names_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        open_gallery("b", [job({"a.svg": SVG}, scores={"mfe": 1.0})], sort="energy")
    assert caught.value.next_step == "They have mfe."


def test_jobs_without_drawings_have_no_gallery() -> None:
    with pytest.raises(InputError, match="no structures or drawings"):
        open_gallery("b", [job({"t.csv": b"x\n1\n"})])


@pytest.mark.parametrize(
    ("contents", "kind"),
    [
        ({"tree.nwk": b"(a:1,b:2);", "alignment.fasta": b">a\nACD\n>b\nA-D\n"}, "TreeView"),
        ({"alignment.fasta": b">a\nACD\n>b\nA-D\n"}, "AlignmentView"),
        ({"structure.dbn": b">x\nGGGAAACCC\n(((...)))\n"}, "RnaView"),
        ({"map.svg": SVG}, "PictureView"),
        ({"t.csv": b"x\n1\n"}, "DataFrame"),
        ({"t.txt": b"x"}, "TextView"),
    ],
)
def test_view_is_chosen_by_the_kind_of_file(contents: dict[str, bytes], kind: str) -> None:
    assert type(open_job(job(contents))).__name__ == kind
