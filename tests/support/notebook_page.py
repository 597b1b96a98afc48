"""One notebook in one page of a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from own_server import PATIENCE, Server
from waiting import wait_until

READY = """async () => {
  const panel = window.jupyterapp?.shell.currentWidget;
  if (!panel?.sessionContext) return false;
  await panel.context.ready;
  await panel.sessionContext.ready;
  const kernel = panel.sessionContext.session?.kernel;
  if (kernel) await kernel.info;
  return true;
}"""

REMEMBER = """() => {
  window.remembered = [];
  const keep = (records) => {
    for (const node of records.flatMap((record) => [...record.addedNodes])) {
      window.remembered.push(node.textContent);
    }
  };
  new MutationObserver(keep).observe(document.body, { childList: true, subtree: true });
}"""

PANEL = "window.jupyterapp.shell.currentWidget"
IDLE = f"""(panel) =>
  {PANEL}.sessionContext.session?.kernel?.status === "idle" &&
  [...panel.querySelectorAll(".jp-InputPrompt")].every((e) => !e.textContent.includes("*"))"""
START = "([name, given]) => { void window.jupyterapp.commands.execute(name, given); }"

IS_IN_WORKSPACE = """async ([workspace, path]) => {
  const saved = await fetch(`/lab/api/workspaces/${workspace}`);
  return saved.ok && (await saved.text()).includes(path);
}"""
LEAVE_FILE_OUT_OF_ADDRESS = """(workspace) => {
  history.replaceState(null, "", `/lab/workspaces/${workspace}`);
}"""

LATE = "Cannot read properties of null (reading 'kernel')"
"""An error of JupyterLab, not of labext, for a notebook that was closed meanwhile."""

SIZE: Any = {"width": 1000, "height": 800}

CLEAR = """async () => {
  await window.jupyterapp.restored;  // after a reload, documents open again until then
  for (const close of document.querySelectorAll(".jp-Dialog button:last-child")) close.click();
  for (const widget of [...window.jupyterapp.shell.widgets("main")]) {
    // With a session that still begins or ends, JupyterLab would fail later, in another test.
    await widget.sessionContext?.ready.catch(() => {});
    await widget.sessionContext?.shutdown().catch(() => {});
    widget.dispose();
  }
}"""


HOSTILE_STATE = """() => ({
  hacked: window.hacked || 0,
  acting: [...document.querySelectorAll(
    ".jp-OutputArea script, .jp-OutputArea iframe, .jp-OutputArea [onload],"
    + " .jp-OutputArea [onerror], .jp-OutputArea [onmouseover],"
    + " .jp-OutputArea img:not([src^='data:'])")]
    .map((e) => e.outerHTML),
  links: [...document.querySelectorAll(".jp-OutputArea a")].map((link) => link.href),
})"""
"""State of a page with hostile texts: the number of scripts that ran, acting elements and links."""


class Lab:
    """A shared page with JupyterLab, since loading one takes longer than most tests."""

    def __init__(self, server: Server, browser: Any, name: str) -> None:
        self.name = name
        self.page = _new_page(browser)
        self.page.goto(f"{server.url}/lab/workspaces/{name}?reset")
        self.page.wait_for_function("() => window.jupyterapp?.shell.currentWidget")

    def clear(self) -> None:
        """Close all documents without saving and restore the initial layout."""
        self.page.mouse.move(0, 0)  # away from the next test's views
        self.page.evaluate(CLEAR)
        self.page.set_viewport_size(SIZE)
        self.page.emulate_media(forced_colors="none", color_scheme="light")
        if self.page.locator('body[data-jp-theme-light="false"]').count():
            theme(self.page, "JupyterLab Light")


class NotebookPage:
    """A notebook file and the page in which it is open.

    The page is shared by tests or its own. `labs` are the shared pages: `shared`, and `still`, in
    which no live view was ever opened.
    """

    def __init__(
        self, server: Server, browser: Any, labs: Callable[[str], Lab], path: Path
    ) -> None:
        self.server, self.path = server, path
        self.errors: list[str] = []
        self.page: Any = None
        self._browser, self._labs = browser, labs
        self._lab: Lab | None = None

    def write(self, *cells: str) -> NotebookPage:
        """Write the file, a code cell for each string."""
        spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        code_cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
        content = nbformat.v4.new_notebook(cells=code_cells, metadata={"kernelspec": spec})
        nbformat.write(content, self.path)
        return self

    def open(self, app: str = "shared") -> NotebookPage:
        """Open the file with a kernel.

        In a new Notebook 7 (`notebook`), or in the shared JupyterLab of that name (`shared` or
        `still`).
        """
        if app == "notebook":
            self._listen(_new_page(self._browser))
            self.page.goto(f"{self.server.url}/notebooks/{self.path.name}")
        else:
            self._open_in(app)
        return self.ready()

    def open_without_kernel(self) -> NotebookPage:
        """Open the file in the JupyterLab `still`, and start no kernel for it."""
        none = {"shouldStart": False, "canStart": False, "autoStartDefault": False}
        self._open_in("still", kernelPreference=none)
        self._panel()
        return self

    def ready(self) -> NotebookPage:
        """Wait for the notebook and its kernel, whose indicator may show idle too early."""
        self._panel()
        wait_until(lambda: self.page.evaluate(READY))
        wait_until(lambda: self.kernel_status() in ("idle", "busy"))
        return self

    def reload(self) -> None:
        """Reload the page, which opens the file again, and wait for that.

        JupyterLab opens the files of its workspace. It also opens the one in the address, but
        seconds later and so perhaps in the next test.
        """
        if self._lab is not None:
            workspace = self._lab.name
            wait_until(lambda: self.page.evaluate(IS_IN_WORKSPACE, [workspace, self.path.name]))
            self.page.evaluate(LEAVE_FILE_OUT_OF_ADDRESS, workspace)
        self.page.reload()
        self.ready()

    def _open_in(self, name: str, **how: Any) -> None:
        self._lab = self._labs(name)
        self._listen(self._lab.page)
        self.command("docmanager:open", path=self.path.name, **how)

    def _listen(self, page: Any) -> None:
        self.page = page
        self.page.bring_to_front()  # in the background it draws once a second
        self.page.on("pageerror", self._note)

    def _note(self, error: Any) -> None:
        if LATE not in str(error):
            self.errors.append(str(error))

    def _panel(self) -> None:
        """Wait until the file's cells are in front."""
        opened = f"(path) => window.jupyterapp && {PANEL}?.context?.path === path && {PANEL}.id"
        handle = self.page.wait_for_function(opened, arg=self.path.name)
        self.panel = self.page.locator(f"[id='{handle.json_value()}']")
        self.panel.locator(".jp-Notebook .jp-Cell").first.wait_for()

    def kernel_status(self) -> str:
        """Return the kernel's status as the page sees it."""
        return str(self.page.evaluate(f"() => {PANEL}.sessionContext.session?.kernel?.status"))

    def command(self, name: str, **arguments: Any) -> None:
        """Start a command of JupyterLab; not awaited, since some never settle."""
        self.page.evaluate(START, [name, arguments])

    def select(self, cell: int) -> None:
        """Make a cell the active one."""
        self.page.evaluate(f"(i) => {{ {PANEL}.content.activeCellIndex = i; }}", cell)

    def run(self, cell: int) -> None:
        """Run one cell, without waiting for it."""
        self.select(cell)
        self.command("notebook:run-cell")

    def output(self, cell: int = 0) -> Any:
        """Return the locator of a cell's output."""
        cells = self.panel.locator(".jp-Notebook .jp-CodeCell")
        return cells.nth(cell).locator(".jp-Cell-outputWrapper")

    def save(self) -> Any:
        """Save, and return the content of the file."""
        self.page.evaluate(f"() => {PANEL}.context.save()")
        return nbformat.read(self.path, as_version=4)

    def remove_trust(self) -> Path:
        """Change every cell in the file so that its signature is invalid; return the path."""
        content = json.loads(self.path.read_text())
        for cell in content["cells"]:
            cell["source"] = "# not the cell that was signed"
        self.path.write_text(json.dumps(content))
        return self.path

    def wait_for_saved_html(self, words: str) -> str:
        """Save until the first cell's output contains the words; return its HTML."""
        html = wait_until(lambda: words in (html := self._saved_html()) and html)
        return str(html)

    def _saved_html(self) -> str:
        """Return the HTML of the first cell's only output, which must have HTML and text only."""
        (output,) = self.save().cells[0].outputs
        assert set(output.data) == {"text/html", "text/plain"}
        return str(output.data["text/html"])

    def wait_for_text(self, words: str, cell: int = 0) -> None:
        """Wait until a cell's output shows the words."""
        wait_until(lambda: words in self.output(cell).inner_text())

    def wait_for_printed(self, text: str, cell: int = 1) -> None:
        """Run a cell until it prints a text."""
        printed = ""

        def prints() -> bool:
            nonlocal printed
            self.run(cell)
            self.idle()
            printed = self.output(cell).inner_text()
            return text in printed

        try:
            wait_until(prints)
        except AssertionError as error:
            error.add_note(f"The cell printed {printed!r}; the errors of the page: {self.errors}")
            raise

    def check_inert(self) -> None:
        """Check that no script of hostile texts has run, or would at a click."""
        state = self.page.evaluate(HOSTILE_STATE)
        assert state["hacked"] == 0
        assert state["acting"] == []
        assert not [link for link in state["links"] if link.startswith("javascript")]

    def record_texts(self) -> None:
        """Record every text that appears on the page from now on."""
        self.page.evaluate(REMEMBER)

    def wait_for_recorded_text(self, words: str) -> None:
        """Wait until the words have appeared since `record_texts`, even if only briefly."""
        wait_until(lambda: words in self.page.evaluate("() => window.remembered.join('\\n')"))

    def wait_until_removed(self, locator: Any) -> None:
        """Wait until a locator matches no element."""
        wait_until(lambda: locator.count() == 0)

    def bar(self) -> Any:
        """Return the accessible progress bar in the first cell's output."""
        return self.output().get_by_role("progressbar")

    def wait_for_bar_text(self, words: str) -> None:
        """Wait until the bar's text for screen readers begins with the words."""
        wait_until(lambda: str(self.bar().get_attribute("aria-valuetext")).startswith(words))

    def idle(self) -> None:
        """Wait until no cell runs and all output is on the page."""
        try:
            wait_until(lambda: self.panel.evaluate(IDLE))
        except AssertionError as error:
            prompts = self.panel.locator(".jp-InputPrompt").all_inner_texts()
            error.add_note(f"The kernel is {self.kernel_status()}, the prompts are {prompts}")
            raise

    def theme(self, name: str) -> None:
        """Change the theme and wait until it is applied."""
        theme(self.page, name)

    def close(self) -> None:
        """Close the file, with the page if that is its own."""
        if self.page is None:
            return
        self.page.remove_listener("pageerror", self._note)
        if self._lab is None:
            self.page.close()
        else:
            self._lab.clear()
        self.page = None


def theme(page: Any, name: str) -> None:
    """Change the theme of JupyterLab and wait until it is applied."""
    page.evaluate(START, ["apputils:change-theme", {"theme": name}])
    light = "false" if "Dark" in name else "true"
    page.wait_for_selector(f'body[data-jp-theme-light="{light}"]', state="attached")
    page.wait_for_selector("#jupyterlab-splash", state="detached")


def _new_page(browser: Any) -> Any:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    return page
