"""`%lab sandbox`: start, stop and reset the local services."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.options import OUT, PREVIEW, YES

if TYPE_CHECKING:
    import pandas as pd

    from labext.sandbox import Sandbox, SandboxStatus

_DATA_DIR = Parameter("data-dir", value_types.PATH, "the sandbox's data folder")


def start(call: Call, *, data_dir: Path | None, **options: Any) -> None:
    """Start the sandbox if necessary, and select it for this session."""
    from labext.config import SANDBOX, choose_profile, choose_sandbox, sandbox_dir

    sandbox = _sandbox(data_dir, **options)
    was_running = sandbox.status().running
    status = sandbox.start()
    if data_dir is not None:
        if status.data_dir != sandbox_dir():
            call.session.clear_notebook()
        choose_sandbox(data_dir)
    choose_profile(None, SANDBOX)
    state = "was already running" if was_running else "is running"
    output.print_message(f"The sandbox {state}; this session uses it.")
    for notice in status.notices:
        output.print_message(notice)


def stop(call: Call, *, data_dir: Path | None) -> None:  # noqa: ARG001
    """Stop the sandbox and keep its data."""
    sandbox = _sandbox(data_dir)
    output.print_message(
        "The sandbox is stopped; its data is kept." if sandbox.stop() else "No sandbox was running."
    )


def status(call: Call, *, data_dir: Path | None) -> pd.DataFrame:  # noqa: ARG001
    """Return the state of the sandbox, its addresses and its data folder, without secrets."""
    return _frame(_sandbox(data_dir).status())


def reset(call: Call, *, data_dir: Path | None, yes: bool, preview: bool) -> pd.DataFrame | None:  # noqa: ARG001
    """Stop the sandbox and delete its data; a preview returns its status."""
    sandbox = _sandbox(data_dir)
    status = sandbox.status()
    affected = [
        f"all jobs, files, sequences, notebooks and keys of the sandbox in {status.data_dir}"
    ]
    if not output.confirm_destruction("delete", affected, yes=yes, preview=preview):
        return _frame(status)
    output.print_message(
        "The sandbox is stopped and its data deleted; `%lab sandbox start` creates a new one."
        if sandbox.reset()
        else "There is no sandbox."
    )
    return None


def _sandbox(data_dir: Path | None, **options: Any) -> Sandbox:
    from labext.sandbox import Sandbox

    return Sandbox(data_dir, **options)


def _frame(status: SandboxStatus) -> pd.DataFrame:
    from labext.frames.views import properties_frame

    rows = {"state": status.state, **status.addresses, "data": str(status.data_dir)}
    if status.running:
        rows["limits"] = str(status.rate)
        rows["concurrent jobs"] = str(status.workers or "one per core")
    return properties_frame(rows, "sandbox")


COMMANDS = (
    Command(
        "sandbox start",
        "Start the local services and use them in this session.",
        start,
        options=[
            _DATA_DIR,
            Parameter(
                "rate", value_types.choice("named", "off"), "rate limits, or none; named by default"
            ),
            Parameter("workers", value_types.INTEGER, "concurrent jobs; by default one per core"),
            Parameter(
                "sequences",
                value_types.INTEGER,
                "add generated sequences up to this number, for testing",
            ),
        ],
    ),
    Command(
        "sandbox stop", "Stop the local services; their data is kept.", stop, options=[_DATA_DIR]
    ),
    Command(
        "sandbox status",
        "Show the state and the addresses of the local services.",
        status,
        options=[_DATA_DIR, OUT],
    ),
    Command(
        "sandbox reset",
        "Stop the local services and delete their data.",
        reset,
        options=[_DATA_DIR, YES, PREVIEW],
    ),
)
