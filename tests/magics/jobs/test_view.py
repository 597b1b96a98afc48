"""`%jobs view` shows a job's results by their content, and a batch as a gallery."""

from __future__ import annotations

import pytest
from labext_test_shell import Refused, Run

from labext_widgets.results import Gallery, PictureView, TextView
from labext_widgets.structure import StructureViewer

pytestmark = pytest.mark.contract

DIGEST = "--set sequence=GAATTCAAAAGAATTCAAAA --set enzymes=EcoRI"


def test_structure_digest_and_named_file_have_their_own_views(ready: Run, refused: Refused) -> None:
    ready("%jobs submit peptide_build --name view-helix --set sequence=ACDEFGHIKLMN --wait;")
    viewer = ready("%jobs view view-helix")
    assert isinstance(viewer, StructureViewer)
    assert ready("%jobs view view-helix ramachandran.csv")["residue"].tolist() == list(range(1, 13))
    assert isinstance(ready("%jobs view view-helix log.txt"), TextView)
    assert "ramachandran.csv" in refused("%jobs view view-helix ramachandrn.csv").next_step

    ready(
        "%jobs submit peptide_build --name view-strand --set sequence=ACDEFGHIKLMN"
        " --set conformation=strand --wait;"
    )
    compared = ready("%jobs view view-strand --compare view-helix")
    assert compared.rmsd > 1

    ready(f"%jobs submit digest --name view-cut {DIGEST} --wait;")
    assert ready("%jobs view view-cut").svg.startswith("<svg")
    assert isinstance(ready("%jobs view view-cut map.svg"), PictureView)
    assert "no structure" in refused("%jobs view view-cut --compare view-helix").message


def test_batch_is_a_gallery_of_its_complete_jobs(ready: Run, refused: Refused) -> None:
    ready(
        "%%jobs batch view-cuts --type digest --wait\n"
        "short: {sequence: GAATTCAAAA, enzymes: EcoRI}\n"
        "long: {sequence: GAATTCAAAAAAAAAAGAATTCAA, enzymes: EcoRI}\n"
    )
    gallery = ready("%jobs view view-cuts --sort length")
    assert isinstance(gallery, Gallery)
    assert [name.removeprefix("view-cuts-") for name in gallery.jobs] == ["short", "long"]
    assert len(gallery) == 2
    assert ready("%jobs view view-cuts").sorted_by == gallery.scores[0]
    reverse = ready("%jobs view view-cuts --sort length --descending")
    assert reverse.jobs == gallery.jobs[::-1]
    assert "no score lenght" in refused("%jobs view view-cuts --sort lenght").message
    assert "--compare" in refused("%jobs view view-cuts --compare view-cuts").message


def test_unknown_job_cannot_be_viewed(ready: Run, refused: Refused) -> None:
    assert "absent" in refused("%jobs view absent").message
