"""`%jobs connect`, `login`, `logout` and `status`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from labext import messages
from labext.config import Connection
from labext_magics.core.dispatch import Call
from labext_magics.core.sign_in import SignIn, SignInMethod

if TYPE_CHECKING:
    import pandas as pd

_MAX_COUNTED = 1000


def status(call: Call) -> pd.DataFrame:
    """Return the service's address and a summary of its contents, without secrets."""
    import pandas as pd

    from labext.frames.views import properties_frame

    target, jobs = call.session.connected("jobs")
    tools = sum(1 for _ in jobs.iter_tools())
    frame = jobs.jobs(limit=_MAX_COUNTED)  # a split batch is one row, as in `%jobs list`
    states = Counter(
        str(job if pd.isna(batch) else batch)
        for job, batch in zip(frame["JobStatus"], frame["batchStatus"], strict=True)
    )
    count = len(frame)
    rows = {
        "profile": target.profile or "none (environment or address)",
        "address": target.base_url,
        "sign-in": "accepted",
        "tools": f"{tools:,}",
        "jobs and batches": f"{count:,}" + (" or more" if count == _MAX_COUNTED else ""),
        **{f"  {state}": f"{number:,}" for state, number in states.most_common()},
    }
    return properties_frame(rows, "jobs")


def _check_key(target: Connection) -> str:
    """Return the number of tools available with this key."""
    from labext.jobs import JobsClient

    with JobsClient.from_connection(target) as client:
        return messages.pluralize(sum(1 for _ in client.iter_tools()), "tool")


SIGN_IN = SignIn("jobs", (SignInMethod("jobs", "key", "key", {"api_key": "key"}),), _check_key)
