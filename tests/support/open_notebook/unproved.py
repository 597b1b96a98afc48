"""Recordings and methods without a proof, with reasons."""

from __future__ import annotations

from collections.abc import Mapping

_SAME = "same request and response as another recording, for another object"
_WAY = "not used by the client"
_PAGE = "documentation page"
_UNSEEN = "not recorded"

UNUSED: Mapping[str, str] = {
    "auth.lowercase_bearer": "the client writes `Bearer`",
    "auth.ok": "notebooks with a password: `test_choosing`",
    "auth.open_": "greeting, not used by the client",
    "auth.open_docs": _PAGE,
    "auth.open_health": "the client requests the state of the database, too",
    "auth.open_redoc": _PAGE,
    "chat.context_bools_500": f"{_WAY}: the model would get nothing",
    "chat.context_default": f"{_WAY}: sends only insights of sources that are not named",
    "chat.execute_empty_message": "the client sends no empty message",
    "chat.execute_seed_style_bool_context": f"{_WAY}: the model would get nothing",
    "chat.session_create_3": _SAME,
    "chat.session_create_nomodel": _SAME,
    "chat.session_doomed": _SAME,
    "chat.session_get_bare_id": "the client sends whole identifiers",
    "credentials.create_for_delete": _SAME,
    "credentials.list_empty": "an empty list, as of models and episodes",
    "episode_profiles.get_by_name": f"{_WAY}: names are found in the list, as identifiers are",
    "episode_profiles.put.business_analysis": _SAME,
    "episode_profiles.put.tech_discussion": _SAME,
    "meta.capabilities": "supported formats; the response to a new source reports unsupported ones",
    "meta.health": "health check, not used by the client",
    "meta.languages": "names of languages, not used by the client",
    "meta.providers": "providers with web pages; the client uses `models/providers`",
    "meta.root": "greeting, not used by the client",
    "meta.trailing_slash": "the client's paths have no trailing slash",
    "models.create.badkey-chat": _SAME,
    "models.create.fail-chat": _SAME,
    "models.create.fail-tts": _SAME,
    "models.create.junk-chat": _SAME,
    "models.create.limit-chat": _SAME,
    "models.create.slow-chat": _SAME,
    "models.defaults_put_unknown_slot_ignored": f"{_WAY}: ignored by the server",
    "models.list_empty": "an empty list, as of episodes",
    "models.list_model_type_ignored": f"{_WAY}: ignored by the server",
    "models.list_type_llm": f"{_WAY}: the client filters by the server's own type name",
    "notebooks.create_min": _SAME,
    "notebooks.create_to_delete": _SAME,
    "notebooks.create_to_delete_2": _SAME,
    "notebooks.delete_seed_param_ignored": f"{_WAY}: the sources would survive",
    "notebooks.get_after_double_link": f"{_WAY}: the client links nothing twice",
    "notebooks.link_shared": _SAME,
    "notebooks.link_source": _SAME,
    "notebooks.unlink_again": _SAME,
    "notes.create_doomed": _SAME,
    "notes.create_to_delete": _SAME,
    "podcasts.audio_range": "resumed downloads are tested in http",
    "podcasts.episodes_end": _SAME,
    "podcasts.generate_fail_tts": _SAME,
    "podcasts.generate_missing_nb": "the client looks for the notebook first",
    "podcasts.generate_profile_without_models": "the client checks it first: test_journey",
    "search.seed_style": f"{_WAY}: a text search of everything",
    "sources.broken_status_later": _SAME,
    "sources.create_exclusive": _SAME,
    "sources.create_link_dead_async": _SAME,
    "sources.create_no_notebook": _SAME,
    "sources.create_text_sync_form": f"{_WAY}: texts are sent as JSON",
    "sources.create_to_delete": _SAME,
    "sources.link_status_poll_0": _SAME,
    "sources.link_status_poll_1": _SAME,
    "sources.link_status_poll_2": _SAME,
    "sources.list_after_double_link": f"{_WAY}: the client links nothing twice",
    "sources.list_order_by_ignored": f"{_WAY}: ignored by the server",
    "sources.put_topic_ignored": f"{_WAY}: ignored by the server",
    "sources.status_of_sync": _SAME,
    "sources.upload_broken_pdf_async": _SAME,
    "sources.upload_status_poll_0": _SAME,
    "sources.upload_status_poll_1": _SAME,
    "speaker_profiles.get_by_name": f"{_WAY}: names are found in the list, as identifiers are",
    "speaker_profiles.put.business_panel": _SAME,
    "speaker_profiles.put.solo_expert": _SAME,
    "speaker_profiles.put_fail_tts": _SAME,
    "speaker_profiles.put_fix_tts": _SAME,
}
"""Recordings that no proof uses."""

NEVER_REQUESTED: Mapping[str, str] = {
    "auth.docs_slash": _PAGE,
    "auth.unknown_path_needs_auth": "unknown path",
    "commands.job_missing": "a 500 that means not found; tested separately",
    "meta.method_not_allowed": "unknown method",
    "meta.unknown_path": "unknown path",
    "podcasts.audio_head_405": "the client sends no HEAD request for audio",
    "sources.create_both_notebook_fields": "the client names one of the two",
}
"""Rejections that test_rejections leaves out."""

UNRECORDED: Mapping[str, str] = {
    "change_source_chat": _UNSEEN,
    "delete_insight": _UNSEEN,
    "delete_source_chat": _UNSEEN,
    "new_source_chat": _UNSEEN,
    "rebuild": _UNSEEN,
    "rebuild_status": _UNSEEN,
    "run_command": _UNSEEN,
    "set_settings": _UNSEEN,
    "source_chat": _UNSEEN,
    "source_chats": _UNSEEN,
    "source_message": _UNSEEN,
    "sources_awaiting_vectors": "the recorded list of sources, filtered by time",
    "source_reply": "sends no request; reads the events of a stream",
}
"""Methods without a recording; the simulated server follows the server's schema."""
