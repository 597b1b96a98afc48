"""Markup in texts of a service and of files is inert, in trusted and untrusted notebooks."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
from local_http import QuietHandler, serve
from notebook_page import NotebookPage
from waiting import wait_until

pytestmark = pytest.mark.browser


ACT = "window.hacked=(window.hacked||0)+1"
EVIL = (
    f"<script>{ACT}</script><img src=x onerror='{ACT}'><svg onload='{ACT}'></svg>"
    f'<a href="javascript:{ACT}">here</a><iframe srcdoc="<script>parent.{ACT}</script>"></iframe>'
    f"$\\href{{javascript:{ACT}}}{{there}}$ \"' onmouseover='{ACT}"
)
SETUP = """%load_ext labext
import os
import pandas as pd
pd.set_option("display.max_colwidth", None)
os.environ |= {{"LABEXT_JOBS_BASE_URL": {url!r}, "LABEXT_JOBS_API_KEY": "a key"}}"""
LINES = [
    "%jobs watch folds",
    "%jobs list",
    "%jobs list --batch folds --scores",
    "%jobs tools",
    "%jobs tool fold",
    "%jobs show folds",
    "%jobs files",
    "%jobs stop folds",
]


class Service:
    """A batch that runs until the test ends it; all its texts are hostile."""

    def __init__(self) -> None:
        self.url = ""
        self.over = threading.Event()

    def answer(self, path: str, query: dict[str, list[str]]) -> Any:
        """Return the response to a request."""
        inner = json.dumps({EVIL: EVIL})
        row = {"JobName": EVIL, "Type": EVIL, "JobStatus": EVIL, "Settings": inner, "Score": inner}
        row |= {"Reason": EVIL, EVIL: EVIL}
        if path.endswith("/tools"):
            parameter = {"name": EVIL, "required": True, "type": EVIL, "description": EVIL}
            texts = dict.fromkeys(("displayName", "description", "paper", "github"), EVIL)
            return [{"name": "fold", **texts, "settings": [parameter]}]
        if path.endswith("/files"):
            return [EVIL]
        if path.endswith("/stop-job"):
            return {"message": EVIL}
        if "jobName" not in query:
            return {"jobs": [row], "startKey": "", "statuses": {EVIL: 1}}
        phase = "AggregationFailed" if self.over.is_set() else "Running"
        parent = row | {"JobName": "folds", "Type": "batch", "batchStatus": phase}
        return parent | {"statuses": {EVIL: 3, "Running": 1}, "AggregationError": EVIL}


class Handler(QuietHandler):
    service: Service

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        target = urlsplit(self.path)
        self.send_json(self.service.answer(target.path, parse_qs(target.query)))

    do_POST = do_GET


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    with serve(Handler, service=service) as url:
        service.url = f"{url}/api/"
        yield service


def test_service_texts_run_no_script(
    page_of: Callable[..., NotebookPage], service: Service, refused: list[str]
) -> None:
    nb = page_of().write(*LINES, SETUP.format(url=service.url)).open()
    nb.run(len(LINES))
    nb.idle()
    nb.run(0)
    nb.page.wait_for_selector(".labext-live .labext-bar")
    nb.check_inert()
    service.over.set()
    nb.wait_for_text("ended with the state AggregationFailed")
    nb.idle()
    for number in range(1, len(LINES)):
        nb.run(number)
        nb.wait_for_text("window.hacked", number)
    nb.idle()
    nb.output(0).hover()
    nb.check_inert()

    saved = nb.save()
    assert sum("window.hacked" in str(cell.outputs) for cell in saved.cells) == len(LINES)
    saved.cells.append(nbformat.v4.new_markdown_cell("Changed, so that its signature is none."))
    again = page_of()
    nbformat.write(saved, again.path)
    again.open_without_kernel()
    wait_until(lambda: "window.hacked" in again.output(1).inner_text())
    trusted = "() => window.jupyterapp.shell.currentWidget.content.model.cells.get(1).trusted"
    assert again.page.evaluate(trusted) is False
    again.check_inert()
    assert nb.errors == again.errors == []
    assert refused == []


FILES_SETUP = r"""import json
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
    nb = page_of().write(FILES_SETUP, *VIEWS).open()
    for cell in range(len(VIEWS) + 1):
        nb.run(cell)
    nb.idle()
    live = nb.panel.locator(".labext-live")
    wait_until(lambda: live.count() >= 7)
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
