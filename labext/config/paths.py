"""Folders of this machine: configuration, state, caches and the sandbox's data."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from labext.errors import SetupError

_chosen_sandbox: Path | None = None


def config_dir() -> Path:
    """Return the folder of the profiles; it need not exist yet."""
    return _environment_path("LABEXT_CONFIG_DIR") or _platform_dir("user_config_path")


def state_dir() -> Path:
    """Return the folder for journals; it need not exist yet."""
    return _environment_path("LABEXT_STATE_DIR") or _platform_dir("user_state_path")


def cache_dir() -> Path:
    """Return the folder for files that can be made again; it need not exist yet."""
    return _environment_path("LABEXT_CACHE_DIR") or _platform_dir("user_cache_path")


def sandbox_dir() -> Path:
    """Return the data folder of the sandbox that this session uses; it need not exist yet."""
    return _chosen_sandbox or _environment_path("LABEXT_SANDBOX_DIR") or _platform_sandbox()


def is_default_sandbox(data_dir: Path) -> bool:
    """Return whether every shell finds this data folder without configuration."""
    return _is_default("LABEXT_SANDBOX_DIR", data_dir, _platform_sandbox)


def server_dir() -> Path:
    """Return the usual data folder of a server on this machine; it need not exist yet."""
    return _environment_path("LABEXT_SERVER_DIR") or _platform_server()


def is_default_server(data_dir: Path) -> bool:
    """Return whether every shell finds this server's data folder without configuration."""
    return _is_default("LABEXT_SERVER_DIR", data_dir, _platform_server)


def choose_sandbox(data_dir: Path | str | None) -> None:
    """Use the sandbox in another data folder for this session; None goes back to the usual one."""
    global _chosen_sandbox
    _chosen_sandbox = None if data_dir is None else Path(data_dir).expanduser().absolute()


def _is_default(variable: str, data_dir: Path, platform_dir: Callable[[], Path]) -> bool:
    try:
        return variable not in os.environ and data_dir == platform_dir()
    except SetupError:  # no home folder
        return False


def _platform_server() -> Path:
    return _platform_dir("user_data_path") / "server"


def _platform_sandbox() -> Path:
    return _platform_dir("user_data_path") / "sandbox"


def _environment_path(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value).expanduser().absolute() if value else None


def _platform_dir(kind: str) -> Path:
    import platformdirs

    try:
        folder: Path = getattr(platformdirs, kind)("labext", appauthor=False)
    except RuntimeError:
        raise SetupError(
            "The home folder of this account is unknown.",
            "Set HOME, or LABEXT_CONFIG_DIR, LABEXT_STATE_DIR, LABEXT_CACHE_DIR and "
            "LABEXT_SANDBOX_DIR (for a server LABEXT_SERVER_DIR).",
        ) from None
    return folder
