"""Build the reference: `python -m labext_magics.reference SOURCES OUTPUT`.

pdoc renders docstrings and guides; nbconvert renders the example notebooks. SOURCES is the folder
of the guides and templates.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pandas as pd
import pdoc.doc
from nbconvert.exporters import HTMLExporter
from pdoc import render
from pygments.formatters import HtmlFormatter

from labext.cli import examples
from labext.nb.resource import Resource
from labext_magics.reference import magic_pages

MAGICS = ("lab", "jobs", "nb")
API = (
    *("labext", "labext.lab", "labext.lab.files", "labext.jobs", "labext.nb", "labext.nb.records"),
    *("labext.progress", "labext.errors", "labext.sandbox"),
)
WIDGETS = "labext_widgets"
TUTORIALS = ("lab", "jobs", "jobs_in_depth", "results", "nb", "podcast")


@dataclass(frozen=True)
class Page:
    """One page of the reference.

    Attributes:
        module: the module that pdoc documents; for a guide, a module whose docstring is its text.
        title: the heading, and the name in the menu.
        html: rendered content of a tutorial, inserted after the heading.
    """

    module: ModuleType
    title: str
    html: str = ""

    @property
    def name(self) -> str:
        """The module's name, from which pdoc derives the path of the page."""
        return self.module.__name__


def build(sources: Path, output: Path) -> None:
    """Write all pages and the search index to a folder."""
    # Python before 3.12 does not record the bases of a TypedDict.
    warnings.filterwarnings("ignore", "Cannot determine where", UserWarning, "pdoc")
    # pdoc evaluates annotations such as `pd.Series[Any]`, which are valid only in the stubs.
    pd.Series.__class_getitem__ = classmethod(lambda cls, _: cls)  # type: ignore[attr-defined]
    sections = _sections(sources / "text")
    pages = {page.name: page for group in sections.values() for page in group}
    modules = {name: pdoc.doc.Module(page.module) for name, page in pages.items()}
    render.configure(
        docformat="google", show_source=False, template_directory=sources / "templates"
    )
    render.env.globals |= {"sections": sections, "pages": pages, "highlight_css": _highlight_css()}
    for name, module in modules.items():
        path = output / f"{name.replace('.', '/')}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render.html_module(module, modules), encoding="utf-8")
    (output / "search.js").write_text(render.search_index(modules), encoding="utf-8")


def _sections(texts: Path) -> dict[str, list[Page]]:
    """Return the pages by heading of the menu."""
    return {
        "": [_text_page(texts / "index.md", "labext")],
        "Magics": [
            _text_page(texts / f"magic_{name}.md", f"%{name}", magic_pages.commands(name))
            for name in MAGICS
        ],
        "Guides": [
            _text_page(texts / "configuration.md", "Configuration"),
            _text_page(texts / "sandbox.md", "The sandbox"),
            _text_page(texts / "server.md", "A group's server"),
            _text_page(texts / "cluster.md", "Workers on other machines"),
            _page("command_line", "Command line", magic_pages.shell_commands()),
        ],
        "Python": [_api_page(name) for name in (*API, WIDGETS)],
        "Tutorials": [_tutorial(name) for name in TUTORIALS],
    }


def _page(name: str, title: str, text: str, html: str = "") -> Page:
    module = ModuleType(name, text)
    module.__dict__.update(__docformat__="markdown", __all__=[])
    return Page(module, title, html)


def _text_page(path: Path, title: str, more: str = "") -> Page:
    text = path.read_text(encoding="utf-8")
    # The guides link to each other as Markdown files, for readers on a code host.
    text = re.sub(r"\]\((\w+)\.md(#[\w-]+)?\)", r"](\1.html\2)", text)
    return _page(path.stem, title, text.partition("\n")[2] + more)


def _api_page(name: str) -> Page:
    """Return the page of a package, with its client first and lazy names imported."""
    module = import_module(name)
    if name == "labext.nb":
        _add_resources(module)
    public: Sequence[str] | None = getattr(module, "__all__", None)
    if name == "labext":
        public = [
            "connect",
            "Rate",
            "ResponseLimits",
        ]  # other names are on the pages of the services and errors
    if name == "labext.nb.records":
        public = [constant for constant in vars(module) if re.fullmatch("[A-Z][A-Z_]+", constant)]
        public.remove("TYPE_CHECKING")
    if public is not None:
        ordered = sorted(public, key=lambda public_name: not public_name.endswith("Client"))
        # Lazily imported names become attributes on first use.
        module.__dict__.update(
            {public_name: getattr(module, public_name) for public_name in ordered}
        )
        module.__dict__["__all__"] = ordered
    return Page(module, name)


def _highlight_css() -> str:
    """Return the CSS of highlighted code for light and dark color schemes."""
    light, dark = (
        HtmlFormatter(style=style).get_style_defs([".pdoc-code", ".highlight"])  # type: ignore[no-untyped-call]
        for style in ("default", "github-dark")
    )
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _add_resources(module: ModuleType) -> None:
    """Add the classes of the resources of `NotebookClient`, such as `sources`, to the page."""
    client = module.NotebookClient("http://127.0.0.1/api")
    resources = [
        type(value)
        for name, value in vars(client).items()
        if not name.startswith("_") and isinstance(value, Resource)
    ]
    module.__dict__.update({resource.__name__: resource for resource in resources})
    module.__dict__["__all__"] = [*module.__all__, *(resource.__name__ for resource in resources)]


def _tutorial(name: str) -> Page:
    """Return the page of an example notebook with its saved outputs."""
    path = examples.examples_folder() / f"{name}.ipynb"
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    title, _, texts[0] = texts[0].partition("\n")
    notebook.cells[0].source = texts[0]
    html, _ = _exporter().from_notebook_node(notebook)
    html = (
        f"<p>This is the notebook <code>{name}.ipynb</code> of <code>labext demo</code>.</p>{html}"
    )
    return _page(f"tutorial_{name}", title.lstrip("# "), "", html)


@cache
def _exporter() -> HTMLExporter:
    """The exporter of all notebooks, which compiles its templates once."""
    return HTMLExporter(  # type: ignore[no-untyped-call]
        template_name="basic",
        exclude_anchor_links=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))
