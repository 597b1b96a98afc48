"""Client for one notebook service."""

from __future__ import annotations

from typing import Self

from labext.config import Connection, clean_url
from labext.errors import ServiceError, SignInError
from labext.http import HttpClient, Rate
from labext.http.auth import BearerAuth
from labext.http.connection_pool import ResponseLimits
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.backends.detect import BackendSelector
from labext.nb.chat import Chat, SourceChats
from labext.nb.commands import Commands
from labext.nb.credentials import Credentials
from labext.nb.error_messages import FINAL_STATUSES, make_error_mapper
from labext.nb.insights import Embeddings, Insights
from labext.nb.models import Models
from labext.nb.notebooks import Notebooks
from labext.nb.notes import Notes
from labext.nb.podcasts import EpisodeProfiles, Podcasts, SpeakerProfiles
from labext.nb.records import Record
from labext.nb.resource import TitleResolver
from labext.nb.search import SearchResource
from labext.nb.settings import Settings
from labext.nb.sources import Sources
from labext.nb.transformations import Transformations

_DATABASE_ONLINE = "online"
"""Of the database, in the service's word; with any other it can't tell what it has."""


def fetch_status(executor: RequestExecutor, backend: ContractBackend) -> Record:
    """Return what `NotebookClient.status` tells."""
    status = executor.run(backend.status())
    count: int | None = None
    signed_in: bool | None = None
    try:
        count, signed_in = len(executor.run(backend.notebooks())), True
    except SignInError:
        signed_in = False
    except ServiceError:
        if status["database"] in (None, _DATABASE_ONLINE):
            raise
    return {
        "address": executor.transport.base_url.rstrip("/"),
        "dialect": backend.name,
        **status,
        "signed_in": signed_in,
        "notebooks": count,
    }


class NotebookClient(SearchResource):
    """A client for one notebook service.

    Every method asks the service when it is called, and raises a `LabextError` that says what
    happened and what to do. Wherever one takes a thing, such as a notebook, a model or an episode,
    it takes its identifier or its title.

    Attributes:
        notebooks, sources, notes, chat, transformations, models, credentials, podcasts,
            episode_profiles, speaker_profiles: the methods about each kind of thing.
        insights, source_chats, embeddings, commands, settings: likewise, of what is beyond the
            contract; what the service has not is an InputError that says what to do in its place.

    Args:
        base_url: the service's address, ending in `/api`.
        password: the service's password (contract, Authentication); None where it has none.
        rate: the limit to keep; by default the service's own word alone. None is no pacing.
        verify: True, or the path of a CA bundle.
        dialect: what kind of server it is, `contract` or `open-notebook`; by default the first
            call finds out.
        limits: bounds of a response; by default 256 MiB and 300 seconds.
    """

    def __init__(
        self,
        base_url: str,
        password: str | None = None,
        *,
        rate: Rate | None = Rate(None),  # noqa: B008 - immutable
        verify: bool | str = True,
        dialect: str | None = None,
        limits: ResponseLimits | None = None,
    ) -> None:
        self._transport = HttpClient(
            clean_url(base_url),
            auth=None if password is None else BearerAuth(password),
            rate=rate,
            verify=verify,
            limits=limits,
            explain=make_error_mapper(has_password=password is not None),
            last_words=FINAL_STATUSES,
            service="notebook service",
        )
        executor = RequestExecutor(self._transport)
        selector = BackendSelector(executor, dialect, verify=verify)
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
    def reached(cls, connection: Connection) -> Self:
        """Return a client for the service that a profile, the environment or the sandbox names."""
        return cls(
            connection.base_url,
            connection.secrets.get("password"),
            verify=connection.options.get("ca_bundle", True),
            dialect=connection.options.get("dialect"),
            limits=ResponseLimits.from_options(connection.options),
        )

    def __repr__(self) -> str:
        return f"NotebookClient({self.base_url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def base_url(self) -> str:
        """The service's address."""
        return self._transport.base_url

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._transport.close()

    def status(self) -> Record:
        """Return where the service is, its version, whether it asks for a password and accepts it.

        Keys: `address`, `dialect`, `version`, `database` (in the service's word),
        `password_needed`, `signed_in` (None where the database is away, which leaves that open),
        `notebooks` (how many; None if that can't be seen).
        """
        return fetch_status(self._executor, self._backend)
