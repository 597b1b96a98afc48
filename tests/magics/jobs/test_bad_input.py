"""Invalid `%jobs` lines in a real shell give one line with a next step, and stop Run All."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from labext.errors import LabextError

pytestmark = pytest.mark.contract

SETUP = """
import pandas as pd
frame = pd.DataFrame({"name": ["a", "b"], "bases": ["ACGUACGU", "GGGGAAAACCCC"]})
hole = frame.assign(bases=["ACGU", None])
twice = frame.assign(name="a")
none = frame.iloc[:0]
"""
BATCH = "%jobs batch bad --type rna_fold --name-column name --map sequence=bases"
GOOD = "--set sequence=GAATTC --set enzymes=EcoRI"

LINES = [
    (f"%jobs submit digest --name 'a b' {GOOD}", "contains a space"),
    ("%jobs submit digest --name taken --set sequence=AAAA --set enzymes=EcoRI", "and differs"),
    (f"%jobs submit align_pair --name taken {GOOD}", "enzymes is not a setting"),
    (f"{BATCH.replace('bad', 'taken')} --from frame", "taken"),
    ("%jobs submit digset --set a=1", 'did you mean "digest"'),
    ("%jobs submit digest --set sequnce=GAATTC", 'did you mean "sequence"'),
    ("%%jobs submit digest\nsequence: [GAATTC", "not valid YAML"),
    (f"{BATCH} --from none", "no rows"),
    (f"{BATCH} --from {{{{}}}}", "columns"),
    ("%jobs batch bad --type rna_fold --from {{}}", "no jobs"),
    (f"{BATCH} --from twice", "more than once"),
    (f"{BATCH} --from hole", "has an empty cell (row"),
    (f"{BATCH.replace('bases', 'bses')} --from frame", 'did you mean "bases"'),
    (f"{BATCH} --from frame --to out", "--to"),
    (f"{BATCH} --from frame --set sequence=ACGU", "sequence"),
    ("%jobs upload nothing.pdb", "no file nothing.pdb"),
    ("%jobs submit normal_modes --set pdbFile=someone@example.org/1A8O.pdb", "plain name"),
    ("%jobs submit normal_modes --set pdbFile=nowhere.pdb", "`%jobs upload nowhere.pdb`"),
    ("%jobs submit normal_modes --set pdbFile=sub/local.pdb", "`%jobs upload sub/local.pdb`"),
    ("%jobs batch b --type digest --from sub/local.pdb", "`frame = pandas.read_csv('sub/local"),
    ("%jobs submit digest sequence=GAATTC enzymes=EcoRI", "Write `--set sequence=GAATTC`."),
    ("%jobs batch b sequence=bases --type digest --from frame", "sequence=bases` or `--set seq"),
    ("%jobs batch b --type digest --from frame --map bases=sequence", "`--map sequence=bases`."),
    ("%jobs batch b --type digest --from {{'a': 'AC'}}", 'in this dict, "a" is a str'),
    ("%jobs files --folder nosuch", "no uploaded folder nosuch"),
    ("%jobs submit normal_modes --set pdbFile={Path('1A8O.pdb')}", "path"),
    ("%jobs results nosuch --to out/w", 'called "nosuch"'),
    ("%jobs results taken --to out/w --file nosuch.txt", "`%jobs outputs taken` lists its files"),
    ("%jobs submit digest --set sequence=GAQ --set enzymes=EcoRI", "`%jobs tool digest` shows"),
    ("%jobs results taken --to afile", "is a file"),
    ("%jobs show nosuch", 'called "nosuch"'),
    ("%jobs delete nosuch --yes", 'called "nosuch"'),
    ("%jobs delete taken", "Add --yes"),
    ("%jobs list --batch nosuch", "nosuch"),
    ("%jobs list --batch taken", "`%jobs show taken`"),
    ("%jobs list --start-key made-up", "startKey"),
    ("%jobs list --organization", "owner"),
    ("%jobs list --email teacher@sandbox.local", "owner"),
    ("%jobs rm nosuch.pdb --yes", "nosuch.pdb"),
    ("%jobs rm", "either a file or"),
    ("%jobs rm --folder nosuch --preview", "no uploaded folder nosuch"),
    ("%jobs submit digest --project my-project --set sequence=GAATTC --set enzymes=EcoRI",
     "not a project"),
    ("%jobs connect http://[", "is not the address of a service"),
    ("%lab sandbox reset", "Add --yes"),
    ("%lab sandbox start --rate off --workers 7", "workers"),
]  # fmt: skip


@pytest.fixture
def shell(own_shell: InteractiveShell, tmp_path: Path) -> InteractiveShell:
    (tmp_path / "afile").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/local.pdb").write_text("END\n")
    own_shell.run_cell(
        "%load_ext labext\n%lab sandbox start\nfrom pathlib import Path"
    ).raise_error()
    own_shell.run_cell(SETUP).raise_error()
    return own_shell


@pytest.fixture
def run(shell: InteractiveShell) -> Callable[[str], Any]:
    return lambda cell: shell.run_cell(cell, store_history=True)


def snapshot(shell: InteractiveShell, folder: Path) -> tuple[Any, ...]:
    """Return the state that a failed line could have changed."""
    rows = shell.run_line_magic("jobs", "list --subjobs")
    files = shell.run_line_magic("jobs", "files --folders")
    return (
        list(zip(rows["JobName"], rows["JobStatus"], strict=True)),
        list(files["file"]),
        sorted(str(p) for p in folder.rglob("*")),
        shell.run_line_magic("jobs", "status")["value"]["address"],
        sorted(name for name in shell.user_ns if name[:1] != "_"),
    )


def test_bad_input_is_one_line_and_changes_nothing(
    shell: InteractiveShell,
    run: Callable[[str], Any],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    run(f"%jobs submit digest --name taken {GOOD} --wait").raise_error()
    before = snapshot(shell, tmp_path)
    wrong = []
    for line, expected_message in LINES:
        capsys.readouterr()
        done = run(line)
        output = capsys.readouterr().out
        error = done.error_in_exec
        if not isinstance(error, LabextError):
            wrong.append(f"{line}: {error!r}")
        elif expected_message not in f"{error.message} {error.next_step}":
            wrong.append(f"{line}: {error}")
        elif not error.next_step or "\n" in str(error) or len(output.strip().splitlines()) != 1:
            wrong.append(f"{line}: not one line: {output}")
    assert not wrong, "\n".join(wrong)
    assert snapshot(shell, tmp_path) == before
