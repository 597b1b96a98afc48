"""The job service with a fork server that starts no process while a file `hold` exists."""

from __future__ import annotations

from collections.abc import Sequence

from labext.sandbox.jobs.app import JobService


class Service(JobService):
    @property
    def preload(self) -> Sequence[str]:
        return ["labext_test_holding", *super().preload]


service = Service()
