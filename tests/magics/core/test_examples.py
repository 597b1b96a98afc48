"""Run every example of the help, the README and the guides, on a sandbox or a simulated server."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import labext_test_shell
import pytest
from IPython.core.interactiveshell import InteractiveShell
from open_notebook import serving

from labext.cli import examples
from labext.config import connection
from labext.errors import SetupError, UnreachableError
from labext.sandbox import Sandbox
from labext_magics.core.dispatch import magic_named

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDES = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob(".docs/text/*.md"))]

ELSEWHERE = ("%lab connect https", "%jobs connect https", "%nb connect http")
"""Examples that connect to a server, which must exist."""

BEYOND = (
    *("%nb settings", "%nb commands", "%nb embeddings"),
    *("%nb sources chat", "%nb source-chats", "%nb insights new"),
)
"""Examples of features of Open Notebook beyond the contract."""

PROVIDERS = ("%nb credentials", "%nb models new")
"""Examples about models of providers that send no request to one."""

SETUP = "%nb models setup"
"""An example that requests a provider's list of models."""

OAUTH = "%lab login --method oauth"

BUILD = "%jobs submit peptide_build --set sequence=ACDEFGHIKLMNPQRSTVWY"
"""The job of the README, with which other examples need to agree."""

OFFLINE = "example.org/page"
"""A page that an example adds, which is not available without a network."""


def _cells(lines: list[str]) -> Iterator[str]:
    """Return the cells of a command's examples; the body of a cell magic is below its line."""
    cell: list[str] = []
    for line in [*lines, ""]:
        if cell and (not line or not cell[0].startswith("%%")):
            yield "\n".join(cell)
            cell = []
        if line:
            cell.append(line)


HELP = {
    name: [cell for command in magic_named(name).commands for cell in _cells([*command.examples])]
    for name in ("lab", "jobs", "nb")
}
BLOCKS = [
    block.strip("\n")
    for text in (README, *GUIDES)
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    if re.search(r"^\S* ?=? ?%%?(?:lab|jobs|nb|load_ext) ?", block, re.MULTILINE)
    or (kind == "python" and text != README)
]


def _on_the_sandbox(cells: list[str]) -> list[str]:
    return [
        cell
        for cell in cells
        if not cell.startswith((*ELSEWHERE, *BEYOND, *PROVIDERS, SETUP, OAUTH))
    ]


@pytest.fixture
def shell(
    opened: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """A shell in a copy of the example notebooks with few rows, and a question."""
    monkeypatch.chdir(tmp_path)
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"LABEXT_NB_{provider}_KEY", "sk-test-4f9b2c7d8e1a6035")
    shutil.copytree(examples.examples_folder() / "data", tmp_path / "data")
    table = tmp_path / "data" / "hairpins.csv"
    table.write_text("\n".join(table.read_text().splitlines()[:4]))
    Path("questions.csv").write_text("question,facts\nHow long is pBAD30?,4923\n")
    with labext_test_shell.loaded(opened):
        yield opened


def _run(shell: InteractiveShell, cells: list[str]) -> None:
    failed = []
    for cell in cells:
        done = shell.run_cell(cell)
        error = done.error_before_exec or done.error_in_exec
        if error and not (OFFLINE in cell and "1 of" in str(error) and OFFLINE in str(error)):
            failed.append(f"{cell}: {error!r}")
    assert not failed, "\n".join(failed)


@pytest.fixture(scope="module")
def own_box(homes: Iterator[Path], cache: Path) -> Iterator[Sandbox]:
    """A sandbox in which the names of the examples are free."""
    sandbox = Sandbox(next(homes), rate="off")
    sandbox.start()
    yield sandbox
    sandbox.stop()


@pytest.fixture
def local(
    shell: InteractiveShell, own_box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> InteractiveShell:
    """The shell on the sandbox of the examples, which generates short episodes."""
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(own_box.data_dir))
    _run(shell, [f"%{name} connect sandbox" for name in HELP])
    _run(shell, ["%nb profiles edit interview --segments 1"])
    return shell


def test_examples_of_lab_run(local: InteractiveShell) -> None:
    _run(local, _on_the_sandbox(HELP["lab"]))


def test_examples_of_jobs_run(local: InteractiveShell) -> None:
    before = [
        "import pandas as pd",
        'frame = pd.read_csv("data/hairpins.csv").assign(family="pBAD30")',
        f"{BUILD} --name helix1 --set conformation=helix --wait",
        f"{BUILD} --name strand1 --set conformation=strand --wait",
    ]
    _run(local, [*before, *_on_the_sandbox(HELP["jobs"]), "%jobs delete p1 --yes"])


def test_examples_of_nb_run(local: InteractiveShell) -> None:
    before = ['%nb use "Examples" --create']
    _run(local, [*before, *_on_the_sandbox(HELP["nb"])])


def test_blocks_of_the_readme_and_the_guides_run(local: InteractiveShell) -> None:
    assert len(BLOCKS) > 15
    skipped = ("%lab sandbox start", *ELSEWHERE)
    _run(local, [block for block in BLOCKS if not any(line in block for line in skipped)])


def test_python_of_the_readme_runs(local: InteractiveShell) -> None:
    _run(local, ['%nb use "Arabinose induction" --create'])
    used = connection("lab")
    value = {"key": used.secrets["api_key"], "ca_bundle": used.options.get("ca_bundle")}
    blocks = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    for block in blocks:
        code = block.replace("https://lab.example.org", used.base_url)
        exec(code.replace("ApiKey(key)", "ApiKey(key), verify=ca_bundle"), value)


def test_examples_of_providers_run(
    shell: InteractiveShell, box: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
    cells = sorted(cell for cell in HELP["nb"] if cell.startswith(PROVIDERS))
    new = [cell for cell in cells if "credentials new" in cell]
    _run(shell, ["%nb connect sandbox", *new, *(cell for cell in cells if cell not in new)])


def test_examples_beyond_the_contract_run(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [
        '%nb use "Examples" --create',
        "%nb note text --title T",
        "%nb notes --out notes",
        '%nb transformations new "Key findings" --prompt "List the findings."',
        '%%nb source --title "Bench notes" --sync\nThe strain is DH10B.',
    ]
    with serving() as server:
        monkeypatch.setenv("LABEXT_NB_BASE_URL", server.base_url)
        _run(shell, [f"%nb connect {server.base_url}", *before])
        note = shell.user_ns["notes"].id[0]
        cells = [cell for cell in HELP["nb"] if cell.startswith(BEYOND)]
        _run(shell, [cell.replace("note:abc123", note) for cell in cells])


def test_example_of_signing_in_as_an_app_runs(local: InteractiveShell) -> None:
    assert OAUTH in HELP["lab"]
    _run(local, [OAUTH])


@pytest.mark.parametrize(
    "cell",
    [cell for help_entry in HELP.values() for cell in help_entry if cell.startswith(ELSEWHERE)],
)
def test_example_of_another_server_looks_for_it(shell: InteractiveShell, cell: str) -> None:
    error = shell.run_cell(cell).error_in_exec
    assert isinstance(error, UnreachableError | SetupError), error
