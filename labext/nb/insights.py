"""Client methods for insights and embeddings of sources."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from labext.errors import InputError, NotFoundError
from labext.nb import views
from labext.nb.commands import CommandWatch
from labext.nb.records import Record
from labext.nb.resource import Names, Resource, parse_identifier, resolve_one
from labext.progress import Progress, check_timeout

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PendingInsight:
    """An insight that is being created.

    Attributes:
        job: the command that creates it.
        source: the source of the insight.
        title: the title of the transformation.
        before: the identifiers of the source's earlier insights.
    """

    job: str
    source: str
    title: str
    before: frozenset[str]


class Insights(Resource):
    """`nb.insights`: texts that models wrote about sources, such as summaries.

    Methods accept the identifier of an insight or its type (`Summary`), which need not be unique.
    """

    def list(
        self, notebook: str | None = None, sources: Iterable[str] | str | None = None
    ) -> pd.DataFrame:
        """Return insights; columns as `labext.nb.records.INSIGHT`.

        Args:
            notebook: only insights of sources in this notebook; None for all notebooks.
            sources: only insights of these sources.
        """
        return views.insight_frame(self.iter(notebook, sources))

    def iter(
        self, notebook: str | None = None, sources: Iterable[str] | str | None = None
    ) -> Iterator[Record]:
        """Yield insights' records, source by source; arguments as for `list`."""
        within = self._notebook(notebook)
        titles: dict[str, str | None] = {}
        source_ids = None if sources is None else self._titles.find_all("source", sources, within)
        if source_ids is None:
            records = self._titles.records("source", within)
            titles = {record["id"]: record["title"] for record in records}
            source_ids = [record["id"] for record in records if record["insights_count"] != 0]
        for source_id in source_ids:
            try:
                for insight in self._run(self._backend.insights(source_id)):
                    yield {**insight, "source_title": titles.get(source_id)}
            except NotFoundError:
                if sources is not None:
                    raise

    def names(self, notebook: str | None = None) -> Names:
        """Return a unique name for each insight: its type, or its identifier if types repeat."""
        records = [*self.iter(notebook)]
        types = [str(record["insight_type"]) for record in records]
        return [
            str(record["id"]) if types.count(type) > 1 else type
            for record, type in zip(records, types, strict=True)
        ]

    def find(self, insight: str, source: str | None = None, notebook: str | None = None) -> str:
        """Return an insight's identifier; `source` or `notebook` restricts the search.

        Raises:
            NotFoundError: no insight has this type.
            ConflictError: several insights have this type; the message lists them.
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
        return self._run(self._backend.insight(self.find(insight)))

    def start(self, source: str, transformation: str, model: str | None = None) -> PendingInsight:
        """Start the creation of an insight; `watch` and `wait` follow it.

        Args:
            source: the source.
            transformation: the transformation to apply.
            model: the language model to use instead of the default.

        Raises:
            OutcomeUnknownError: the response was lost; it may have started.
        """
        source_id = self._titles.find("source", source)
        transformation_id = self._titles.find("transformation", transformation)
        title = self._run(self._backend.transformation(transformation_id))["title"]
        model_id = self._model(model)
        before = frozenset(record["id"] for record in self._run(self._backend.insights(source_id)))
        job = self._run(self._backend.new_insight(source_id, transformation_id, model_id))
        return PendingInsight(job, source_id, str(title), before)

    def watch(
        self, pending: PendingInsight, stop: threading.Event | None = None
    ) -> Iterator[Progress]:
        """Poll a pending insight until it exists; yield a snapshot per poll and per tick."""
        return self._watcher(pending).watch(stop)

    def wait(self, pending: PendingInsight, timeout: float | None = None) -> Record:
        """Wait until an insight exists; return its record.

        Raises:
            JobFailedError: the command failed, or produced no insight.
            NotReadyError: the insight was not created in time; the command continues.
        """
        return self._watcher(pending).wait(timeout)

    def create(
        self,
        source: str,
        transformation: str,
        model: str | None = None,
        timeout: float | None = None,
    ) -> Record:
        """Create an insight and wait for it; return its record.

        Raises:
            LabextError: as for `start` and `wait`.
        """
        check_timeout(timeout)
        return self.wait(self.start(source, transformation, model), timeout)

    def save(self, insight: str, notebook: str) -> Record:
        """Copy an insight into a notebook; return the note's record.

        Raises:
            OutcomeUnknownError: the response was lost; it may have been created.
        """
        within = self._titles.find("notebook", notebook)
        return self._run(self._backend.save_insight(self.find(insight), within))

    def delete(self, insight: str) -> None:
        """Delete an insight; notes copied from it are kept."""
        self._run(self._backend.delete_insight(self.find(insight)))

    def _watcher(self, pending: PendingInsight) -> CommandWatch:
        return CommandWatch(
            lambda: self._run(self._backend.command(pending.job)),
            f"The insight {pending.title}",
            find_result=lambda: self._find_result(pending),
        )

    def _find_result(self, pending: PendingInsight) -> Record | None:
        """Return the new insight, if it exists."""
        for record in self._run(self._backend.insights(pending.source)):
            if record["id"] not in pending.before and record["insight_type"] == pending.title:
                return record
        return None


class Embeddings(Resource):
    """`nb.embeddings`: vectors of sources and notes for search by meaning."""

    def source(self, source: str) -> Record:
        """Start computing the vectors of a source.

        The result is a `labext.nb.records.EMBEDDING_SUBMISSION`;
        `nb.commands.wait(record["job_id"])` waits for the end.

        Raises:
            SetupError: no embedding model is set.
        """
        return self._run(self._backend.embed(self._titles.find("source", source), "source"))

    def note(self, note: str) -> Record:
        """Start computing the vectors of a note; see `source`."""
        return self._run(self._backend.embed(self._titles.find("note", note), "note"))

    def rebuild(
        self,
        mode: Literal["existing", "all"] = "existing",
        *,
        sources: bool = True,
        notes: bool = True,
        insights: bool = True,
    ) -> Record:
        """Start recomputing vectors, for example after a change of the embedding model.

        Args:
            mode: `existing` recomputes existing vectors, `all` computes them for all records.
            sources: include sources.
            notes: include notes.
            insights: include insights.

        Returns:
            The `labext.nb.records.REBUILD_SUBMISSION`; `watch` and `wait` follow its `job_id`.

        Raises:
            InputError: sources, notes and insights are all excluded.
            SetupError: no embedding model is set.
            OutcomeUnknownError: the response was lost; it may have started.
        """
        if not (sources or notes or insights):
            raise InputError(
                "Sources, notes and insights are all excluded.", "Include at least one of them."
            )
        return self._run(
            self._backend.rebuild(mode, sources=sources, notes=notes, insights=insights)
        )

    def status(self, job: str) -> Record:
        """Return the progress of the rebuild with this `job_id`, as `labext.nb.records.REBUILD`."""
        return self._run(self._backend.rebuild_status(job))

    def watch(self, job: str, stop: threading.Event | None = None) -> Iterator[Progress]:
        """Poll a rebuild until it ends; yield a snapshot per poll and per tick.

        Raises:
            NotFoundError: there is no such job.
        """
        return self._watcher(job).watch(stop)

    def wait(self, job: str, timeout: float | None = None) -> Record:
        """Wait until a rebuild completes; return its `labext.nb.records.REBUILD`.

        Raises:
            JobFailedError: it has failed.
            NotReadyError: it has not completed in time; it continues.
        """
        return self._watcher(job).wait(timeout)

    def _watcher(self, job: str) -> CommandWatch:
        return CommandWatch(lambda: self.status(job), "Recomputing vectors", stage=_rebuild_stage)


def _rebuild_stage(record: Record) -> str:
    done, total = record["processed"], record["total"]
    is_known = isinstance(done, int) and isinstance(total, int)
    return f"Running, {done:,} of {total:,} items" if is_known else ""
