"""Recordings and methods without a proof, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping

_SAME = "the same request and answer as another one, about another thing"
_WAY = "the way of a server of the contract, or another one that the client does not go"
_PAGE = "a page of its documentation"
_UNSEEN = "nothing of the kind was recorded"

UNUSED: Mapping[str, str] = {
    "auth.lowercase_bearer": "the client writes `Bearer`",
    "auth.ok": "notebooks with a password: `test_choosing`",
    "auth.open_": "its greeting, which the client has no use for",
    "auth.open_docs": _PAGE,
    "auth.open_health": "whether it runs; the client asks for the state of the database too",
    "auth.open_redoc": _PAGE,
    "chat.context_bools_500": f"{_WAY}: the model would get nothing",
    "chat.context_default": f"{_WAY}: of what is not named only insights come",
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
    "meta.capabilities": "what it can read, which an answer to a source tells",
    "meta.health": "whether it runs",
    "meta.languages": "names of languages, which the client has no use for",
    "meta.providers": "the providers with their pages; `models/providers` tells which can be used",
    "meta.root": "its greeting",
    "meta.trailing_slash": "no address of the client's ends in a slash",
    "models.create.badkey-chat": _SAME,
    "models.create.fail-chat": _SAME,
    "models.create.fail-tts": _SAME,
    "models.create.junk-chat": _SAME,
    "models.create.limit-chat": _SAME,
    "models.create.slow-chat": _SAME,
    "models.defaults_put_unknown_slot_ignored": f"{_WAY}: it is ignored there",
    "models.list_empty": "an empty list, as of episodes",
    "models.list_model_type_ignored": f"{_WAY}: it is ignored there",
    "models.list_type_llm": f"{_WAY}: its own type is asked for",
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
    "podcasts.audio_range": "the transport's own: a download that goes on after a cut",
    "podcasts.episodes_end": _SAME,
    "podcasts.generate_fail_tts": _SAME,
    "podcasts.generate_missing_nb": "the client looks for the notebook first",
    "podcasts.generate_profile_without_models": "the client sees it before: the journey",
    "search.seed_style": f"{_WAY}: it searches everything, and not by vectors",
    "sources.broken_status_later": _SAME,
    "sources.create_exclusive": _SAME,
    "sources.create_link_dead_async": _SAME,
    "sources.create_no_notebook": _SAME,
    "sources.create_text_sync_form": f"{_WAY}: a text goes as JSON",
    "sources.create_to_delete": _SAME,
    "sources.link_status_poll_0": _SAME,
    "sources.link_status_poll_1": _SAME,
    "sources.link_status_poll_2": _SAME,
    "sources.list_after_double_link": f"{_WAY}: the client links nothing twice",
    "sources.list_order_by_ignored": f"{_WAY}: it is ignored there",
    "sources.put_topic_ignored": f"{_WAY}: it is ignored there",
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
"""Recordings that nothing is proved by."""

NEVER_ASKED: Mapping[str, str] = {
    "auth.docs_slash": _PAGE,
    "auth.unknown_path_needs_auth": "no such address",
    "commands.job_missing": "a 500 that means not found: a test of its own",
    "meta.method_not_allowed": "no such method",
    "meta.unknown_path": "no such address",
    "podcasts.audio_head_405": "the client does not ask for the head of a sound",
    "sources.create_both_notebook_fields": "the client names one of the two",
}
"""Refusals that the test of all of them leaves out."""

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
    "sources_awaiting_vectors": "a list of sources, which is recorded, filtered by the time",
    "source_reply": "no request: reads the events of a stream",
}
"""Methods that no recording shows; the stand-in answers them by the server's schema."""
