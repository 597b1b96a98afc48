"""Lifetime and memory of a live view: reloads that it survives, and its end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import PANEL, NotebookPage
from script import AGGREGATING, COMPLETE, IN_BACKGROUND, Script
from waiting import wait_until

pytestmark = pytest.mark.browser


Watched = Callable[..., NotebookPage]
LIVE = ".labext-live"

COUNT = """import threading, ipywidgets
from labext_widgets.core import hub
watching = [t for t in threading.enumerate() if t.name.startswith("labext-watch")]
print(len(watching), "threads,", "no hub" if hub._hub is None else f"{len(hub._hub.views)} views")
"""
UNLOAD = "labext_widgets.unload()"
BROKEN = """from labext_widgets.core.placeholder import Placeholder
broken = Placeholder("<b>the picture</b>", "the picture")
broken.live("progress", {"html": "<b>alive</b>", "name": "x", "announcement": "", "busy": False})
"""

UNLOADABLE = """import labext_widgets
from labext_widgets.core import hub
hub._bundles["sequence.js"] = hub.Bundle(code="throw new Error('no <b>such</b> code')")
labext_widgets.sequence_viewer({"name": "s", "bases": "ACGT"})
"""


SHARE = f"""() => {{
  const {{ context: {{ model }}, sessionContext }} = {PANEL};
  const {{ outputs }} = model.cells.get(0);
  Object.defineProperty(model, "collaborative", {{ value: true }});
  window.replaced = [];
  outputs.changed.connect((_, {{ type, newValues }}) => {{
    if (type === "set") window.replaced.push(newValues[0].data["text/html"]);
  }});
  sessionContext.session.kernel.iopubMessage.connect((_, {{ header, content }}) => {{
    if (header.msg_type !== "update_display_data" || window.otherPageClosed) return;
    outputs.set(0, {{ output_type: "display_data", data: content.data, metadata: {{}} }});
  }});
}}"""
"""Share the notebook as jupyter-collaboration does, with another page in which the cell ran."""


def lives(nb: NotebookPage, count: int) -> None:
    wait_until(lambda: nb.page.locator(LIVE).count() == count)


def picture_is_seen(nb: NotebookPage) -> None:
    lives(nb, 0)
    assert nb.output().locator("[class^=labext-] > div").first.is_visible()
    nb.wait_until_removed(nb.page.locator(".labext-mounted"))


def test_linked_output_and_moved_cell_stay_live(watched: Watched, script: Script) -> None:
    nb = watched(IN_BACKGROUND, "1")
    nb.idle()
    nb.select(0)
    nb.command("notebook:create-output-view")
    lives(nb, 2)
    script.set_snapshot(AGGREGATING)
    wait_until(
        lambda: nb.page.locator(f"{LIVE} .labext-phase:has-text('Aggregating')").count() == 2
    )
    nb.page.locator(".jp-LinkedOutputView").first.wait_for()
    nb.page.evaluate("() => window.jupyterapp.shell.currentWidget.close?.()")
    nb.page.wait_for_function(f"() => {PANEL}?.content?.activeCellIndex !== undefined")
    lives(nb, 1)
    nb.select(0)
    nb.command("notebook:move-cell-down")
    wait_until(lambda: nb.output(1).locator(LIVE).count() == 1)
    script.set_snapshot(COMPLETE)
    nb.wait_for_text("248 Complete", cell=1)
    lives(nb, 1)
    assert nb.errors == []


@pytest.mark.parametrize("app", ["shared", "notebook"])
def test_page_reload_restores_the_live_view_and_the_updates_of_the_saved_output(
    watched: Watched, script: Script, refused: list[str], app: str
) -> None:
    """In JupyterLab and in Notebook 7."""
    nb = watched(IN_BACKGROUND, app=app)
    nb.wait_for_saved_html("120 In Queue")
    nb.reload()
    lives(nb, 1)
    stop = nb.output().get_by_role("button", name="Stop batch folds")
    stop.wait_for()
    script.set_snapshot(COMPLETE)
    nb.wait_for_bar_text("Complete")
    lives(nb, 1)
    nb.wait_until_removed(stop)
    nb.wait_for_saved_html("248 Complete")
    lives(nb, 1)
    assert refused == []


def test_output_of_a_shared_notebook_is_replaced_by_one_page(
    watched: Watched, script: Script
) -> None:
    """Outputs that two pages replace at the same time are doubled."""
    nb = watched(IN_BACKGROUND)
    nb.wait_for_saved_html("120 In Queue")
    nb.reload()
    nb.output().get_by_role("button", name="Stop batch folds").wait_for()
    nb.page.evaluate(SHARE)
    script.set_snapshot(AGGREGATING)
    nb.wait_for_saved_html("248 Complete")
    nb.page.evaluate("() => { window.otherPageClosed = true; }")
    script.set_snapshot(COMPLETE)
    nb.wait_for_saved_html("1:23")
    replaced = nb.page.evaluate("() => window.replaced")
    assert ["1:23" in html for html in replaced] == [False, True]


def test_output_is_saved_in_the_state_that_it_reached_while_the_page_was_closed(
    watched: Watched, script: Script
) -> None:
    nb = watched(app="notebook")  # a page of its own, since others share that of JupyterLab
    nb.wait_for_saved_html("120 In Queue")
    nb.page.goto("about:blank")
    script.set_snapshot(COMPLETE)
    nb.page.go_back()
    nb.ready()
    nb.wait_for_saved_html("248 Complete")
    lives(nb, 1)


def test_restarted_or_killed_kernel_removes_the_live_view(watched: Watched, script: Script) -> None:
    pid = script.path.with_suffix(".pid")
    tell_pid = f"import os; open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
    nb = watched(
        IN_BACKGROUND.replace("import labext_widgets\n", f"import labext_widgets\n{tell_pid}")
    )
    nb.idle()
    nb.page.evaluate(f"() => {{ void {PANEL}.sessionContext.session.kernel.restart(); }}")
    picture_is_seen(nb)
    nb.ready()
    nb.run(0)
    lives(nb, 1)
    nb.wait_for_bar_text("Running")
    os.kill(int(pid.read_text()), signal.SIGKILL)
    picture_is_seen(nb)
    assert "120 In Queue" in nb.output().inner_text()
    nb.page.get_by_role("dialog").get_by_role("button", name="Ok").click()  # JupyterLab logs it


def test_watch_ends_when_its_cell_runs_again_or_is_deleted_and_at_unload(watched: Watched) -> None:
    nb = watched(IN_BACKGROUND, UNLOAD, COUNT)
    for _ in range(2):
        nb.idle()
        nb.run(0)
        lives(nb, 1)
    nb.idle()
    nb.run(2)
    nb.wait_for_text("1 threads, 1 views", cell=2)
    nb.run(1)
    picture_is_seen(nb)
    nb.wait_for_text("Watching stopped; the batch continues.")
    nb.wait_until_removed(nb.output().get_by_role("button", name="Stop"))
    nb.run(2)
    nb.wait_for_text("0 threads, no hub", cell=2)
    nb.run(0)
    lives(nb, 1)
    nb.idle()
    nb.select(0)
    nb.command("notebook:delete-cell")
    nb.wait_for_printed("0 views", cell=1)


def test_view_of_a_cell_that_was_restored_or_pasted_stays_live(
    watched: Watched, script: Script
) -> None:
    """JupyterLab reports a deleted cell to the kernel, but not that it is back."""
    nb = watched(IN_BACKGROUND, "1", COUNT)
    for delete, restore in (("delete-cell", "undo-cell-action"), ("cut-cell", "paste-cell-above")):
        nb.idle()
        nb.select(0)
        nb.command(f"notebook:{delete}")
        lives(nb, 0)
        nb.command(f"notebook:{restore}")
        lives(nb, 1)
        nb.run(1)
        nb.idle()
        nb.wait_for_printed("1 threads, 1 views", cell=2)
    script.set_snapshot(AGGREGATING)
    nb.wait_for_text("Aggregating")
    nb.wait_for_saved_html("248 Complete")
    lives(nb, 1)


def test_failing_view_or_bundle_shows_an_alert_and_the_picture(watched: Watched) -> None:
    nb = watched(IN_BACKGROUND, BROKEN, UNLOADABLE)
    nb.idle()
    nb.run(1)
    nb.wait_for_text("The live view failed", cell=1)
    nb.wait_for_text("the picture\n", cell=1)
    assert nb.output(1).get_by_role("alert").count() == 1
    lives(nb, 2)
    nb.wait_for_bar_text("Running")
    nb.run(2)
    alert = nb.output(2).get_by_role("alert")
    alert.wait_for()
    expected = "The live view failed (no <b>such</b> code). The static view above is still updated."
    assert alert.inner_text() == expected
    assert nb.output(2).locator("img").first.is_visible()
    assert nb.errors == []


OPENS_JOBS = """import pandas as pd
from labext_widgets import sequence_viewer, table_plot
def view(job):
    if job == "b":
        return sequence_viewer({"name": "view of b", "bases": "ACGTGAATTC"})
    return pd.DataFrame({"opened": [f"view of {job}"]})
frame = pd.DataFrame({"JobName": ["a", "b", "c"], "x": [1, 2, 3], "y": [1, 2, 3]})
table_plot(frame, "jobs", x="x", y="y", open_job=view)
"""


def test_page_reload_keeps_the_place_where_a_plot_opens_jobs(
    page_of: Callable[..., NotebookPage],
) -> None:
    nb = page_of().write(OPENS_JOBS).open()
    nb.run(0)
    lives(nb, 1)
    nb.idle()
    nb.save()
    nb.reload()
    lives(nb, 1)
    nb.output().locator(".labext-plot-area").focus()
    for key, job in (("Home", "a"), ("ArrowRight", "b"), ("ArrowRight", "c")):
        nb.page.keyboard.press(key)
        nb.page.keyboard.press("Enter")
        nb.wait_for_text(f"view of {job}")


SETUP = """import random, secrets
import ipywidgets
import pandas as pd
from labext_widgets import alignment_view, sequence_viewer, structure_viewer, table_plot
from labext_widgets.core import hub, placeholder
rng = random.Random(7)
bases = "".join(rng.choices("ACGT", k=900))
plasmid = dict(id="s", name="plasmid", bases=bases, isCircular=True, length=900, annotations=[])
rows = "\\n".join(
    f">row{i}\\n" + "".join(rng.choices("ACDEFGHIKL-", k=300)) for i in range(30)
)
frame = pd.DataFrame({"name": [f"j{i}" for i in range(200)], "x": range(200), "y": range(200)})
atoms = "\\n".join(
    f"ATOM  {i + 1:5d}  CA  ALA A{i + 1:4d}    {i % 7:8.3f}{i % 5:8.3f}{1.5 * i:8.3f}  1.00 20.00"
    for i in range(40)
)
"""
VIEWS = """display(structure_viewer(atoms, name="trace"), alignment_view(rows))
display(sequence_viewer(plasmid), table_plot(frame, "points", x="x", y="y"))
large = placeholder.Placeholder("<b>the picture</b>", "the picture")
large.live("progress", {
    "html": f"<i hidden>{secrets.token_hex(2_000_000)}</i>alive", "name": "x", "announcement": "",
    "busy": False, "pending": "", "controls": [],
});"""
COUNTS = """print(len(hub._hub.views), len(hub._opened), len(placeholder._open))"""
VIEWS_PER_RUN = 5
RUNS = 3


def test_views_of_a_cell_that_runs_again_are_freed_with_their_states(
    page_of: Callable[..., NotebookPage], refused: list[str]
) -> None:
    nb = page_of().write(VIEWS, COUNTS, SETUP).open()
    nb.page.set_viewport_size({"width": 640, "height": 480})  # small canvases are drawn faster
    nb.run(2)
    _show_views(nb)
    counts = _kernel_counts(nb)
    _show_views(nb)
    # From here on the same cell is active: JupyterLab leaks 516 nodes at each change.
    devtools = nb.page.context.new_cdp_session(nb.page)
    before = _browser_metrics(nb, devtools)
    for _ in range(RUNS):
        _show_views(nb)
    after = _browser_metrics(nb, devtools)
    assert _kernel_counts(nb) == counts
    assert counts.split()[0] == str(VIEWS_PER_RUN)
    print(before, after)
    assert after["Nodes"] < 1.1 * before["Nodes"]
    assert after["JSEventListeners"] < 1.1 * before["JSEventListeners"]
    assert after["JSHeapUsedSize"] < before["JSHeapUsedSize"] + 5e6
    assert nb.errors == []
    assert refused == []


def _show_views(nb: NotebookPage) -> None:
    nb.run(0)
    nb.idle()
    wait_until(lambda: nb.output().locator(".labext-live").count() == VIEWS_PER_RUN)


def _kernel_counts(nb: NotebookPage) -> str:
    nb.run(1)
    nb.idle()
    return str(nb.output(1).inner_text())


def _browser_metrics(nb: NotebookPage, devtools: Any) -> dict[str, float]:
    """Return the metrics of the page after a garbage collection."""
    nb.page.wait_for_timeout(6000)  # removed views are kept for 5 s
    devtools.send("Performance.enable")
    devtools.send("HeapProfiler.collectGarbage")
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return {metric["name"]: metric["value"] for metric in metrics}
