"""Client methods for insights and embeddings of sources."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from labext.errors import InputError, NotFoundError
from labext.nb.commands import CommandWatch
from labext.nb.records import Record
from labext.nb.resource import Resource, parse_identifier, resolve_one
from labext.progress import Progress

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PendingInsight:
    """An insight that is on its way.

    Attributes:
        job: the command that makes it.
        source: of which source.
        title: what it is called: the transformation's title.
        before: the insights that the source had already.
    """

    job: str
    source: str
    title: str
    before: frozenset[str]


class Insights(Resource):
    """`nb.insights`: what models have made of sources.

    Wherever a method takes an insight, it takes its identifier, or its type (`Summary`), which
    several sources may have.
    """

    def list(
        self, notebook: str | None = None, sources: Iterable[str] | str | None = None
    ) -> pd.DataFrame:
        """Return insights, a row each; columns as `records.INSIGHT`.

        Args:
            notebook: of this one's sources; None of all.
            sources: of these alone.
        """
        from labext.nb.views import insight_frame

        return insight_frame(self.iter(notebook, sources))

    def iter(
        self, notebook: str | None = None, sources: Iterable[str] | str | None = None
    ) -> Iterator[Record]:
        """Yield insights' records, source by source; arguments as for `list`."""
        within = self._notebook(notebook)
        source_ids = None if sources is None else self._titles.find_all("source", sources, within)
        if source_ids is None:
            records = self._titles.records("source", within)
            source_ids = [record["id"] for record in records if record["insights_count"] != 0]
        for source_id in source_ids:
            try:
                yield from self._executor.run(self._backend.insights(source_id))
            except NotFoundError:
                if sources is not None:
                    raise

    def names(self, notebook: str | None = None) -> Sequence[str]:
        """Return what tells insights apart: their types, and the identifiers where those don't."""
        records = [*self.iter(notebook)]
        types = [str(record["insight_type"]) for record in records]
        return [
            str(record["id"]) if types.count(type) > 1 else type
            for record, type in zip(records, types, strict=True)
        ]

    def find(self, insight: str, source: str | None = None, notebook: str | None = None) -> str:
        """Return an insight's identifier; those of a source, else of a notebook, alone.

        Raises:
            NotFoundError: there is none of this type.
            ConflictError: there are several; they are listed.
        """
        identifier = parse_identifier("insight", insight)
        if identifier is not None:
            return identifier
        records = self.iter(notebook, None if source is None else [source])
        return resolve_one(
            "insight", insight, [{**record, "title": record["insight_type"]} for record in records]
        )

    def get(self, insight: str) -> Record:
        """Return one insight's record."""
        return self._executor.run(self._backend.insight(self.find(insight)))

    def start(self, source: str, transformation: str, model: str | None = None) -> PendingInsight:
        """Have an insight made, which comes later; `watch` and `made` wait for it.

        Args:
            source: of which source.
            transformation: by which transformation.
            model: the language model that makes it, in place of the default one.

        Raises:
            OutcomeUnknownError: the answer was lost; it may be on its way.
        """
        of = self._titles.find("source", source)
        by = self._titles.find("transformation", transformation)
        title = self._executor.run(self._backend.transformation(by))["title"]
        with_ = model and self._titles.find("model", model, "llm")
        before = frozenset(
            record["id"] for record in self._executor.run(self._backend.insights(of))
        )
        job = self._executor.run(self._backend.new_insight(of, by, with_))
        return PendingInsight(job, of, str(title), before)

    def watch(
        self, begun: PendingInsight, stop: threading.Event | None = None
    ) -> Iterator[Progress]:
        """Look at an insight on its way until it is there; yield what is seen, and ticks."""
        return self._watcher(begun).watch(stop)

    def made(self, begun: PendingInsight, timeout: float | None = None) -> Record:
        """Wait until an insight is there; return its record.

        Raises:
            JobFailedError: the command has failed, or has made nothing.
            NotReadyError: it is not there in time; it goes on.
        """
        watch = self._watcher(begun)
        watch.wait(timeout)
        assert watch.result is not None
        return watch.result

    def create(
        self,
        source: str,
        transformation: str,
        model: str | None = None,
        timeout: float | None = None,
    ) -> Record:
        """Have an insight made, and wait for it; return its record.

        Raises:
            LabextError: as for `start` and `made`.
        """
        return self.made(self.start(source, transformation, model), timeout)

    def save(self, insight: str, notebook: str) -> Record:
        """Copy an insight into a notebook; return the note's record.

        Raises:
            OutcomeUnknownError: the answer was lost; it may be there.
        """
        within = self._titles.find("notebook", notebook)
        return self._executor.run(self._backend.save_insight(self.find(insight), within))

    def delete(self, insight: str) -> None:
        """Delete an insight; notes that it was copied into stay."""
        self._executor.run(self._backend.delete_insight(self.find(insight)))

    def _watcher(self, begun: PendingInsight) -> CommandWatch:
        return CommandWatch(
            lambda: self._executor.run(self._backend.command(begun.job)),
            f"The insight {begun.title}",
            find_result=lambda: self._find_result(begun),
        )

    def _find_result(self, begun: PendingInsight) -> Record | None:
        """Return the insight that has come since, if it has."""
        insights = self._executor.run(self._backend.insights(begun.source))
        new = [record for record in insights if record["id"] not in begun.before]
        matching = [record for record in new if record["insight_type"] == begun.title]
        return next(iter(matching), None)


class Embeddings(Resource):
    """`nb.embeddings`: vectors, by which a search finds what means the same."""

    def source(self, source: str) -> Record:
        """Have the vectors of a source computed; return a record as `EMBEDDING`, not their end.

        `nb.commands.wait(record["job_id"])` waits for it.

        Raises:
            SetupError: no embedding model is set.
        """
        return self._executor.run(
            self._backend.embed(self._titles.find("source", source), "source")
        )

    def note(self, note: str) -> Record:
        """Have the vectors of a note computed; more at `source`."""
        return self._executor.run(self._backend.embed(self._titles.find("note", note), "note"))

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
        return self._executor.run(
            self._backend.rebuild(mode, sources=sources, notes=notes, insights=insights)
        )

    def status(self, job: str) -> Record:
        """Return how far vectors are computed again, by `rebuild`'s `job_id`: as `REBUILD`."""
        return self._executor.run(self._backend.rebuild_status(job))

    def watch(self, job: str, stop: threading.Event | None = None) -> Iterator[Progress]:
        """Look at a rebuilding until it is over; yield what is seen, and ticks.

        Raises:
            NotFoundError: there is no such job.
        """
        return self._watcher(job).watch(stop)

    def wait(self, job: str, timeout: float | None = None) -> Record:
        """Wait until a rebuilding is completed; return its `REBUILD`.

        Raises:
            JobFailedError: it has failed.
            NotReadyError: it is not completed in time; it goes on.
        """
        watch = self._watcher(job)
        watch.wait(timeout)
        assert watch.record is not None
        return watch.record

    def _watcher(self, job: str) -> CommandWatch:
        return CommandWatch(
            lambda: self.status(job), "Computing vectors again", stage=_rebuild_stage
        )


def _rebuild_stage(record: Record) -> str:
    done, total = record["processed"], record["total"]
    return f"{done:,} of {total:,}" if isinstance(done, int) and isinstance(total, int) else ""
