"""Widgets in a real kernel: messages to a front end, and outputs of an executed notebook."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[2]
PACKAGES = os.pathsep.join(map(str, [ROOT, ROOT / "magics", ROOT / "widgets"]))

STREAM = """
import time
from functools import partial
import labext_widgets
from labext.progress import Outcome, Progress

def stream(seconds=0.3):
    began = time.monotonic()
    while (gone := time.monotonic() - began) < seconds:
        yield Progress("folds", "batch", "Running", {"Running": 9}, 9, elapsed=0)
        time.sleep(0.02)
    yield Progress("folds", "batch", "Complete", {"Complete": 9}, 9, Outcome.COMPLETE)

watch = partial(labext_widgets.watch, again="%jobs watch folds")
"""
TRANSFER = """
import labext_widgets
from labext_widgets.progress import transfer
transfer.DISPLAY_AFTER = 0
with labext_widgets.Transfer("folds", "results", "%jobs results folds") as moving:
    moving.phase("Fetching")
    moving.bytes(120_000_000, 340_000_000)
    moving.end("The results were downloaded to out.")
"""
FIRST = "folds: Running, 0 of 9 complete, 9 Running (batch, watched 0:00)"
LAST = "folds: Complete, 9 of 9 complete (batch, watched 0:00)"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("home")
    return {k: v for k, v in os.environ.items() if k != "CI"} | {
        "PYTHONPATH": PACKAGES,
        "IPYTHONDIR": str(home),
        "JUPYTER_PLATFORM_DIRS": "1",
        "JUPYTER_RUNTIME_DIR": str(home),
    }


class Kernel:
    """A kernel with a simulated interactive front end."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(env=environment)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.run(STREAM)

    def run(self, code: str, interrupt_after: str = "") -> list[dict[str, Any]]:
        """Return every message that the cell sent, until it is idle.

        An interrupt without effect is repeated, as a user would: Python loses an interrupt during a
            finalizer.
        """
        message_id = self.client.execute(code, allow_stdin=True)
        messages: list[dict[str, Any]] = []
        again = 3 if interrupt_after else 0
        while True:
            try:
                message = self.client.get_iopub_msg(
                    timeout=5 if again and not interrupt_after else 30
                )
            except Empty:
                if not again or interrupt_after:
                    raise
                again -= 1
                self.manager.interrupt_kernel()
                continue
            if message["parent_header"].get("msg_id") == message_id:
                messages.append(message)
                kind = message["msg_type"]
                if interrupt_after and kind == interrupt_after:
                    self.manager.interrupt_kernel()
                    interrupt_after = ""
                if kind == "status" and message["content"]["execution_state"] == "idle":
                    return messages

    def later(self, kind: str) -> dict[str, Any]:
        """Return the next message of a kind that a thread sends."""
        while True:
            message = self.client.get_iopub_msg(timeout=10)
            if message["msg_type"] == kind:
                return dict(message)

    def printed(self, code: str) -> str:
        return "".join(message["content"]["text"] for message in of("stream", self.run(code)))

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()


def of(kind: str, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [message for message in messages if message["msg_type"] == kind]


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [message["content"]["data"]["text/plain"] for message in messages]


@pytest.fixture(scope="module")
def kernel(environment: dict[str, str]) -> Iterator[Kernel]:
    started = Kernel(environment)
    yield started
    started.close()


def test_watch_is_one_plain_output_with_a_headless_widget(kernel: Kernel) -> None:
    sent = kernel.run("last = watch(stream())")
    (display,) = of("display_data", sent)
    assert set(display["content"]["data"]) == {"text/html", "text/plain"}
    updates = of("update_display_data", sent)
    assert texts(updates) == [LAST]
    name = display["content"]["transient"]["display_id"]
    assert updates[-1]["content"]["transient"]["display_id"] == name
    assert f'class="{name} ' in display["content"]["data"]["text/html"]
    models = [message["content"]["data"]["state"] for message in of("comm_open", sent)]
    carried = [model for model in models if "_esm" in model]
    assert len(carried) <= 1, "the bundle is sent once per kernel"
    (view,) = [model for model in models if model.get("target")]
    assert (view["view"], view["target"]) == ("progress", name)
    assert of("stream", sent) == []
    again = of("comm_open", kernel.run("last = watch(stream())"))
    assert not any("_esm" in message["content"]["data"]["state"] for message in again)


def test_ended_transfer_shows_only_its_message(kernel: Kernel) -> None:
    sent = kernel.run(TRANSFER)
    (display,) = of("display_data", sent)
    assert texts([display]) == ["folds: Fetching, 120 of 340 MB (0:00)"]
    (update,) = of("update_display_data", sent)
    assert update["content"]["data"]["text/plain"] == "The results were downloaded to out."
    assert "labext-bar" not in update["content"]["data"]["text/html"]
    (view,) = [one for one in of("comm_open", sent) if "_esm" not in str(one["content"])]
    closed = [message["content"]["comm_id"] for message in of("comm_close", sent)]
    assert view["content"]["comm_id"] in closed
    assert of("stream", sent) == []


def test_interrupt_ends_only_the_watch(kernel: Kernel) -> None:
    sent = kernel.run("watch(stream(60))", interrupt_after="comm_open")
    (error,) = of("error", sent)
    assert error["content"]["ename"] == "WatchInterrupted"
    assert len(error["content"]["traceback"]) == 1
    (*_, last) = texts(of("update_display_data", sent))
    assert last == f"{FIRST} Watching stopped; the batch continues."


def test_background_watch_outlives_its_cell(kernel: Kernel) -> None:
    sent = kernel.run("watch(stream(1.0), background=True)")
    assert texts(of("display_data", sent)) == [FIRST]
    assert of("execute_result", sent) == []
    assert texts([kernel.later("update_display_data")]) == [LAST]


def test_unload_leaves_no_thread_and_no_widget(kernel: Kernel) -> None:
    kernel.run("watch(stream(60), background=True)")
    left = """
import threading, ipywidgets
from labext_widgets.core import hub, placeholder
labext_widgets.unload()
hooks = get_ipython().events.callbacks["pre_run_cell"]
print([t.name for t in threading.enumerate() if t.name.startswith("labext")],
      ipywidgets.widgets.widget._instances, hub._hub, placeholder._open,
      [h for h in hooks if h.__module__.startswith("labext")])
"""
    assert kernel.printed(left) == "[] {} None {} []\n"


@pytest.mark.parametrize("method", ["_render", "_mount"])
def test_interrupted_display_is_an_error_of_one_line(kernel: Kernel, method: str) -> None:
    interrupted = f"""
from labext_widgets.core.placeholder import LiveOutput
class Drawing(LiveOutput):
    def _render(self):
        return "<p>Drawing</p>", "Drawing"
    def _mount(self, output):
        pass
def interrupt(*_):
    raise KeyboardInterrupt
Drawing.{method} = interrupt
Drawing()
"""
    (error,) = of("error", kernel.run(interrupted))
    assert error["content"]["ename"] == "CommandInterrupted"
    assert len(error["content"]["traceback"]) == 1


@pytest.mark.parametrize("widget", ["View", "Hub"])
def test_unload_after_an_interrupted_view_leaves_no_widget(kernel: Kernel, widget: str) -> None:
    interrupted = f"""
from labext_widgets.core import hub
def opened(self):
    super(hub.{widget}, self).open()
    raise KeyboardInterrupt
hub.{widget}.open = opened
try:
    watch(stream(60))
finally:
    del hub.{widget}.open
"""
    (error,) = of("error", kernel.run(interrupted))
    assert error["content"]["ename"] == "WatchInterrupted"
    left = """
import ipywidgets
print([each for each in ipywidgets.widgets.widget._instances.values() if each is not hub._hub])
labext_widgets.unload()
print(ipywidgets.widgets.widget._instances)
"""
    printed = kernel.printed(left).splitlines()
    assert "View" not in printed[0], "an interrupted view is closed immediately"
    assert printed[1] == "{}"


def test_browser_error_is_logged(kernel: Kernel) -> None:
    error = {"kind": "error", "message": "boom"}
    code = f"from labext_widgets.core import hub\nhub._receive({error}, [], print)"
    assert kernel.printed(code) == "A live view failed in the browser: boom\n"


def test_executed_notebook_gets_the_final_state_alone(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    cells = [STREAM, "last = watch(stream())"]
    cells.append("watch(stream(), background=True)\nlabext_widgets.display_message('Done.')")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.cells.append(nbformat.v4.new_code_cell(TRANSFER))
    NotebookClient(notebook, kernel_name="python3", timeout=60).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    (message,) = outputs[3]
    assert message.data["text/plain"] == "The results were downloaded to out."
    assert outputs[0] == []
    assert [output.data["text/plain"] for output in outputs[1]] == [LAST]
    assert [output.output_type for output in outputs[1]] == ["display_data"]
    assert outputs[2][-1].data["text/plain"] == "Done."
    assert "widgets" not in notebook.metadata, "no widget was created"
