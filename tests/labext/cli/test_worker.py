"""`labext worker` and `labext server certificates`: wrong usage, certificates, and Slurm."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from labext import cli
from labext.sandbox.core.executors.cluster.address import TlsFiles


@pytest.fixture
def sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a fake `sbatch` that stores the script and prints the output of Slurm; return its
    folder.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    fake = folder / "sbatch"
    fake.write_text(
        '#!/bin/sh\nn=$(ls "$(dirname "$0")" | wc -l)\n'
        'cp "$1" "$(dirname "$0")/script$n"\necho "Submitted batch job $((n + 40))"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


def test_slurm_jobs_are_submitted_with_a_worker_each(
    sbatch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["server", "certificates", str(tmp_path / "tls")]) == 0
    names = (("ca-file", "ca.pem"), ("cert", "worker.pem"), ("key", "worker.key"))
    tls = [word for n, file in names for word in (f"--tls-{n}", str(tmp_path / "tls" / file))]
    options = ["--slots", "4", "--memory", "8GiB", "--partition", "short", "--time", "02:00:00"]
    options += ["--name", "night shift"]
    line = ["worker", "--slurm", "--connect", "tls://lab.example.org", "--jobs", "2"]
    assert cli.main([*line, *options, *tls]) == 0
    assert "Submitted 2 workers: 41, 42." in capsys.readouterr().out
    scripts = [path.read_text() for path in sorted(sbatch.glob("script*"))]
    assert len(scripts) == 2
    for script in scripts:
        for directive in ("-p short", "--cpus-per-task=4", "--mem=9G", "-t 02:00:00", "-n 1"):
            assert f"#SBATCH {directive}\n" in script
        [command] = re.findall(r"^.* -m labext\.cli worker .*$", script, re.MULTILINE)
        assert "--connect tls://lab.example.org:8786 --slots 4 --memory 8589934592" in command
        assert f"--tls-key {tmp_path}/tls/worker.key" in command
        assert "--name 'night shift'" in command


def test_refusal_of_slurm_is_one_line(sbatch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sbatch / "sbatch").write_text("#!/bin/sh\necho 'invalid partition specified: x' >&2\nexit 1\n")
    line = ["worker", "--slurm", "--connect", "tcp://127.0.0.1", "--slots", "1"]
    assert cli.main([*line, "--memory", "1GiB"]) == 1
    message = capsys.readouterr().err
    assert "invalid partition specified" in message
    assert "Check the partition" in message
    assert len(message.strip().splitlines()) == 1
    assert cli.main(line) == 1
    assert "--memory SIZE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--jobs", "4"], "`--jobs` is for workers that Slurm starts. Add `--slurm`"),
        (["--partition", "short"], "`--partition` is for workers that Slurm starts."),
        (["--time", "02:00:00"], "`--time` is for workers that Slurm starts."),
        (["--slurm", "--slots", "1", "--memory", "1GiB", "--host", "10.0.0.1"], "Leave it out."),
    ],
)
def test_options_without_effect_are_refused(
    options: list[str], message: str, sbatch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["worker", "--connect", "tcp://127.0.0.1:1", *options]) == 1
    assert message in capsys.readouterr().err
    assert not list(sbatch.glob("script*"))


@pytest.mark.parametrize("options", [[], ["--slurm", "--slots", "1", "--memory", "1GiB"]])
def test_missing_shared_folder_is_refused_and_not_created(
    options: list[str], tmp_path: Path, sbatch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shraed"
    line = ["worker", "--connect", "tcp://127.0.0.1", "--shared-dir", str(folder)]
    assert cli.main([*line, *options]) == 1
    assert f"There is no folder {folder}." in capsys.readouterr().err
    assert not folder.exists()


def test_interrupts_are_handled_as_before_after_a_submission() -> None:
    script = (
        "import signal\n"
        "from labext.sandbox.core.executors.cluster import slurm_workers\n"
        "slurm_workers.import_slurm()\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_slurm_without_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    line = ["worker", "--slurm", "--connect", "tcp://127.0.0.1", "--slots", "1", "--memory", "1GiB"]
    assert cli.main(line) == 1
    assert "`sbatch` is not on the PATH" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Add `--connect tls://HOST:PORT`"),
        (["--connect", "tcp://10.0.0.1:8786"], "would not be encrypted"),
        (["--connect", "tls://10.0.0.1:8786"], "needs certificates"),
        (["--connect", "lab"], "not the address of a scheduler"),
        (["--connect", "tcp://127.0.0.1:1"], "can't be reached"),
        (["--connect", "tcp://127.0.0.1:1", "--memory", "many"], "is not a size"),
    ],
)
def test_worker_that_cannot_connect_says_why_in_one_line(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["worker", *options]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert len([line for line in error.splitlines() if line.startswith("labext:")]) == 1


def test_certificates_are_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "tls"
    assert cli.main(["server", "certificates", str(folder), "--host", "lab.example.org"]) == 0
    assert {path.name for path in folder.iterdir()} == {
        *("ca.pem", "server.pem", "server.key", "worker.pem", "worker.key")
    }
    for role in ("server", "worker"):
        TlsFiles(folder / "ca.pem", folder / f"{role}.pem", folder / f"{role}.key").context()
    assert cli.main(["server", "certificates", str(folder)]) == 1
    assert "not empty" in capsys.readouterr().err
