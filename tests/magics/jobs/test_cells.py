"""Cells of users, in a real shell against a real local service."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Refused, Run

from labext.errors import InputError, SignInError
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract


def test_cell_magics_submit(run: Run, shell: InteractiveShell) -> None:
    line = "%%jobs submit digest --name cell1 --wait"
    row = run(f"{line}\nsequence: GAATTCAAGCTT\nenzymes: [EcoRI, HindIII]")
    assert list(row["JobStatus"]) == ["Complete"]
    settings = {"sequence": "GAATTCAAGCTT", "enzymes": ["EcoRI", "HindIII"]}
    assert row["Settings"][0] == settings
    whole = json.dumps({"type": "digest", "name": "cell1", "settings": settings})
    assert list(run(f"%%jobs submit\n{whole}")["Created"]) == list(row["Created"])
    batch = "%%jobs batch cellbatch --type rna_fold --wait --out kept\n"
    assert run(batch + "NO: {sequence: ACGUACGU}\n'1e5': {sequence: GGGGAAAACCCC}\n") is None
    result = shell.user_ns["kept"]
    assert list(result["Name"]) == ["NO", "1e5"]
    assert result["score.mfe"].notna().all()


def test_python_objects_on_the_line(run: Run, shell: InteractiveShell) -> None:
    run("seqs = {'bases': ['GAATTC']}\nfor_all = {'enzymes': ['EcoRI']}")
    row = run('%jobs submit digest --name obj1 --set sequence={seqs["bases"][0]} --set {for_all}')
    assert row["Settings"][0] == {"sequence": "GAATTC", "enzymes": ["EcoRI"]}
    run(
        "def cut(bases):\n"
        "    %jobs submit digest --name obj1 --set sequence={bases} --set enzymes={['EcoRI']}\n"
        "cut('GAATTC')"
    )
    run(
        "for i in range(2):\n    %jobs submit digest --name {f'loop{i}'} --set enzymes=EcoRI"
        " --set sequence={'GAATTC' + 'A' * i}"
    )
    assert {"loop0", "loop1"} <= set(run("%jobs list")["JobName"])
    by_name = run(
        '%jobs batch dictbatch --type rna_fold --from {{"a": {"sequence": "ACGU"}}} --wait'
    )
    assert list(by_name["Name"]) == ["a"]


def test_check_submits_nothing(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    before = list(run("%jobs list")["JobName"])
    check = run("%jobs submit digest --check --set sequence=GAATTC --set enzymes=EcoRI,HindIII")
    assert dict(zip(check["setting"], check["value"], strict=True))["sequence"] == "GAATTC"
    run("import pandas as pd\nrows = pd.DataFrame({'n': ['a', 'b'], 'sequence': ['ACGU', 'GGCC']})")
    checked = run("%jobs batch checked --type rna_fold --from rows --name-column n --check")
    assert list(checked["JobName"]) == ["checked-a", "checked-b"]
    with pytest.raises(InputError):
        run("%jobs submit digest --check --set sequence=GAATTC --set enzymes=NoSuchEnzyme")
    output = capsys.readouterr().out
    assert re.search(r"Expected: .* of computing|The run time is unknown", output)
    assert list(run("%jobs list")["JobName"]) == before


def test_file_life_cycle(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.pdb").write_text("END\n")
    (tmp_path / "two.pdb").write_text("END\n")
    assert list(run("%jobs upload one.pdb two.pdb --folder mine")["file"]) == ["one.pdb", "two.pdb"]
    assert list(run("%jobs files --folder mine")["file"]) == ["one.pdb", "two.pdb"]
    assert any("mine" in name for name in run("%jobs files --folders")["file"])
    with pytest.raises(InputError, match=r"would remove: mine/one\.pdb, mine/two\.pdb"):
        run("%jobs rm --folder mine")
    assert len(run("%jobs rm --folder mine --preview")) == 2
    assert run("%jobs rm --folder mine --yes") is None
    assert not any("mine" in name for name in run("%jobs files --folders")["file"])
    with pytest.raises(InputError, match="There is no file three"):
        run("%jobs upload one.pdb three.pdb")
    with pytest.raises(InputError, match=r"No file matches \*\.cif"):
        run("%jobs upload one.pdb *.cif")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/one.pdb").write_text("REMARK\n")
    with pytest.raises(InputError, match="the same name"):
        run("%jobs upload **/*.pdb")
    assert "one.pdb" not in set(run("%jobs files")["file"])
    assert list(run("%jobs upload *.pdb --folder all")["file"]) == ["one.pdb", "two.pdb"]
    assert "refer to each by that name in a setting, or by one.pdb" in capsys.readouterr().out


def test_delete_asks_for_confirmation(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("gone1", "gone2"):
        run(f"%jobs submit digest --name {name} --set sequence=GAATTC --set enzymes=EcoRI --wait")
    with pytest.raises(InputError, match=r"would delete: gone1 .* and its results, gone2"):
        run("%jobs delete gone1 gone2")
    assert list(run("%jobs delete gone1 gone2 --preview")["JobName"]) == ["gone1", "gone2"]
    with pytest.raises(InputError, match="No job, batch or pipeline is called"):
        run("%jobs delete gone1 nosuch --yes")
    assert list(run("%jobs show gone1")["JobName"]) == ["gone1"]
    capsys.readouterr()
    run("%jobs stop gone1 gone1")
    run("%jobs delete gone1 gone2 gone1 --yes")
    assert capsys.readouterr().out.count("gone1 is") == 2  # complete, and deleted
    with pytest.raises(InputError, match="gone1"):
        run("%jobs show gone1")


def test_list_options(run: Run) -> None:
    run("%jobs batch listed --type rna_fold --from {{'a': {'sequence': 'ACGU'}}} --wait")
    run("%jobs submit digest --name listed2 --set sequence=GAATTC --set enzymes=EcoRI --wait")
    top = run("%jobs list")
    assert "listed-a" not in set(top["JobName"])
    assert "listed-a" in set(run("%jobs list --subjobs")["JobName"])
    assert list(run("%jobs list --batch listed")["JobName"]) == ["listed-a"]
    first = run("%jobs list --limit 1")
    rest = run(f"%jobs list --start-key {first.attrs['start_key']} --limit 1")
    assert len(first) == len(rest) == 1
    assert list(first["JobName"]) != list(rest["JobName"])
    score_file = run("%jobs results listed2 --to one --file score.json")
    assert len(score_file) == 1
    run("%jobs results listed2 --to one.d/ --file score.json")
    assert Path("one.d/score.json").is_file()
    run("import pandas as pd\nmine = pd.DataFrame({'who': ['a'], 'note': ['x']})")
    joined = run("%jobs list --batch listed --from mine --name-column who")
    assert list(joined["note"]) == ["x"]


def test_semicolon_hides_the_result_and_out_stores_it(
    run: Run, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("%jobs tools;") is None
    assert run("%jobs tools --out kept") is None
    assert "digest" in set(shell.user_ns["kept"]["name"])
    assert run("%jobs tools fold")["name"].str.contains("fold").any()
    with pytest.raises(InputError, match="is not a valid variable name"):
        run("%jobs tools --out 2x")


def test_sandbox_has_its_own_data_dir(
    run: Run, box: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    run('%nb use "Of this sandbox" --create')
    run(f"%lab sandbox start --data-dir {box.data_dir}")
    assert run("%nb sources") is not None
    try:
        capsys.readouterr()
        run(f"%lab sandbox start --data-dir {other} --rate off --workers 1")
        assert "is running" in capsys.readouterr().out
        with pytest.raises(InputError, match="No notebook is in use"):
            run("%nb sources")
        address = run("%jobs status")["value"]["address"]
        assert address != box.jobs.base_url
        with pytest.raises(InputError, match=re.escape(str(other))):
            run(f"%lab sandbox reset --data-dir {other}")
        assert run(f"%lab sandbox reset --data-dir {other} --preview") is not None
        run("%lab sandbox stop")
        assert run("%lab sandbox status")["value"]["state"] == "stopped"
        assert box.status().running
    finally:
        run(f"%lab sandbox reset --data-dir {other} --yes")
    assert not any(other.glob("*")) or not Sandbox(other).status().running


def test_logout_forgets_the_key_until_the_next_login(run: Run, refused: Refused) -> None:
    run("%jobs logout")
    assert isinstance(refused("%jobs list"), SignInError)
    run("%jobs login\n%jobs list")
