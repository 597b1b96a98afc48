"""The client's methods for vectors, by which a search finds what means the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Literal

from labext.errors import InputError
from labext.nb.beyond.following import Followed
from labext.nb.group import Group
from labext.nb.records import Record
from labext.progress import Progress


class Embeddings(Group):
    """`nb.embeddings`: vectors, by which a search finds what means the same."""

    def source(self, source: str) -> Record:
        """Have the vectors of a source computed; return a record as `EMBEDDING`, not their end.

        `nb.commands.wait(record["job_id"])` waits for it.

        Raises:
            SetupError: no embedding model is set.
        """
        return self._wire.run(self._dialect.embed(self._titles.find("source", source), "source"))

    def note(self, note: str) -> Record:
        """Have the vectors of a note computed; more at `source`."""
        return self._wire.run(self._dialect.embed(self._titles.find("note", note), "note"))

    def rebuild(
        self,
        mode: Literal["existing", "all"] = "existing",
        *,
        sources: bool = True,
        notes: bool = True,
        insights: bool = True,
    ) -> Record:
        """Have vectors computed again, as after another embedding model is set.

        Args:
            mode: of what has vectors (`existing`), or of everything (`all`).
            sources: of sources.
            notes: of notes.
            insights: of insights.

        Returns:
            A record as `REBUILDING`, not the end of it; `watch` looks at that.

        Raises:
            InputError: nothing is left of which they are computed.
            SetupError: no embedding model is set.
            OutcomeUnknownError: the answer was lost; it may have begun.
        """
        if not (sources or notes or insights):
            raise InputError("There is nothing left to compute vectors of.", "Leave less out.")
        return self._wire.run(
            self._dialect.rebuild(mode, sources=sources, notes=notes, insights=insights)
        )

    def status(self, job: str) -> Record:
        """Return how far vectors are computed again, by `rebuild`'s `job_id`: as `REBUILD`."""
        return self._wire.run(self._dialect.rebuild_status(job))

    def watch(self, job: str, stop: threading.Event | None = None) -> Iterator[Progress]:
        """Look at a rebuilding until it is over; yield what is seen, and ticks.

        Raises:
            NotFoundError: there is no such job.
        """
        return self._followed(job).watch(stop)

    def wait(self, job: str, timeout: float | None = None) -> Record:
        """Wait until a rebuilding is completed; return its `REBUILD`.

        Raises:
            JobFailedError: it has failed.
            NotReadyError: it is not completed in time; it goes on.
        """
        followed = self._followed(job)
        followed.wait(timeout)
        assert followed.record is not None
        return followed.record

    def _followed(self, job: str) -> Followed:
        return Followed(lambda: self.status(job), "Computing vectors again", stage=_stage)


def _stage(told: Record) -> str:
    done, total = told["processed"], told["total"]
    return f"{done:,} of {total:,}" if isinstance(done, int) and isinstance(total, int) else ""
