"""What every test has: folders and a keyring of its own, none of the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more about the machine's other work than about the code. On a
# build machine every run has the same examples, as hypothesis itself has it; elsewhere new ones.
settings.register_profile("labext", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("labext")

# Before anything imports keyring, and for every process that a test starts.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"


@pytest.fixture(autouse=True)
def isolated(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Keep a test away from the user's configuration, data and secrets."""
    from labext import config, redaction

    for variable in [name for name in os.environ if name.startswith("LABEXT_")]:
        monkeypatch.delenv(variable)
    home = tmp_path_factory.mktemp("labext")
    for variable, folder in {
        "LABEXT_CONFIG_DIR": "config",
        "LABEXT_SANDBOX_DIR": "sandbox",
        "LABEXT_STATE_DIR": "state",
    }.items():
        monkeypatch.setenv(variable, str(home / folder))
    known = set(redaction._known)
    yield home
    redaction._known.clear()
    redaction._known.update(known)
    config.forget_session()
