"""The order in which sources are processed, and the sources that share a process."""

from __future__ import annotations

from collections import Counter

import pytest

from labext.sandbox.core.task_transitions import TaskTransitions
from labext.sandbox.nb.ingestion import tasks
from labext.sandbox.nb.tables import Source

pytestmark = pytest.mark.contract


@pytest.fixture
def claims(in_process):
    """Queue sources given as (kind, size, awaited); return them in the order of their turns."""
    site = in_process()

    def run(*sources):
        with site.database.write() as session:
            for number, (kind, size, awaited) in enumerate(sources):
                named = {"id": f"source:{number}", "title": f"{number}"}
                source = Source(**named, kind=kind, size=size, topic="")
                session.add(source)
                tasks.PROCESS.queue_source(session, site, source, titled=True, awaited=awaited)
        ledger = TaskTransitions(site.database, site.queue)
        return ledger.turn({}, {}, Counter(), len(sources)).claims

    return run


def test_awaited_sources_come_first_then_short_texts(claims):
    short, long = tasks.SHORT_BYTES, tasks.SHORT_BYTES + 1
    result = claims(
        ("upload", 10, False),
        ("text", long, False),
        ("link", None, False),
        ("text", short, False),
        ("text", 0, False),
        ("upload", long, True),
        ("text", short, True),
    )
    order = [claim.payload["source"].removeprefix("source:") for claim in result]
    assert order == ["5", "6", "3", "4", "0", "1", "2"]


def test_only_short_texts_share_a_process(claims):
    short, long = tasks.SHORT_BYTES, tasks.SHORT_BYTES + 1
    result = claims(("text", short, False), ("text", long, False), ("upload", 10, False))
    assert [claim.is_warm for claim in result] == [True, False, False]
