"""The command line on a running sandbox, and a keyring per test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

from labext import cli
from labext.sandbox import Sandbox


class MemoryKeyring(KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.secrets: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.secrets.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.secrets[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.secrets.pop((service, username), None) is None:
            raise PasswordDeleteError(username)


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> MemoryKeyring:
    secrets = MemoryKeyring()
    before = keyring.get_keyring()
    monkeypatch.setattr(keyring.core, "_keyring_backend", secrets)
    assert keyring.get_keyring() is not before
    return secrets


class Command:
    """`labext sandbox SERVICE …` on a sandbox: exit code, stdout, stderr."""

    def __init__(self, service: str, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data_dir = data_dir
        self._service = service
        self._capsys = capsys

    def __call__(self, *words: str, data_dir: Path | None = None) -> tuple[int, str, str]:
        self._capsys.readouterr()
        where = str(data_dir or self.data_dir)
        code = cli.main(["sandbox", self._service, *words, "--data-dir", where])
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err

    def output(self, *words: str, data_dir: Path | None = None) -> str:
        """Return the output of a successful command."""
        code, out, err = self(*words, data_dir=data_dir)
        assert (code, err) == (0, "")
        return out

    def json(self, *words: str, data_dir: Path | None = None) -> Any:
        """Return the JSON output of a successful command."""
        return json.loads(self.output(*words, "--json", data_dir=data_dir))

    def error(self, *words: str, data_dir: Path | None = None) -> str:
        """Return the one-line error of a failed command."""
        code, out, err = self(*words, data_dir=data_dir)
        assert (code, out) == (1, "")
        assert err.startswith("labext: ")
        assert err.count("\n") == 1
        return err


@pytest.fixture
def command(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> Callable[[str], Command]:
    """Make the command of a service, on the shared sandbox by default."""
    return lambda service: Command(service, box.data_dir, capsys)
