"""Endpoints of speaker profiles and episode profiles."""

# No postponed annotations: FastAPI could not resolve those of endpoints defined in a function.

from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import APIRouter
from sqlalchemy import func
from sqlalchemy.orm import Session

from labext.sandbox.nb.crud import add_crud_routes
from labext.sandbox.nb.dependencies import SiteDep
from labext.sandbox.nb.podcast_profiles import service
from labext.sandbox.nb.podcast_profiles.schemas import (
    EpisodeProfileRecord,
    EpisodeProfileUpdate,
    NewEpisodeProfile,
    NewSpeakerProfile,
    SpeakerProfileRecord,
    SpeakerProfileUpdate,
)
from labext.sandbox.nb.podcast_profiles.service import Profile
from labext.sandbox.nb.schemas import Name, Record
from labext.sandbox.nb.tables import EpisodeProfile, SpeakerProfile

router = APIRouter()


def _add_profile_routes(
    kind: str,
    table: type[Profile],
    record: type[Record],
    new: Any,
    update: Any,
    before_delete: Callable[[Session, Profile], None] | None = None,
) -> None:
    """Add the endpoints of one kind of profile, which is named by its name or identifier."""
    collection = f"/{kind}-profiles"
    path = f"{collection}/{{profile}}"
    add_crud_routes(
        router,
        path,
        table,
        record,
        (func.lower(table.name), table.name),
        identifier_type=Name,
        load_row=partial(service.load_profile, table=table),
        before_delete=before_delete,
    )

    @router.post(
        collection,
        response_model=record,
        name=f"post_{kind}_profile",
        description=f"Create the {kind} profile. Its name must be unique.",
    )
    def post_profile(site: SiteDep, body: new) -> Any:
        with site.database.write() as session:
            return service.create_profile(session, table, body)

    @router.put(
        path,
        response_model=record,
        name=f"put_{kind}_profile",
        description=f"Update the {kind} profile. Existing episodes stay as they are.",
    )
    def put_profile(site: SiteDep, profile: Name, body: update) -> Any:
        return service.update_profile(site, table, profile, body)

    @router.post(
        f"{path}/duplicate",
        response_model=record,
        name=f"post_{kind}_copy",
        description=f"Copy the {kind} profile under a free name.",
    )
    def post_copy(site: SiteDep, profile: Name) -> Any:
        return service.copy_profile(site, table, profile)


_add_profile_routes(
    "speaker",
    SpeakerProfile,
    SpeakerProfileRecord,
    NewSpeakerProfile,
    SpeakerProfileUpdate,
    service.check_unused,
)
_add_profile_routes(
    "episode", EpisodeProfile, EpisodeProfileRecord, NewEpisodeProfile, EpisodeProfileUpdate
)
