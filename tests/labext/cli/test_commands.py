"""The commands of `labext`: their tree, wrong usage, interrupts, and how a sandbox is started."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from labext import cli
from labext.cli.groups import table
from labext.sandbox import Sandbox
from labext.sandbox.core.data_folder import MARKER_FILE, DataFolder
from labext.sandbox.server import Server
from labext.sandbox.status import SandboxStatus

HEAVY = {"numpy", "pandas", "requests", "rich", "sqlalchemy", "fastapi", "labext.jobs", "keyring"}


def commands(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        yield (*path, name), command


TREE = dict(commands(cli.labext))


def test_every_noun_has_the_verbs_of_its_lifecycle():
    for service in ("lab", "jobs", "nb"):
        assert ("sandbox", service, "limits", "set") in TREE
    nouns = {path[2] for path in TREE if path[:2] == ("sandbox", "jobs") and len(path) == 4}
    assert nouns == {
        *("accounts", "organizations", "keys", "budgets"),
        *("quotas", "limits", "gates", "pipelines"),
    }


@pytest.mark.parametrize("path", TREE, ids=" ".join)
def test_every_command_has_help(path, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([*path, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"Usage: labext {' '.join(path)}")
    assert TREE[path].help


@pytest.mark.parametrize("path", TREE, ids=" ".join)
def test_help_names_values_optional_arguments_and_commands_of_its_group(path):
    text = TREE[path].get_help(click.Context(TREE[path], info_name="x"))
    assert not re.search(r"--[a-z-]+ (INTEGER|FLOAT|TEXT)\b", text)
    assert path[0] != "server" or "labext sandbox" not in text
    usage = text.partition("\n\n")[0]
    for parameter in TREE[path].params:
        if isinstance(parameter, click.Argument) and not parameter.required:
            name = parameter.metavar or str(parameter.name).upper()
            assert f" [{name.strip('[]')}]" in usage


def test_secrets_are_never_options():
    flags = {flag for command in TREE.values() for p in command.params for flag in p.opts}
    assert not flags & {"--key", "--api-key", "--password", "--secret", "--client-secret"}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["sandbox", "jbos"], "labext sandbox --help"),
        (["sandbox", "jobs", "acounts"], "labext sandbox jobs --help"),
        (["sandbox", "jobs", "keys", "add"], "labext sandbox jobs keys add --help"),
        (["sandbox", "start", "--rate", "fast"], "labext sandbox start --help"),
        (["sandbox", "lab", "users", "list", "--tenant", "x"], "labext sandbox lab users list"),
        (["doctor", "now"], "labext doctor --help"),
    ],
)
def test_wrong_usage_is_one_line_with_exit_code_2(words, hint, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert printed.err.startswith("labext: ")
    assert hint in printed.err


@pytest.mark.parametrize("words", [[], ["sandbox"], ["sandbox", "jobs"]])
def test_group_without_a_command_prints_its_help_with_exit_code_2(words, capsys):
    assert cli.main(words) == 2
    assert capsys.readouterr().err.startswith(f"Usage: {' '.join(['labext', *words])} [OPTIONS]")


@pytest.mark.parametrize("error", [KeyboardInterrupt, EOFError])
def test_interrupt_ends_with_exit_code_130(error, monkeypatch, capsys):
    def interrupted() -> list[str]:
        raise error

    monkeypatch.setattr("labext.cli.report_lines", interrupted)
    assert cli.main(["doctor"]) == 130
    assert capsys.readouterr().err.strip() == "labext: interrupted."


def test_operating_system_error_is_one_line(monkeypatch, capsys):
    def denied() -> list[str]:
        raise PermissionError(13, "Permission denied", "/data")

    monkeypatch.setattr("labext.cli.report_lines", denied)
    assert cli.main(["doctor"]) == 1
    assert capsys.readouterr().err == "labext: [Errno 13] Permission denied: '/data'.\n"


def test_output_with_characters_that_the_locale_lacks_is_escaped(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    monkeypatch.setattr("labext.cli.report_lines", lambda: ["peptide_build → normal_modes"])
    assert cli.main(["doctor"]) == 0
    sys.stdout.flush()
    assert written.getvalue() == b"peptide_build \\u2192 normal_modes\n"


def folder_of_another_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Create a data folder whose commands root then runs; return the name of its user."""
    DataFolder(path).prepare()
    if os.getuid() == 0:
        os.chown(path / MARKER_FILE, 1, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return (path / MARKER_FILE).owner()


@pytest.mark.skipif(os.name == "nt", reason="There is no sandbox on Windows.")
@pytest.mark.parametrize(
    "words", ["status", "stop", "start --detach", "backup FILE", "jobs accounts list", "nb status"]
)
def test_folder_of_another_user_is_refused(words, monkeypatch, tmp_path, capsys):
    # Files that root writes could not be read by the server's user at its next start.
    user = folder_of_another_user(tmp_path / "data", monkeypatch)
    assert cli.main(["server", *words.split(), "--data-dir", str(tmp_path / "data")]) == 1
    printed = capsys.readouterr()
    assert f"The folder {tmp_path / 'data'} belongs to the user {user}." in printed.err
    assert not {path.name for path in (tmp_path / "data").iterdir()} & {"host.lock", "backup.lock"}


def test_doctor_goes_on_after_a_folder_of_another_user(monkeypatch, tmp_path, capsys):
    for service in ("SANDBOX", "SERVER"):
        monkeypatch.setenv(f"LABEXT_{service}_DIR", str(tmp_path / service))
    folder_of_another_user(tmp_path / "SANDBOX", monkeypatch)
    assert cli.main(["doctor"]) == 0
    assert f"sandbox in {tmp_path / 'SANDBOX'}: The folder" in capsys.readouterr().out


@pytest.mark.parametrize("words", ["status", "stop", "backup FILE", "jobs accounts list"])
def test_folder_of_the_other_kind_is_refused(words, tmp_path, capsys):
    for kind, file, other in (
        ("server", "server.json", "sandbox"),
        ("sandbox", "host.json", "server"),
    ):
        folder = DataFolder(tmp_path / kind)
        folder.prepare()
        (folder.path / file).write_text('{"host": "localhost"}')
        assert cli.main([other, *words.split(), "--data-dir", str(folder.path)]) == 1
        assert f"belong to a {kind}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", ["--host=", "--listen=", "--organization=", "--port=0", "--storage="]
)
def test_empty_option_of_a_server_is_refused(option, tmp_path, capsys):
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    (folder.path / "server.json").write_text(
        '{"host": "localhost", "listen": "127.0.0.1", "behind_proxy": true}'
    )
    words = ["server", "start", "--detach", option, "--data-dir", str(folder.path)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "_runs", lambda _: pytest.fail("The server would be started."))
        assert cli.main(words) == 1
    assert capsys.readouterr().err.startswith("labext: ")


def test_table_aligns_numbers_right_and_text_left():
    records = [{"name": "a", "n": 1234, "of": ["x", "y"]}, {"name": "abcdef", "n": 5, "of": None}]
    assert table(records, "name", "n", "of").splitlines() == [
        "name        n  of",
        "a       1,234  x, y",
        "abcdef      5  none",
    ]
    assert table([], "name") == "None."


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom labext import cli\n"
        "try:\n    cli.main(['sandbox', 'jobs', 'accounts', '--help'])\n"
        "except SystemExit:\n    pass\n"
        f"print(*({HEAVY!r} & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""


@pytest.mark.parametrize(
    "words",
    [
        "server start --host lab.example.org --behind-proxy --listen 127.0.0.1",
        "server certificates DIR",
        "server backup FILE",
        "worker --connect tcp://127.0.0.1:8786",
    ],
)
def test_installation_without_the_services_names_the_extra(words, tmp_path):
    code = (
        "import sys\nsys.modules |= dict.fromkeys(('sqlalchemy', 'fastapi', 'trustme'))\n"
        "from labext import cli\nsys.exit(cli.main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert done.stderr.strip().endswith('pip install "labext-jupyter[sandbox]"`.')


def test_every_tenant_can_be_named():
    from labext.cli.lab import TENANTS
    from labext.sandbox.lab import endpoints

    assert tuple(endpoints.TENANT_ENDPOINTS) == TENANTS


@pytest.mark.parametrize("count", ["-1", "many", "1.5"])
def test_negative_number_of_sequences_is_refused(count, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["sandbox", "start", "--sequences", count])
    assert ended.value.code == 2
    assert "--sequences" in capsys.readouterr().err


def test_start_passes_the_number_of_sequences(monkeypatch, tmp_path):
    requested: list[Any] = []

    class Started(Sandbox):
        def start(self) -> SandboxStatus:
            requested.append(self._options["sequences"])
            return SandboxStatus("running", self.data_dir)

    monkeypatch.setattr("labext.sandbox.Sandbox", Started)
    for words in ([], ["--sequences", "0"], ["--sequences", "5000"]):
        assert cli.main(["sandbox", "start", "--data-dir", str(tmp_path), *words]) == 0
    assert requested == [None, 0, 5000]
