"""Every view in JupyterLab, checked by axe-core: light, dark, and reopened untrusted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from notebook_page import NotebookPage
from own_server import Server

pytestmark = pytest.mark.browser

axe_base = pytest.importorskip("axe_playwright_python.base", reason="axe-core is in `dev` only")

DATA = Path(__file__).parents[2] / "example_notebooks" / "data"
SETUP = f"""%load_ext labext
%lab sandbox start
import labext_widgets, random, pandas as pd
from labext_widgets.drawings import digest_view
from labext_widgets.plots import job_plot
bases = "".join(random.Random(7).choices("ACGT", k=600))
frame = pd.DataFrame(
    {{"name": ["one", "two"], "bases": ["GGGGAAACCCCUUU", "GGCCGAAAGGCC"], "family": ["a", "b"]}})
%jobs batch a11y-folds --type rna_fold --from frame --name-column name --map sequence=bases --wait
%nb use Accessibility --create
%nb add {DATA / "paper.pdf"} --wait"""
STRUCTURE = """atoms = "\\n".join(
    f"ATOM  {n:5d}  CA  ALA A{n:4d}    {n % 7:8.3f}{n % 5:8.3f}{1.5 * n:8.3f}  1.00 20.00"
    for n in range(1, 11))
labext_widgets.structure_viewer(atoms, name="trace")"""
DIGEST = """cuts = pd.DataFrame({
    "fragment": [1, 2], "start": [1, 101], "end": [100, 2400], "length": [100, 2300],
    "left_enzyme": ["", "EcoRI"], "left_end": ["", "5'"], "left_overhang": ["", "AATT"],
    "right_enzyme": ["EcoRI", ""], "right_end": ["5'", ""], "right_overhang": ["AATT", ""]})
digest_view(cuts.to_csv(index=False), name="digest", length=2400, circular=False)"""
FIGURES = """angles = pd.DataFrame(
    {"chain": "A", "residue": [1, 2], "name": "ALA", "phi": [-70, -60], "psi": [-40, 130]})
job_plot("helix", {"ramachandran.csv": angles})"""
SEQUENCE = """marks = [
    dict(name=f"gene {n}", type="CDS", start=50 * n, end=50 * n + 40, strand=1)
    for n in range(12)]
labext_widgets.sequence_viewer(
    dict(id="s", name="pMap", bases=bases, isCircular=True, length=600, annotations=marks),
    enzymes="EcoRI HindIII")"""
PLAYER = """turns = [
    dict(speaker=name, dialogue="Hello.", start=n, end=n + 1)
    for n, name in enumerate(["Maya", "Ilan"])]
labext_widgets.show_player(dict(name="Episode", duration=2, transcript=turns), bytes)"""
VIEWS = {
    "structure": STRUCTURE,
    "gallery": "%jobs view a11y-folds",
    "tree": r'labext_widgets.tree_view("((A:1,B:1):1,C:2);", ">A\nACGT\n>B\nACGA\n>C\nACGC\n")',
    "digest": DIGEST,
    "plot": "%jobs plot a11y-folds --x length --y score.mfe --color family",
    "figures": FIGURES,
    "log": "%jobs log a11y-folds-one",
    "outputs": "%jobs outputs a11y-folds-one",
    "wide table": "%jobs list --scores",
    "passages": '%nb search "catabolite repression"',
    "answer": '%nb ask "Why is glucose added to the uninduced culture?"',
    "page": '%nb view paper.pdf --passage "This is catabolite repression"',
    "sequence": SEQUENCE,
    "player": PLAYER,
}


_RUN_AXE = """(options) => axe.run({include: [[".jp-OutputArea-output"]]}, options)"""
_ALL_RULES = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
_COLORS = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}


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
    assert _serious_violations(live) == []
    live.theme("JupyterLab Dark")
    assert _serious_violations(live, _COLORS) == []
    live.theme("JupyterLab Light")
    live.save()
    live.close()
    server.stop_kernels()
    static = page_of(live.remove_trust()).open_without_kernel()
    # JupyterLab removes `tabindex` from untrusted outputs; Chromium focuses a wide table anyway.
    wide_table = 'scrollable-region-focusable: <div style="overflow-x:auto">'
    assert {*_serious_violations(static)} <= {wide_table}


def _serious_violations(notebook: NotebookPage, options: dict[str, Any] = _ALL_RULES) -> list[str]:
    """Return the rules that views break, each with an element that breaks it."""
    notebook.page.evaluate(axe_base.AXE_SCRIPT)
    result = notebook.page.evaluate(_RUN_AXE, options)
    assert result["passes"]
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in result["violations"]
        for node in violation["nodes"]
        if violation["impact"] in ("serious", "critical")
    ]
