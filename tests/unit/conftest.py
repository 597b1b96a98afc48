"""A job service without a server and without workers."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from labext.sandbox.core.database import Database
from labext.sandbox.core.queue import Queue, QueueBase
from labext.sandbox.core.service_protocol import Options, Site
from labext.sandbox.core.signing import Signer
from labext.sandbox.jobs import tasks
from labext.sandbox.jobs.app import JobService
from labext.sandbox.jobs.tables import Account, Base


@pytest.fixture
def site(tmp_path):
    """A job service with its queue, in which nothing runs."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "secrets").mkdir()
    database = Database.at(tmp_path / "db")
    database.create(QueueBase.metadata, Base.metadata)
    made = Site(
        folder=tmp_path / "jobs",
        secrets=tmp_path / "secrets",
        database=database,
        queue=Queue(),
        signer=Signer("key"),
        origins={"jobs": "http://127.0.0.1:1"},
        options=Options(rate="off"),
    )
    for kind in tasks.task_kinds(made):
        made.queue.add(kind)
    JobService().seed(made)
    yield made
    database.close()


@pytest.fixture
def student(site):
    with site.database.read() as session:
        return session.scalars(select(Account).where(Account.owner.is_(False))).one()
