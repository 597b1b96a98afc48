"""The command line on a running sandbox, and a keyring of a test's own."""

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


class Held(KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.held.pop((service, username), None) is None:
            raise PasswordDeleteError(username)


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Held:
    held = Held()
    before = keyring.get_keyring()
    monkeypatch.setattr(keyring.core, "_keyring_backend", held)
    assert keyring.get_keyring() is not before
    return held


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
        told = self._capsys.readouterr()
        return code, told.out, told.err

    def said(self, *words: str, data_dir: Path | None = None) -> str:
        """What it says when all is well."""
        code, out, err = self(*words, data_dir=data_dir)
        assert (code, err) == (0, "")
        return out

    def json(self, *words: str, data_dir: Path | None = None) -> Any:
        """What it says as JSON."""
        return json.loads(self.said(*words, "--json", data_dir=data_dir))

    def refused(self, *words: str, data_dir: Path | None = None) -> str:
        """The one line of a refusal."""
        code, out, err = self(*words, data_dir=data_dir)
        assert (code, out) == (1, "")
        assert err.startswith("labext: ")
        assert err.count("\n") == 1
        return err


@pytest.fixture
def command(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> Callable[[str], Command]:
    """Make the command of a service, on the shared sandbox unless told otherwise."""
    return lambda service: Command(service, box.data_dir, capsys)
