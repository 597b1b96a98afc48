"""Client for one notebook service."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from labext.config import Connection, clean_url
from labext.errors import ServiceError, SignInError
from labext.http import HttpClient, Rate
from labext.http.auth import BearerAuth
from labext.http.client import ServiceClient
from labext.http.connection_pool import DEFAULT_TIMEOUT, ResponseLimits, Timeout
from labext.nb import views
from labext.nb.backends import RequestExecutor
from labext.nb.backends.detect import BackendSelector
from labext.nb.chat import Chat, SourceChats
from labext.nb.commands import Commands
from labext.nb.credentials import Credentials
from labext.nb.error_messages import FINAL_STATUSES, make_error_mapper
from labext.nb.evaluation import Evaluation, EvaluationRun, SearchType, resolve_sources
from labext.nb.export import PARTS, Export, ExportFormat, Part, export_notebook
from labext.nb.insights import Embeddings, Insights
from labext.nb.models import Models
from labext.nb.notebooks import Notebooks
from labext.nb.notes import Notes
from labext.nb.podcasts import EpisodeProfiles, Podcasts, SpeakerProfiles
from labext.nb.questions import ExpectedAnswer, read_questions
from labext.nb.records import Answer, Record
from labext.nb.resource import TitleResolver
from labext.nb.search import SearchResource
from labext.nb.settings import Settings
from labext.nb.sources import Sources
from labext.nb.transformations import Transformations

if TYPE_CHECKING:
    import pandas as pd

_DATABASE_ONLINE = "online"
"""The `database` status of a working service."""


class NotebookClient(SearchResource, ServiceClient):
    """A client for one notebook service.

    Every call sends a request to the service. Errors are `LabextError` exceptions with a next
    step. Methods accept an identifier or a title for a notebook, model, episode and so on. Records
    are dictionaries; `labext.nb.records` lists their keys.

    Attributes:
        notebooks, sources, notes, chat, transformations, models, credentials, podcasts,
            episode_profiles, speaker_profiles: the methods for each kind of record.
        insights, source_chats, embeddings, commands, settings: methods outside the contract; a
            service without the feature raises an InputError that names an alternative.

    Args:
        base_url: the service's address, ending in `/api`.
        password: the service's password (NB-2); None for a service without one.
        rate: the rate limit; by default the limit in the response headers. None disables it.
        verify: True, or the path of a CA bundle.
        backend: the kind of server, `contract` or `open-notebook`; detected by the first call if
            omitted.
        timeout: seconds to connect, and between two bytes of a response; one number for both.
            Requests that wait for a language model have a longer one of their own.
        limits: bounds of a response; by default 256 MiB and 300 seconds.

    Raises:
        InputError: the address or the timeout is invalid.
        SetupError: the CA bundle does not exist.
    """

    def __init__(
        self,
        base_url: str,
        password: str | None = None,
        *,
        rate: Rate | None = Rate(None),  # noqa: B008 - immutable
        verify: bool | str = True,
        backend: str | None = None,
        timeout: Timeout = DEFAULT_TIMEOUT,
        limits: ResponseLimits | None = None,
    ) -> None:
        self._http = HttpClient(
            clean_url(base_url),
            auth=None if password is None else BearerAuth(password),
            rate=rate,
            verify=verify,
            timeout=timeout,
            limits=limits,
            map_error=make_error_mapper(has_password=password is not None),
            final_statuses=FINAL_STATUSES,
            service="notebook service",
        )
        self.base_url = self._http.base_url
        executor = RequestExecutor(self._http)
        selector = BackendSelector(executor, backend, verify=verify)
        parts = executor, selector, TitleResolver(executor, selector)
        super().__init__(*parts)
        self.notebooks = Notebooks(*parts)
        self.sources = Sources(*parts)
        self.notes = Notes(*parts)
        self.chat = Chat(*parts)
        self.transformations = Transformations(*parts)
        self.models = Models(*parts)
        self.credentials = Credentials(*parts)
        self.podcasts = Podcasts(*parts)
        self.episode_profiles = EpisodeProfiles(*parts)
        self.speaker_profiles = SpeakerProfiles(*parts)
        self.insights = Insights(*parts)
        self.source_chats = SourceChats(*parts)
        self.embeddings = Embeddings(*parts)
        self.commands = Commands(*parts)
        self.settings = Settings(*parts)

    @classmethod
    def from_connection(cls, connection: Connection) -> Self:
        """Return a client for a connection from a profile, the environment or the sandbox."""
        return cls(
            connection.base_url,
            connection.secrets.get("password"),
            verify=connection.options.get("ca_bundle", True),
            backend=connection.options.get("backend"),
            limits=ResponseLimits.from_options(connection.options),
        )

    def evaluate(
        self,
        questions: str | os.PathLike[str] | Iterable[ExpectedAnswer],
        notebook: str | None = None,
        *,
        search_type: SearchType | None = None,
        limit: int | None = None,
        model: str | None = None,
    ) -> pd.DataFrame:
        """Ask questions with known answers; columns as `labext.nb.records.EVALUATION`.

        It stops after three failures in a row; their reasons are in the column `error`.
        `labext.nb.evaluation.summary_frame` summarizes the result by kind of question.

        Args:
            questions: a CSV file as described at `labext.nb.questions.read_questions`, or its rows.
            notebook: answer from this notebook only.
            search_type: also search, by `text`, `vector` or `hybrid`, for the column `rank`.
            limit: the maximum number of passages of an answer and of a search.
            model: the language model that answers.

        Raises:
            InputError: the file is invalid; the message names the row and the column.
            LabextError: the first question failed.
        """
        evaluation = self.prepare_evaluation(
            questions, notebook, search_type=search_type, limit=limit, model=model
        )
        return views.evaluation_frame(evaluation.rows)

    def prepare_evaluation(
        self,
        questions: str | os.PathLike[str] | Iterable[ExpectedAnswer],
        notebook: str | None = None,
        *,
        search_type: SearchType | None = None,
        limit: int | None = None,
        model: str | None = None,
    ) -> Evaluation:
        """Check questions, and return them with an iterator that asks one question per row.

        Arguments and errors as for `evaluate`.
        """
        if isinstance(questions, str | os.PathLike):
            questions = read_questions(questions)
        expected = list(questions)
        cited = resolve_sources(self._titles, expected, notebook)
        return Evaluation(
            expected,
            EvaluationRun(self, notebook, cited, search_type, limit, self._model(model)).rows(
                expected
            ),
        )

    def export(
        self,
        path: str | os.PathLike[str],
        notebook: str,
        *,
        format: ExportFormat | None = None,
        bibliography: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        include: Collection[Part] = PARTS,
        answers: Iterable[Answer] = (),
    ) -> Export:
        """Write a notebook's notes, chats, insights and transcripts with numbered citations.

        The cited sources are listed at the end. Open Notebook does not report the notebooks of
        episodes, so all episodes are included.

        Args:
            path: the file; its suffix is the format if none is given.
            notebook: the notebook.
            format: `md`, `html` or `ipynb`.
            bibliography: also write the cited sources to this BibTeX file.
            overwrite: replace files that have other content.
            include: what to write, of `notes`, `answers`, `insights` and `transcripts`.
            answers: answers of `ask`, which the service does not keep.

        Raises:
            ConflictError: a file exists, and `overwrite` is False; nothing was written.
            InputError: the format is not known, or there is nothing to write.
            StorageError: a file can't be written.
        """
        return export_notebook(
            self,
            Path(path),
            notebook,
            format=format,
            bibliography=None if bibliography is None else Path(bibliography),
            overwrite=overwrite,
            include=include,
            answers=answers,
        )

    def status(self) -> Record:
        """Return the address, the version and the sign-in state of the service.

        Keys: `address`, `backend`, `version`, `database` (the status that the service reports),
        `password_needed`, `signed_in` (None if it is unknown because the database is down),
        `notebooks` (the number of notebooks, or None if it is unknown).
        """
        backend = self._backend
        status = self._run(backend.status())
        count: int | None = None
        signed_in: bool | None = None
        try:
            count, signed_in = len(self._run(backend.notebooks())), True
        except SignInError:
            signed_in = False
        except ServiceError:
            if status["database"] in (None, _DATABASE_ONLINE):
                raise
        return {
            "address": self._http.base_url.rstrip("/"),
            "backend": backend.name,
            **status,
            "signed_in": signed_in,
            "notebooks": count,
        }
