"""Requests to Open Notebook for episodes and their profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from labext import messages
from labext.actions import Action, parameter
from labext.errors import InputError, NotFoundError, OutcomeUnknownError, ServiceError, SetupError
from labext.nb import records
from labext.nb.backends import Request, Steps
from labext.nb.backends.contract import podcasts as contract
from labext.nb.backends.contract.models import GET_DEFAULTS, LIST_MODELS
from labext.nb.backends.contract.notebooks import GET_NOTEBOOK
from labext.nb.backends.contract.podcasts import EPISODE_PROFILES, SPEAKER_PROFILES, ProfileKind
from labext.nb.backends.open_notebook.mappers import (
    check_database,
    from_server_type,
    require_identifier,
)
from labext.nb.backends.open_notebook.models import SERVER_SLOT_NAMES
from labext.nb.error_messages import rewrite_reason
from labext.nb.records import EPISODE_RETRY, EPISODE_SUBMISSION, Record, build_record, drop_none

OPENAI_VOICES = ("nova", "onyx", "shimmer", "echo", "alloy", "fable")
"""Voices of OpenAI's speech models and of most compatible servers."""

OPENAI_PROVIDERS = frozenset({"openai", "openai_compatible"})
"""Providers whose models have these voices."""

P = TypeVar("P", bound=Mapping[str, Any])

SEGMENT_RANGE = range(3, 21)
"""Allowed numbers of segments; the server responds to fewer with a 500 without a reason."""


class ProfileRequests(contract.ProfileRequests):
    """The operations on profiles, where Open Notebook differs from the contract."""

    def profile(self, kind: ProfileKind, profile: str) -> Steps[Record]:
        """Return a profile; the server has no lookup by identifier."""
        return find_profile((yield from self.profiles(kind)), profile, kind.noun)

    def new_profile(self, kind: ProfileKind, fields: Mapping[str, Any]) -> Steps[Record]:
        """Create a profile; missing models default to those of the slots."""
        if kind is EPISODE_PROFILES:
            missing = [key for key in ("outline_llm", "transcript_llm") if not fields.get(key)]
            if missing and (model := (yield from _default_model_id("chat"))) is not None:
                fields = {**fields, **dict.fromkeys(missing, model)}
        else:
            model = fields.get("voice_model") or (yield from _default_model_id("text_to_speech"))
            speakers = yield from _assign_voices(fields["speakers"], model)
            fields = {**fields, "speakers": speakers, **drop_none({"voice_model": model})}
        body = yield from self._profile_body(kind, fields)
        return self.parse_profile(kind, (yield Request(kind.create, json=body)))

    def change_profile(
        self, kind: ProfileKind, profile: str, changes: Mapping[str, Any]
    ) -> Steps[Record]:
        """Update fields of the record; the other fields are sent unchanged.

        So are fields of speakers that a record does not have.
        """
        rows = records.require_list((yield Request(kind.list)), f"{kind.noun}s")
        row = find_profile(rows, profile, kind.noun)
        unsent = ("id", "created_at", "updated_at")
        stored = self.parse_profile(kind, row)
        current = {key: value for key, value in stored.items() if key not in unsent}
        if kind is SPEAKER_PROFILES:
            current["speakers"] = row.get("speakers") or []
        body = yield from self._profile_body(kind, {**current, **changes})
        return self.parse_profile(
            kind, (yield Request(kind.update, {"profile": profile}, json=body))
        )

    def _profile_body(self, kind: ProfileKind, fields: Mapping[str, Any]) -> Steps[dict[str, Any]]:
        """Return the request fields of a profile."""
        if kind is SPEAKER_PROFILES:
            return {**fields, "speakers": [_complete_speaker(item) for item in fields["speakers"]]}
        body = dict(fields)
        segments = body.get("num_segments")
        if segments is not None and segments not in SEGMENT_RANGE:
            raise InputError(
                f"An episode of Open Notebook has {SEGMENT_RANGE[0]} to {SEGMENT_RANGE[-1]} "
                f"segments, not {segments}.",
                "Set a number in this range: {action}.",
                action=Action.set_segments(body.get("name")),
            )
        speakers = body.pop("speaker_profile_ids", None) or []
        if len(speakers) != 1:
            raise _speakers_error()
        speaker = yield from self.profile(SPEAKER_PROFILES, speakers[0])
        return {"default_briefing": "", **body, "speaker_config": speaker["name"]}


def find_profile(profiles: Sequence[P], identifier: str, noun: str) -> P:
    """Return the profile with an identifier; the server has no such lookup."""
    for profile in profiles:
        if profile.get("id") == identifier:
            return profile
    raise NotFoundError(f"There is no {noun} {identifier}.", action=Action.list_profiles())


def _speakers_error() -> InputError:
    return InputError(
        "An episode of Open Notebook has one speaker profile, with one to four speakers in it.",
        f"Name one: {parameter('speakers', 'PROFILE')}; see {{action}}.",
        action=Action.list_profiles(),
    )


def _default_model_id(slot: str) -> Steps[str | None]:
    """Return the identifier of the model in a default slot."""
    slots = records.require_mapping((yield Request(GET_DEFAULTS)), "the default models")
    return slots.get(SERVER_SLOT_NAMES[slot]) or None


def _assign_voices(
    speakers: Sequence[Mapping[str, Any]], model: str | None
) -> Steps[list[Mapping[str, Any]]]:
    """Return speakers with a voice for each, where the names of the model's voices are known."""
    used_voices = {speaker.get("voice_id") for speaker in speakers}
    free = [voice for voice in OPENAI_VOICES if voice not in used_voices]
    if all(used_voices) or model is None:
        return [*speakers]
    available = records.require_list((yield Request(LIST_MODELS)), "models")
    if not any(
        item.get("id") == model and item.get("provider") in OPENAI_PROVIDERS for item in available
    ):
        return [*speakers]
    return [
        speaker if speaker.get("voice_id") or not free else {**speaker, "voice_id": free.pop(0)}
        for speaker in speakers
    ]


def _complete_speaker(speaker: Mapping[str, Any]) -> Record:
    """Return a speaker with all fields that the server requires.

    Raises:
        InputError: the speaker has no voice, and none could be chosen.
    """
    if not speaker.get("voice_id"):
        raise InputError(
            f"{speaker['name']} has no voice, and Open Notebook does not choose one.",
            "Give each speaker a `voice_id` of the voice model, such as `nova`.",
        )
    texts = {key: speaker.get(key) or "" for key in ("backstory", "personality")}
    return {**speaker, **texts}


UNKNOWN_JOB_STATUS = 500
"""The status for a job that the server does not know."""


DEFAULT_BRIEFING = "Discuss the main points of the content."
"""Sent for a profile with neither briefing nor description: the server requires a briefing."""


class PodcastRequests(contract.PodcastRequests, ProfileRequests):
    """The operations on podcasts, where Open Notebook differs from the contract."""

    REPORTS_EPISODE_NOTEBOOKS = False

    def generate(
        self,
        notebook: str,
        episode_profile: str,
        speaker_profiles: Sequence[str] | None,
        name: str | None,
        briefing: str | None,
    ) -> Steps[Record]:
        """Start generating an episode about a notebook.

        The server accepts invalid requests, which then fail without an episode, so all profiles
        are checked first.
        """
        profile = yield from self.profile(EPISODE_PROFILES, episode_profile)
        profile_ids = list(speaker_profiles or profile["speaker_profile_ids"])
        if len(profile_ids) != 1:
            raise _speakers_error()
        speaker_profile_records = yield from self.profiles(SPEAKER_PROFILES)
        yield from _check_models(profile, speaker_profile_records)
        speaker_profile = find_profile(speaker_profile_records, profile_ids[0], "speaker profile")
        if not name:  # the server requires one
            response = yield Request(GET_NOTEBOOK, {"notebook": notebook})
            data = records.require_mapping(response, "the notebook")
            name = str(data.get("name") or "Episode")
        body = {
            "episode_profile": profile["name"],
            "speaker_profile": speaker_profile["name"],
            "episode_name": name,
            "notebook_id": notebook,
        }
        if not briefing and not str(profile["default_briefing"] or "").strip():
            briefing = str(profile["description"] or "").strip() or DEFAULT_BRIEFING
        if briefing:
            body["briefing_suffix"] = briefing
        response = yield Request(contract.GENERATE_EPISODE, json=body)
        job = require_identifier(response, "job_id", "the episode")
        return build_record(EPISODE_SUBMISSION, {**response, "job_id": job, "episode_id": None})

    def podcast_job(self, job: str) -> Steps[Record]:
        """Return the job that generates an episode, with None for an empty result or reason.

        The server responds alike to an unknown job and to a failed lookup.
        """
        try:
            record = yield from super().podcast_job(job)
        except ServiceError as error:
            if error.status != UNKNOWN_JOB_STATUS:
                raise
            yield from check_database()
            raise NotFoundError(
                f"There is no podcast job {messages.quote_value(job)}, or its lookup failed.",
                action=Action.list_episodes(),
                status=error.status,
                server=error.server,
            ) from None
        return {
            **record,
            "result": record["result"] or None,
            "error_message": rewrite_reason(record["error_message"]),
        }

    def retry_episode(self, episode: str) -> Steps[Record]:
        """Retry a failed episode; a new episode replaces it, of which only the job is known.

        A lost response can't be resolved if the failed episode no longer exists.
        """
        try:
            response = yield Request(contract.RETRY_EPISODE, {"episode": episode})
        except OutcomeUnknownError as unknown:
            try:
                yield Request(contract.GET_EPISODE, {"episode": episode})
            except NotFoundError:
                raise OutcomeUnknownError(
                    "The response was lost, and the failed episode no longer exists: it is being "
                    "generated again.",
                    "Look for the new one in a while: {action}.",
                    action=Action.list_episodes(),
                ) from None
            raise unknown from None
        data = response if isinstance(response, Mapping) else {}
        return build_record(EPISODE_RETRY, {**data, "episode_id": data.get("episode_id")})


def _check_models(profile: Record, speakers: Sequence[Record]) -> Steps[None]:
    """Check that all profiles have models; the preinstalled profiles have none.

    The server also rejects an episode because of speaker profiles that the episode does not use.

    Raises:
        SetupError: models are missing; the next step has a line for each profile.
    """
    fields = {"outline_llm": "outline_model", "transcript_llm": "transcript_model"}
    lacking = [argument for field, argument in fields.items() if not profile[field]]
    silent = [str(speaker["name"]) for speaker in speakers if not speaker["voice_model"]]
    if not lacking and not silent:
        return
    missing: list[str] = []
    actions: list[Action] = []
    if lacking:
        name = yield from _default_model_name("chat")
        if name is None:
            raise _missing_model_error("writes an episode's outline and dialogue", "chat")
        missing.append(f"the episode profile {profile['name']} has no model that writes")
        models_to_set = dict.fromkeys(lacking, name)
        actions.append(Action.edit_episode_profile(profile["name"], **models_to_set))
    if silent:
        voice = yield from _default_model_name("text_to_speech")
        if voice is None:
            raise _missing_model_error("speaks", "text_to_speech")
        have = "profile {} has" if len(silent) == 1 else "profiles {} have"
        missing.append(
            f"the speaker {have.format(messages.join_words(silent, len(silent)))} no voice model, "
            "which Open Notebook requires of all of them"
        )
        actions += [Action.set_voice_model(speaker, voice) for speaker in silent]
    raise SetupError(
        f"{messages.capitalize_first('; '.join(missing))}.",
        f"Run {', '.join(map(str, actions))}.",
        action=actions[0],
    )


def _missing_model_error(does: str, slot: str) -> SetupError:
    return SetupError(
        f"There is no model that {does}.", "Set one: {action}.", action=Action.set_model(slot)
    )


def _default_model_name(slot: str) -> Steps[str | None]:
    """Return the name of a slot's model, else of the first one of its type."""
    available = records.require_list((yield Request(LIST_MODELS)), "models")
    slots = records.require_mapping((yield Request(GET_DEFAULTS)), "the default models")
    default = slots.get(SERVER_SLOT_NAMES[slot])
    candidates = [
        item
        for item in available
        if item.get("name") and from_server_type(item.get("type")) == records.SLOTS[slot]
    ]
    candidates.sort(key=lambda item: item.get("id") != default)
    return str(candidates[0]["name"]) if candidates else None
