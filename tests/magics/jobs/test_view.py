"""`%jobs view` and `%jobs plot` show results by their content."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Printed, Refused, Run

from labext.errors import InputError, JobFailedError, LabextError
from labext.jobs import JobsClient
from labext_widgets.results import Gallery, PictureView, TextView
from labext_widgets.structure import StructureViewer

pytestmark = pytest.mark.contract


DIGEST = "--set sequence=GAATTCAAAAGAATTCAAAA --set enzymes=EcoRI"


def test_structure_digest_and_named_file_have_their_own_views(run: Run, refused: Refused) -> None:
    run("%jobs submit peptide_build --name view-helix --set sequence=ACDEFGHIKLMN --wait;")
    viewer = run("%jobs view view-helix")
    assert isinstance(viewer, StructureViewer)
    assert run("%jobs view view-helix ramachandran.csv")["residue"].tolist() == list(range(1, 13))
    assert isinstance(run("%jobs view view-helix log.txt"), TextView)
    assert "ramachandran.csv" in refused("%jobs view view-helix ramachandrn.csv").next_step

    run(
        "%jobs submit peptide_build --name view-strand --set sequence=ACDEFGHIKLMN"
        " --set conformation=strand --wait;"
    )
    compared = run("%jobs view view-strand --compare view-helix")
    assert compared.rmsd > 1

    run(f"%jobs submit digest --name view-cut {DIGEST} --wait;")
    assert run("%jobs view view-cut").svg.startswith("<svg")
    assert isinstance(run("%jobs view view-cut map.svg"), PictureView)
    assert "no structure" in refused("%jobs view view-cut --compare view-helix").message


def test_batch_is_a_gallery_of_its_complete_jobs(run: Run, refused: Refused) -> None:
    run(
        "%%jobs batch view-cuts --type digest --wait\n"
        "short: {sequence: GAATTCAAAA, enzymes: EcoRI}\n"
        "long: {sequence: GAATTCAAAAAAAAAAGAATTCAA, enzymes: EcoRI}\n"
    )
    gallery = run("%jobs view view-cuts --sort length")
    assert isinstance(gallery, Gallery)
    assert [name.removeprefix("view-cuts-") for name in gallery.jobs] == ["short", "long"]
    assert len(gallery) == 2
    assert run("%jobs view view-cuts").sorted_by == gallery.scores[0]
    reverse = run("%jobs view view-cuts --sort length --descending")
    assert reverse.jobs == gallery.jobs[::-1]
    assert "no score lenght" in refused("%jobs view view-cuts --sort lenght").message
    assert "--compare" in refused("%jobs view view-cuts --compare view-cuts").message
    error = refused("%jobs view view-cuts-short --compare view-cuts")
    assert error.message == "view-cuts is a batch; `--compare` takes a single job."


def test_unknown_job_cannot_be_viewed(run: Run, refused: Refused) -> None:
    assert "absent" in refused("%jobs view absent").message


def test_failed_jobs_are_not_waited_for(run: Run, refused: Refused, tmp_path: Path) -> None:
    table = tmp_path / "view-table.csv"
    table.write_text("a,b\n1,2\n")
    run(f"%jobs upload {table};")
    refused("%jobs submit msa_tree --name view-failed --set sequences=view-table.csv --wait")
    error = refused("%jobs view view-failed")
    assert isinstance(error, JobFailedError)
    assert error.next_step == "See `%jobs show view-failed`."
    refused("%%jobs batch view-all-failed --type msa_tree --wait\na: {sequences: view-table.csv}")
    error = refused("%jobs view view-all-failed")
    assert isinstance(error, JobFailedError)
    assert error.next_step == "`%jobs list --batch view-all-failed` shows the reasons."


def test_columns_of_the_input_are_found_without_from(
    run: Run, printed: Printed, shell: InteractiveShell
) -> None:
    bases = ["GAATTCGAATTC", "GGGGGGGGGGGG", "AAAGAATTCAAATTT", "ACGTACGTAC"]
    frame = pd.DataFrame(
        {"name": list("abcd"), "bases": bases, "family": ["x", "y", "x", "y"]}
    ).assign(size=[len(b) for b in bases])
    shell.user_ns["frame"] = frame
    run(
        "%jobs batch plotted --type digest --from frame --name-column name "
        "--map sequence=bases --set enzymes=EcoRI --wait"
    )
    plot = run("%jobs plot plotted --x size --y longest --color family")
    assert plot.frame["family"].tolist() == ["x", "y", "x", "y"]
    assert plot.frame["score.longest"].tolist() == [6, 12, 11, 10]
    assert {"bases", "RunTime", "setting.enzymes", "JobStatus"} <= set(plot.frame.columns)
    assert "longest (bp)" in str(plot)
    shell.user_ns["more"] = frame.assign(site=["k", "l", "m", "n"])
    with pytest.raises(InputError, match='no column "site"') as caught:
        run("%jobs plot plotted --x site --y longest")
    assert "--from FRAME --name-column NAME" in caught.value.next_step
    line = "%jobs plot plotted --from more --name-column name --x site --y longest"
    assert run(line).frame["site"].tolist() == ["k", "l", "m", "n"]
    assert "Plotted `--x score.length --y score.cuts`" in printed("%jobs plot plotted;")
    assert plot._open_job("plotted-a") is not None
    with pytest.raises(LabextError, match="nosuch"):
        plot._open_job("nosuch")


def test_job_has_the_figures_of_its_tool(run: Run) -> None:
    run("%jobs submit peptide_build --name bent --set sequence=ACDGPW --wait")
    assert str(run("%jobs plot bent")).startswith("bent: Ramachandran plot")
    relaxed = (
        "%jobs submit peptide_relax --name relaxed --set sequence=ACD --set iterations=20 --wait"
    )
    run(relaxed)
    assert str(run("%jobs plot relaxed")).startswith(
        "relaxed: Energy by iteration, Energy by term"
    ), "in the order of the catalogue, not of the files' names"
    scatter = run("%jobs plot bent --file ramachandran.csv --x phi --y psi --kind scatter")
    assert scatter.frame.columns.tolist() == ["residue", "name", "phi", "psi", "omega"]
    for line, words in {
        "%jobs plot bent --file ramachandrn.csv": "no table ramachandrn.csv",
        "%jobs plot bent --from {scatter}": "takes a DataFrame",
        "%jobs plot scatter": r'is called "scatter"\. .*`%jobs plot --from scatter`',
        "%jobs plot": "needs a NAME, or a DataFrame with `--from`",
    }.items():
        with pytest.raises(InputError, match=words):
            run(f"scatter = 1\n{line}")


def test_columns_are_searched_in_all_tables_of_a_job(
    run: Run, printed: Printed, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(f"%jobs submit digest --name many-tables {DIGEST} --wait;")
    tables = {f"t{number:02}.csv": b"a,b\n1,2\n" for number in range(30)}
    tables |= {"t24.csv": b"a,late\n1,2\n", "t29.csv": b"a,last\n1,2\n"}
    monkeypatch.setattr(JobsClient, "result_files", lambda *_: list(tables))
    monkeypatch.setattr(JobsClient, "read_result", lambda _self, _name, path, **_: tables[path])
    assert str(run("%jobs plot many-tables --x a --y late")).startswith("many-tables: t24.csv")
    assert "5 tables of many-tables were not read; `--file` chooses one." in printed(
        "%jobs plot many-tables --x a --y late;"
    )
    assert "not read" not in printed("%jobs plot many-tables --x a --y last;")
    assert "10 tables of many-tables were not read" in printed("%jobs plot many-tables;")
    assert "not read" not in printed("%jobs plot many-tables --file t24.csv;")
    assert 'no column "absent"' in refused("%jobs plot many-tables --x absent").message


def test_frame_is_plotted_without_a_service(own_shell: InteractiveShell) -> None:
    own_shell.user_ns["frame"] = pd.DataFrame({"a": [1.0, 3.0, 2.0], "b": [1, 2, 2]})
    plot = own_shell.run_cell("%load_ext labext\n%jobs plot --from frame --x a --y b").result
    assert plot.frame is own_shell.user_ns["frame"]
    assert repr(plot) == "<Plot frame: scatter of b by a; 3 rows>"
    assert plot.selection.empty
