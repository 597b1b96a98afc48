"""One notebook in one page of a real browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
from own_server import PATIENCE, Server, until

SHOTS = Path(os.environ.get("LABEXT_SCREENSHOTS", Path(__file__).parents[1] / "screenshots"))

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
    for (const each of records.flatMap((record) => [...record.addedNodes])) {
      window.remembered.push(each.textContent);
    }
  };
  new MutationObserver(keep).observe(document.body, { childList: true, subtree: true });
}"""

PANEL = "window.jupyterapp.shell.currentWidget"


class NotebookPage:
    """A notebook file and the page it is open in."""

    def __init__(self, server: Server, browser: Any, name: str, path: Path | None = None) -> None:
        self.server, self.name = server, name
        self.path = path or server.folder / f"{name}.ipynb"
        self.page = browser.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def write(self, *cells: str) -> NotebookPage:
        """Write the file, a code cell for each string."""
        spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        made = [nbformat.v4.new_code_cell(cell) for cell in cells]
        content = nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": spec})
        nbformat.write(content, self.path)
        return self

    def open(self, app: str = "lab") -> NotebookPage:
        """Open the file in JupyterLab (`lab`) or Notebook 7 (`notebook`), with a kernel."""
        address = {
            "lab": f"/lab/workspaces/{self.name}/tree/{self.path.name}?reset",
            "notebook": f"/notebooks/{self.path.name}",
        }
        self.page.goto(self.server.url + address[app])
        return self.ready()

    def open_without_kernel(self) -> NotebookPage:
        """Open the file in JupyterLab and start no kernel for it."""
        self.page.goto(f"{self.server.url}/lab/workspaces/{self.name}?reset")
        self.page.wait_for_function("() => window.jupyterapp?.shell.currentWidget")
        none = {"shouldStart": False, "canStart": False, "autoStartDefault": False}
        self.command("docmanager:open", path=self.path.name, kernelPreference=none)
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        return self

    def ready(self) -> NotebookPage:
        """Wait for the notebook and its kernel; the idle light alone lies."""
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        until(lambda: self.page.evaluate(READY), "a session")
        until(lambda: self.kernel_status() in ("idle", "busy"), "a kernel")
        return self

    def kernel_status(self) -> str:
        """Return the kernel's status as the page sees it."""
        return str(self.page.evaluate(f"() => {PANEL}.sessionContext.session?.kernel?.status"))

    def command(self, name: str, **arguments: Any) -> None:
        """Start a command of JupyterLab; not awaited, since some never settle."""
        start = "([name, given]) => { void window.jupyterapp.commands.execute(name, given); }"
        self.page.evaluate(start, [name, arguments])

    def select(self, cell: int) -> None:
        """Make a cell the active one."""
        self.page.evaluate(f"(i) => {{ {PANEL}.content.activeCellIndex = i; }}", cell)

    def run(self, cell: int) -> None:
        """Run one cell, without waiting for it."""
        self.select(cell)
        self.command("notebook:run-cell")

    def output(self, cell: int = 0) -> Any:
        """Return where a cell's output is."""
        cells = self.page.locator(".jp-Notebook .jp-CodeCell")
        return cells.nth(cell).locator(".jp-Cell-outputWrapper")

    def save(self) -> Any:
        """Save, and return what is in the file."""
        self.page.evaluate(f"() => {PANEL}.context.save()")
        return nbformat.read(self.path, as_version=4)

    def kept(self, words: str) -> str:
        """Save until the first cell's output has the words; return its HTML."""
        html = until(lambda: words in (html := self._kept_html()) and html, words)
        return str(html)

    def _kept_html(self) -> str:
        """The first cell's one output in the file: plain HTML and text and nothing else."""
        (output,) = self.save().cells[0].outputs
        assert set(output.data) == {"text/html", "text/plain"}
        assert "\n" not in output.data["text/plain"]
        return str(output.data["text/html"])

    def says(self, words: str, cell: int = 0) -> None:
        """Wait until a cell's output shows the words."""
        until(lambda: words in self.output(cell).inner_text(), words)

    def remember(self) -> None:
        """Keep every text that comes onto the page from now on, however soon it goes."""
        self.page.evaluate(REMEMBER)

    def said(self, words: str) -> None:
        """Wait until the words have come onto the page since `remember`, also if they are gone."""
        until(lambda: words in self.page.evaluate("() => window.remembered.join('\\n')"), words)

    def gone(self, found: Any) -> None:
        """Wait until nothing of what a locator finds is on the page."""
        until(lambda: found.count() == 0, f"no more of {found}")

    def bar(self) -> Any:
        """The bar in the first cell's output that a reader is told of."""
        return self.output().get_by_role("progressbar")

    def bar_says(self, words: str) -> None:
        """Wait until the bar's text for screen readers begins with the words."""
        said = lambda: str(self.bar().get_attribute("aria-valuetext"))  # noqa: E731
        until(lambda: said().startswith(words), words)

    def idle(self) -> None:
        """Wait until no cell runs: all it printed is on the page then."""
        prompts = self.page.locator(".jp-InputPrompt")
        until(lambda: not any("*" in each for each in prompts.all_inner_texts()), "the cells")
        until(lambda: self.kernel_status() == "idle", "an idle kernel")

    def shot(self, name: str, locator: Any = None) -> None:
        """Keep a picture of the page, or of a part of it."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        (locator or self.page).screenshot(path=SHOTS / f"{name}.png")

    def theme(self, name: str) -> None:
        """Change the theme, and wait until its curtain has gone."""
        self.command("apputils:change-theme", theme=name)
        light = "false" if "Dark" in name else "true"
        themed = f'body[data-jp-theme-light="{light}"]'
        self.page.wait_for_selector(themed, state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def close(self) -> None:
        """Close the page."""
        if not self.page.is_closed():
            self.page.close()
