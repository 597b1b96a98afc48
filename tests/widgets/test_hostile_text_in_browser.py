"""Markup in texts of a service is inert, in trusted and untrusted notebooks; long names wrap."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import nbformat
import pandas as pd
import pytest
from local_http import QuietHandler, serve
from notebook_page import NotebookPage
from waiting import wait_until

import labext_widgets

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
    page_of: Callable[..., NotebookPage], service: Service
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


def test_long_names_are_wrapped_in_static_views(browser: Any) -> None:
    name = "a_very_long_name_" * 20
    record = {"name": name, "bases": "ACGT" * 9, "isCircular": True, "annotations": []}
    atom = "ATOM      1  CA  ALA A   1       0.000   0.000   0.000  1.00 20.00           C"
    frame = pd.DataFrame({"x": [1, 2], "y": [3, 4]})
    views = [
        labext_widgets.sequence_viewer(record),
        labext_widgets.alignment_view(">a\nACGT\n>b\nACGA", name=name),
        labext_widgets.structure_viewer(atom, name=name),
        labext_widgets.table_plot(frame, name, x="x", y="y"),
    ]
    page = browser.new_page()
    for view in views:
        page.set_content(f"<!doctype html><div style='width: 300px'>{view._render()[0]}</div>")
        assert page.evaluate("document.body.firstElementChild.scrollWidth") == 300, view
    page.close()
