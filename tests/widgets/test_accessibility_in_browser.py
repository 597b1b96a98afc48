"""Every view in JupyterLab, checked by axe-core: light, dark, and reopened untrusted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from notebook_page import NotebookPage
from own_server import Server

pytestmark = pytest.mark.browser

axe_base = pytest.importorskip("axe_playwright_python.base", reason="axe-core is in `dev` only")

DATA = Path(__file__).parents[2] / "example_notebooks" / "data"
SETUP = f"""%load_ext labext
%lab sandbox start
%jobs upload {DATA / "its.fasta"}
%jobs submit msa_tree --name a11y-tree --set sequences=its.fasta
%jobs submit peptide_build --name a11y-helix --set sequence=ACDEFGHIKL --set conformation=helix
import labext_widgets, random, pandas as pd
bases = "".join(random.Random(7).choices("ACGT", k=2400))
%jobs submit digest --name a11y-digest --set sequence={{bases}} --set "enzymes=EcoRI HindIII"
frame = pd.DataFrame(
    {{"name": ["one", "two"], "bases": ["GGGGAAACCCCUUU", "GGCCGAAAGGCC"], "family": ["a", "b"]}})
%jobs batch a11y-folds --type rna_fold --from frame --name-column name --map sequence=bases --wait
%nb use Accessibility --create
%nb add {DATA / "paper.pdf"} --wait
%jobs watch a11y-helix
%jobs watch a11y-digest
%jobs watch a11y-tree"""
SEQUENCE = """marks = [
    dict(name=f"gene {n}", type="CDS", start=200 * n, end=200 * n + 150, strand=1)
    for n in range(12)]
labext_widgets.sequence_viewer(
    dict(id="s", name="pMap", bases=bases, isCircular=True, length=2400, annotations=marks),
    enzymes="EcoRI HindIII")"""
PLAYER = """turns = [
    dict(speaker=name, dialogue="Hello.", start=n, end=n + 1)
    for n, name in enumerate(["Maya", "Ilan"])]
labext_widgets.show_player(dict(name="Episode", duration=2, transcript=turns), bytes)"""
VIEWS = {
    "structure": "%jobs view a11y-helix",
    "gallery": "%jobs view a11y-folds",
    "tree": "%jobs view a11y-tree",
    "digest": "%jobs view a11y-digest",
    "plot": "%jobs plot a11y-folds --x length --y score.mfe --color family",
    "figures": "%jobs plot a11y-helix",
    "log": "%jobs log a11y-helix",
    "outputs": "%jobs outputs a11y-helix",
    "wide table": "%jobs list --scores",
    "passages": '%nb search "catabolite repression"',
    "answer": '%nb ask "Why is glucose added to the uninduced culture?"',
    "page": '%nb view paper.pdf --passage "This is catabolite repression"',
    "sequence": SEQUENCE,
    "player": PLAYER,
}


_RUN_AXE = """() => axe.run(
    {include: [[".jp-OutputArea-output"]]},
    {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}})"""


@pytest.mark.usefixtures("sandbox_of_notebooks")
def test_axe_finds_nothing_serious_in_any_view(
    page_of: Callable[..., NotebookPage], server: Server
) -> None:
    live = page_of().write(SETUP, *VIEWS.values()).open()
    live.run(0)
    live.idle()
    for cell in range(1, len(VIEWS) + 1):
        live.run(cell)
    live.idle()
    for cell in range(1, len(VIEWS) + 1):
        live.output(cell).scroll_into_view_if_needed()
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        live.theme(theme)
        assert _serious_violations(live) == [], theme
    assert live.errors == []
    live.theme("JupyterLab Light")
    live.save()
    live.close()
    server.stop_kernels()
    static = page_of(live.remove_trust()).open_without_kernel()
    # JupyterLab removes `tabindex` from untrusted outputs; Chromium focuses a wide table anyway.
    wide_table = 'scrollable-region-focusable: <div style="overflow-x:auto">'
    assert {*_serious_violations(static)} <= {wide_table}


def _serious_violations(notebook: NotebookPage) -> list[str]:
    """Return the rules that views break, each with an element that breaks it."""
    notebook.page.evaluate(axe_base.AXE_SCRIPT)
    result = notebook.page.evaluate(_RUN_AXE)
    assert result["passes"]
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in result["violations"]
        for node in violation["nodes"]
        if violation["impact"] in ("serious", "critical")
    ]
