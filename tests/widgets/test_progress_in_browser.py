"""Progress of jobs and batches in JupyterLab: live, complete and reopened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from labext_test_gate import Gate
from notebook_page import NotebookPage
from own_server import Server
from script import AGGREGATING, COMPLETE, FAILED, IN_BACKGROUND, STOPPED, Script
from waiting import wait_until

pytestmark = pytest.mark.browser


Watched = Callable[..., NotebookPage]
Pages = Callable[..., NotebookPage]
RUNNING_JOB = {"subject": "helix1", "kind": "job", "phase": "Running", "running": 12.0}
TINT = "e => getComputedStyle(e.querySelector('.labext-bar > div')).backgroundColor"
ANIMATION = "e => getComputedStyle(e.querySelector('.labext-live .labext-bar > div')).animationName"
BUSY = """import pathlib, time
pathlib.Path({begun!r}).touch()
while not pathlib.Path({over!r}).exists(): time.sleep(0.05)"""


def test_batch_is_followed_to_its_end(watched: Watched, script: Script) -> None:
    nb = watched()
    nb.wait_for_text("120 In Queue")
    bar = nb.bar()
    assert bar.count() == 1
    assert bar.get_attribute("aria-valuenow") == "120"
    assert bar.get_attribute("aria-valuemax") == "250"
    nb.wait_for_bar_text("Running, 120 of 250 complete")
    assert "As of 20" in nb.wait_for_saved_html("120 In Queue")
    assert "As of" not in nb.output().inner_text(), "the live view hides the picture"
    assert nb.output().get_by_role("button", name="Stop").count() == 0
    script.set_snapshot(AGGREGATING)
    nb.wait_for_bar_text("Aggregating")
    assert "Aggregating" in nb.page.locator(".labext-visually-hidden").inner_text()
    script.set_snapshot(COMPLETE)
    nb.wait_for_bar_text("Complete")
    html = nb.wait_for_saved_html("248 Complete")
    assert "watched 1:23" in html
    assert "As of" not in html
    assert "widgets" not in nb.save().metadata


LOG = """import pathlib, time
from labext_widgets.progress.job_log import follow_log
def parts():
    yield "".join(f"line {{n}}\\n" for n in range(100))
    for n in range(100, 103):
        while not pathlib.Path({path!r}, str(n)).exists():
            time.sleep(0.05)
            yield ""
        yield f"line {{n}}\\n"
follow_log(parts(), name="job", end=lambda: ("Complete", ""), again="again", tail=101)"""


def test_reader_of_a_followed_log_keeps_the_place_and_the_focus(
    page_of: Pages, tmp_path: Path
) -> None:
    nb = page_of().write(LOG.format(path=str(tmp_path))).open()
    nb.run(0)
    log = nb.output().locator(".labext-live .labext-scrolled")
    log.focus()
    log.evaluate("e => { e.scrollTop = -600; }")
    for line in range(100, 103):  # the last ones replace the first ones
        (tmp_path / str(line)).touch()
        wait_until(lambda line=line: log.inner_text().endswith(f"line {line}"))
        assert log.evaluate("e => e.scrollTop") < -590
        assert log.evaluate("e => e === document.activeElement")
    nb.idle()
    assert "line 102" in nb.wait_for_saved_html("Showing the last 101 of 103 lines")
    assert log.evaluate("e => e.scrollTop") < -590
    assert "job: Complete" in nb.output().inner_text()


def test_reopened(watched: Watched, script: Script, page_of: Pages, server: Server) -> None:
    nb = watched()
    script.set_snapshot(FAILED)
    nb.wait_for_saved_html("AggregationFailed")
    nb.close()
    server.stop_kernels()
    wait_until(lambda: server.kernels() == [])
    dead = page_of(nb.path).open_without_kernel()
    dead.wait_for_text("over the quota of $2$ GB")
    assert dead.bar().count() == 1
    assert server.kernels() == []
    shows_the_picture_alone(dead)
    dead.close()
    fresh = page_of(nb.path).open("still")
    fresh.wait_for_text("AggregationFailed")
    shows_the_picture_alone(fresh)
    fresh.close()
    untrusted = page_of(nb.remove_trust()).open_without_kernel()
    untrusted.wait_for_text("over the quota of $2$ GB")
    assert untrusted.bar().count() == 0, "the sanitizer drops aria"
    assert untrusted.output().evaluate(TINT) == "rgb(56, 142, 60)"


def shows_the_picture_alone(nb: NotebookPage) -> None:
    assert nb.page.locator(".labext-live, .jupyter-widgets").count() == 0
    assert "Loading widget" not in nb.page.content()
    assert "model not found" not in nb.page.content()


def test_bar_has_the_colors_width_and_motion_that_the_page_asks_for(
    watched: Watched, script: Script
) -> None:
    nb = watched(IN_BACKGROUND)
    nb.theme("JupyterLab Dark")
    assert nb.output().evaluate(TINT) == "rgb(76, 175, 80)"
    nb.page.emulate_media(forced_colors="active")
    assert nb.output().evaluate(TINT) == "rgb(76, 175, 80)"
    square = nb.output().locator(".labext-bar + div span span").first
    assert square.evaluate("e => getComputedStyle(e).color") == "rgb(76, 175, 80)"
    nb.page.set_viewport_size({"width": 620, "height": 700})
    nb.page.wait_for_function(
        "() => document.querySelector('.labext-live').getBoundingClientRect().width < 400"
    )
    overflow = "e => e.scrollWidth - e.clientWidth"
    assert nb.page.locator(".labext-live").evaluate(overflow) <= 0
    script.set_snapshot(RUNNING_JOB)
    nb.wait_for_text("running 0:12")
    assert nb.bar().get_attribute("aria-valuenow") is None
    try:
        nb.page.emulate_media(reduced_motion="no-preference")
        assert nb.output().evaluate(ANIMATION) == "labext-stripes"
    finally:
        nb.page.emulate_media(reduced_motion="reduce")
    assert nb.output().evaluate(ANIMATION) == "none"
    script.set_snapshot(RUNNING_JOB | {"phase": "Complete", "outcome": "complete", "running": None})
    nb.wait_for_bar_text("Complete")


def test_stop_by_keyboard_asks_for_confirmation_and_returns_the_focus_to_the_cell(
    watched: Watched, script: Script
) -> None:
    nb = watched(IN_BACKGROUND)
    nb.idle()
    page = nb.page
    label = "() => document.activeElement?.getAttribute('aria-label')"

    def reaches(name: str) -> None:
        """Wait until an element has the focus: the view may be redrawn meanwhile."""
        wait_until(lambda: page.evaluate(label) == name)

    page.locator(".jp-Notebook .jp-Cell").first.focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        page.wait_for_timeout(100)
        if page.evaluate(label) == "Stop watching folds; the batch continues":
            break
    reaches("Stop watching folds; the batch continues")
    page.keyboard.press("Tab")
    reaches("Stop batch folds")
    script.set_snapshot(AGGREGATING)
    nb.wait_for_saved_html("248 Complete")
    reaches("Stop batch folds")  # an update keeps the focus
    page.keyboard.press("Enter")
    page.wait_for_selector(".labext-question")
    reaches("Do not stop batch")  # the safe answer
    page.keyboard.press("Escape")
    reaches("Stop batch folds")
    assert not script.stopped
    page.keyboard.press("Space")
    reaches("Do not stop batch")
    page.keyboard.press("Shift+Tab")
    reaches("Stop batch folds")
    page.keyboard.press("Enter")
    wait_until(lambda: script.stopped)
    nb.wait_for_text("Stop requested")
    script.set_snapshot(STOPPED)
    nb.wait_for_text("■ Stopped")
    nb.wait_until_removed(nb.output().get_by_role("button", name="Stop"))
    wait_until(lambda: page.evaluate("() => document.activeElement.matches('.jp-Cell')"))
    nb.wait_for_saved_html("■</span> Stopped")


def test_click_while_the_kernel_is_busy_says_so(
    watched: Watched, script: Script, tmp_path: Path
) -> None:
    started, over = tmp_path / "begun", tmp_path / "over"
    nb = watched(IN_BACKGROUND, BUSY.format(begun=str(started), over=str(over)))
    nb.idle()
    nb.run(1)
    wait_until(started.exists)
    nb.record_texts()
    nb.page.get_by_role("button", name="Stop watching folds").click()
    nb.wait_for_recorded_text("Stop watching…")
    nb.wait_for_text("waiting for the kernel, which is running a cell")
    over.touch()
    nb.wait_for_text("Watching stopped; the batch continues. `%jobs watch folds` resumes watching.")
    nb.wait_for_saved_html("Watching stopped")
    assert not script.stopped


DATA = Path(__file__).parents[2] / "example_notebooks" / "data" / "hairpins.csv"
SETUP = f"""%load_ext labext
%lab sandbox start
import pandas as pd
frame = pd.read_csv({str(DATA)!r}).head(30)"""
BATCH = (
    "%jobs batch folds --type rna_fold --from frame --name-column name --map sequence=bases\n"
    "%jobs watch folds"
)
AGAIN = "%jobs watch folds --background"


def test_batch_of_many_jobs_is_one_row(page_of: Callable[..., NotebookPage], gate: Gate) -> None:
    pytest.importorskip("RNA", reason="ViennaRNA is an extra")
    nb = page_of().write(BATCH, SETUP, AGAIN).open()
    nb.run(1)
    nb.wait_for_text("The sandbox was already running", cell=1)
    gate.hold("rna_fold", after=10)
    nb.run(0)
    nb.page.wait_for_selector(".labext-live .labext-bar")
    bar = nb.bar()
    assert bar.count() == 1
    wait_until(lambda: 5 < int(bar.get_attribute("aria-valuenow") or 0) <= 10)
    gate.open("rna_fold")
    nb.wait_for_bar_text("Complete, 30 of 30 complete")
    nb.idle()
    outputs = nb.save().cells[0].outputs
    (picture,) = [output for output in outputs if "labext-bar" in output.data.get("text/html", "")]
    assert "30 Complete" in picture.data["text/html"]
    assert set(picture.data) == {"text/html", "text/plain"}
    nb.run(2)
    nb.wait_for_text("■ 30 Complete", cell=2)
