"""`%jobs view` shows a job's results by their content, and a batch as a gallery."""

from __future__ import annotations

import pytest
from labext_test_shell import Refused, Run

from labext_widgets.results import Gallery, PictureView, TextView
from labext_widgets.structure import StructureViewer

pytestmark = pytest.mark.contract

DIGEST = "--set sequence=GAATTCAAAAGAATTCAAAA --set enzymes=EcoRI"


def test_structure_digest_and_named_file_have_their_own_views(ready: Run, refused: Refused) -> None:
    ready("%jobs submit peptide_build --name helix1 --set sequence=ACDEFGHIKLMN --wait;")
    viewer = ready("%jobs view helix1")
    assert isinstance(viewer, StructureViewer)
    assert ready("%jobs view helix1 ramachandran.csv")["residue"].tolist() == list(range(1, 13))
    assert isinstance(ready("%jobs view helix1 log.txt"), TextView)
    assert "ramachandran.csv" in refused("%jobs view helix1 ramachandrn.csv").next_step

    ready(
        "%jobs submit peptide_build --name strand1 --set sequence=ACDEFGHIKLMN"
        " --set conformation=strand --wait;"
    )
    compared = ready("%jobs view strand1 --compare helix1")
    assert compared.rmsd > 1

    ready(f"%jobs submit digest --name cut1 {DIGEST} --wait;")
    assert ready("%jobs view cut1").svg.startswith("<svg")
    assert isinstance(ready("%jobs view cut1 map.svg"), PictureView)
    assert "no structure" in refused("%jobs view cut1 --compare helix1").message


def test_batch_is_a_gallery_of_its_complete_jobs(ready: Run, refused: Refused) -> None:
    ready(
        "%%jobs batch cuts --type digest --wait\n"
        "short: {sequence: GAATTCAAAA, enzymes: EcoRI}\n"
        "long: {sequence: GAATTCAAAAAAAAAAGAATTCAA, enzymes: EcoRI}\n"
    )
    gallery = ready("%jobs view cuts --sort length")
    assert isinstance(gallery, Gallery)
    assert [name.removeprefix("cuts-") for name in gallery.jobs] == ["short", "long"]
    assert len(gallery) == 2
    assert "no score lenght" in refused("%jobs view cuts --sort lenght").message
    assert "--compare" in refused("%jobs view cuts --compare cuts").message


def test_unknown_job_cannot_be_viewed(ready: Run, refused: Refused) -> None:
    assert "absent" in refused("%jobs view absent").message
