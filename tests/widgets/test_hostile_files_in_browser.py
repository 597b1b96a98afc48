"""Result files with markup in every field, in a real browser: none of it runs, also untrusted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from notebook_page import NotebookPage
from own_server import until

pytestmark = pytest.mark.browser

SETUP = r"""import json
import pandas as pd
from labext_widgets import alignment_view, structure_viewer, table_plot, tree_view
from labext_widgets.answers.passages import HITS
from labext_widgets.progress.job_log import JobLog
from labext_widgets.documents import SourceView, TextPages
from labext_widgets.results import JobFiles, open_file, open_gallery
from labext.nb import views
ACT = "window.hacked=(window.hacked||0)+1"
EVIL = (f"<script>{ACT}</script><img src=x onerror='{ACT}'><svg onload='{ACT}'></svg>"
        f'<a href="javascript:{ACT}">here</a>')
SHORT = "<img/src=x/onerror=window.hacked=1>"
ATOM = "ATOM  {:5d}  CA  {:3s} {}{:4d}    {:8.3f}{:8.3f}{:8.3f}  1.00 20.00           C"
PDB = "\n".join(ATOM.format(i + 1, "<b>", "<", i + 1, 3.8 * i, i % 2, 0) for i in range(8))
SVG = ("<svg xmlns='http://www.w3.org/2000/svg' width='90' height='90' onload='parent." + ACT + "'>"
       "<script>parent." + ACT + "</script><text y='20'>drawn</text></svg>").encode()
quoted = '"' + EVIL.replace('"', '""') + '"'
def files(**contents):
    paths = {name.replace("__", "."): content.encode() for name, content in contents.items()}
    return JobFiles(EVIL, list(paths), lambda path: paths[path], {"circular": True}, {"length": 90})
"""
VIEWS = [
    "structure_viewer(PDB, name=EVIL)",
    "structure_viewer(PDB, name='a').compare(PDB, name=EVIL)",
    'tree_view(f"(\'{SHORT}\':1,b:2);", f">{SHORT}\\nACGT\\n>b\\nACGA\\n", name=EVIL)',
    'alignment_view(f">{SHORT} {EVIL}\\nACGT\\n>b\\nACGA\\n", name=EVIL)',
    'table = "start,end,length,left_enzyme,right_enzyme\\n"\n'
    'open_file(files(fragments__csv=f"{table}1,90,90,{quoted},{quoted}\\n"), "fragments.csv")',
    'open_file(files(a__csv=f"{quoted},b\\n{quoted},{quoted}\\n"), "a.csv")',
    'open_file(files(log__txt=EVIL), "log.txt")',
    "open_gallery(EVIL, [JobFiles(EVIL, ['a.svg'], lambda path: SVG, {}, {EVIL: 1.0})])",
    "frame = pd.DataFrame({EVIL: [1, 2], 'y': [3, 4], 'group': [EVIL, 'b']})\n"
    "table_plot(frame, EVIL, x=EVIL, y='y', color='group')",
    "HITS.show_hits(views.hit_frame([{'id': 'source:a', 'title': EVIL, 'match': EVIL,"
    " 'relevance': 1.0, 'kind': 'source'}]), 'here', 'text', lambda citation: None)",
    "SourceView(EVIL, TextPages(EVIL, 'a.md'), passage='here', note=EVIL)",
    "JobLog(EVIL, name=EVIL, state=EVIL, reason=EVIL)",
]


def test_markup_in_result_files_runs_no_script(
    page_of: Callable[..., NotebookPage], refused: list[str]
) -> None:
    nb = page_of().write(SETUP, *VIEWS).open()
    for cell in range(len(VIEWS) + 1):
        nb.run(cell)
    nb.idle()
    live = nb.panel.locator(".labext-live")
    until(lambda: live.count() >= 7, "the live views")
    nb.output(1).locator(".labext-structure[data-ready]").wait_for()
    for cell in range(1, len(VIEWS) + 1):
        output = nb.output(cell)
        output.scroll_into_view_if_needed()
        output.hover()
    nb.output(8).get_by_role("button", name="below").click()
    nb.idle()
    nb.check_inert()
    for shown in nb.save().cells[1:]:
        kinds = {output.output_type for output in shown.outputs}
        assert kinds, shown.source
        assert "error" not in kinds, shown.outputs
    assert nb.errors == []
    nb.close()
    again = page_of(nb.remove_trust()).open_without_kernel()
    again.check_inert()
    assert refused == []
