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
        named = None if sources is None else self._titles.several("source", sources, within)
        if named is None:
            every = self._titles.listed("source", within)
            named = [each["id"] for each in every if each["insights_count"] != 0]
        for each in named:
            try:
                yield from self._wire.run(self._dialect.insights(each))
            except NotFoundError:
                if sources is not None:
                    raise

    def names(self, notebook: str | None = None) -> Sequence[str]:
        """Return what tells insights apart: their types, and the identifiers where those don't."""
        every = [*self.iter(notebook)]
        types = [str(each["insight_type"]) for each in every]
        return [
            str(each["id"]) if types.count(type) > 1 else type
            for each, type in zip(every, types, strict=True)
        ]

    def find(self, insight: str, source: str | None = None, notebook: str | None = None) -> str:
        """Return an insight's identifier; those of a source, else of a notebook, alone.

        Raises:
            NotFoundError: there is none of this type.
            ConflictError: there are several; they are listed.
        """
        known = parse_identifier("insight", insight)
        if known is not None:
            return known
        every = self.iter(notebook, None if source is None else [source])
        return resolve_one(
            "insight", insight, [{**each, "title": each["insight_type"]} for each in every]
        )

    def get(self, insight: str) -> Record:
        """Return one insight's record."""
        return self._wire.run(self._dialect.insight(self.find(insight)))

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
        title = self._wire.run(self._dialect.transformation(by))["title"]
        with_ = model and self._titles.find("model", model, "llm")
        before = frozenset(each["id"] for each in self._wire.run(self._dialect.insights(of)))
        job = self._wire.run(self._dialect.new_insight(of, by, with_))
        return PendingInsight(job, of, str(title), before)

    def watch(
        self, begun: PendingInsight, stop: threading.Event | None = None
    ) -> Iterator[Progress]:
        """Look at an insight on its way until it is there; yield what is seen, and ticks."""
        return self._followed(begun).watch(stop)

    def made(self, begun: PendingInsight, timeout: float | None = None) -> Record:
        """Wait until an insight is there; return its record.

        Raises:
            JobFailedError: the command has failed, or has made nothing.
            NotReadyError: it is not there in time; it goes on.
        """
        followed = self._followed(begun)
        followed.wait(timeout)
        assert followed.result is not None
        return followed.result

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
        return self._wire.run(self._dialect.save_insight(self.find(insight), within))

    def delete(self, insight: str) -> None:
        """Delete an insight; notes that it was copied into stay."""
        self._wire.run(self._dialect.delete_insight(self.find(insight)))

    def _followed(self, begun: PendingInsight) -> CommandWatch:
        return CommandWatch(
            lambda: self._wire.run(self._dialect.command(begun.job)),
            f"The insight {begun.title}",
            made=lambda: self._new(begun),
        )

    def _new(self, begun: PendingInsight) -> Record | None:
        """Return the insight that has come since, if it has."""
        found = self._wire.run(self._dialect.insights(begun.source))
        new = [each for each in found if each["id"] not in begun.before]
        of_it = [each for each in new if each["insight_type"] == begun.title]
        return next(iter(of_it), None)


class Embeddings(Resource):
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

    def _followed(self, job: str) -> CommandWatch:
        return CommandWatch(
            lambda: self.status(job), "Computing vectors again", stage=_rebuild_stage
        )


def _rebuild_stage(told: Record) -> str:
    done, total = told["processed"], told["total"]
    return f"{done:,} of {total:,}" if isinstance(done, int) and isinstance(total, int) else ""
