"""Render actions and parameters as lines and options of the magics."""

from __future__ import annotations

from labext.actions import Action, ParameterValue, Style, fill_template, option
from labext_magics.core.line import quote

LINES = {
    "start_sandbox": "%lab sandbox start",
    "stop_sandbox": "%lab sandbox stop",
    "connect": "%$service connect URL[ --save $profile]",
    "sign_in": "%$service login[ --method $method]",
    "list_sequences": "%lab sequences",
    "list_tools": "%jobs tools",
    "show_tool": "%jobs tool $tool",
    "list_jobs": "%jobs list[ --batch $batch]",
    "show_job": "%jobs show $name",
    "list_outputs": "%jobs outputs $name",
    "watch_job": "%jobs watch $name",
    "delete_job": "%jobs delete $name --yes",
    "list_unfinished_batches": "%jobs resume",
    "resume_batch": "%jobs resume $name",
    "upload_file": "%jobs upload $file",
    "list_files": "%jobs files",
    "delete_file": "%jobs rm $file --yes",
    "show_service": "%nb status",
    "list_models": "%nb models[ --type $type]",
    "list_default_models": "%nb models defaults",
    "set_model": "%nb models defaults --set $slot=$name",
    "test_model": "%nb models test $name",
    "list_credentials": "%nb credentials",
    "list_credential_status": "%nb credentials status",
    "add_credential": "%nb credentials new $provider --name $name",
    "discover_models": "%nb credentials discover $credential",
    "set_key": "%nb credentials edit $credential --new-key",
    "set_address": "%nb credentials edit $credential --base-url URL",
    "set_address_and_key": "%nb credentials edit $credential --base-url URL --new-key",
    "clear_key": "%nb credentials edit $credential --base-url URL --no-key",
    "list_notebooks": "%nb notebooks",
    "use_notebook": "%nb use $name",
    "create_notebook": "%nb use $name --create",
    "list_sources": "%nb sources",
    "add_source": "%nb add $file",
    "add_text": "%%nb source --title $title",
    "retry_source": "%nb sources retry $source",
    "delete_source": "%nb sources delete $source --yes",
    "list_insights": "%nb insights --all",
    "list_source_insights": "%nb sources insights $source",
    "list_notes": "%nb notes",
    "list_chats": "%nb sessions",
    "show_chat": "%nb sessions show $session",
    "chat_about_source": "%%nb chat --source $source --no-notes",
    "list_source_chats": "%nb source-chats --source $source",
    "show_source_chat": "%nb source-chats show $session --source $source",
    "list_transformations": "%nb transformations",
    "run_transformation": "%nb transform $name --source SOURCE --save TITLE",
    "list_episodes": "%nb episodes",
    "generate_episode": "%nb podcast --name $name --profile PROFILE[ --speakers $speakers]",
    "wait_for_episode": "%nb episodes wait $episode",
    "retry_episode": "%nb episodes retry $episode",
    "list_profiles": "%nb profiles",
    "edit_episode_profile": "%nb profiles edit $profile[ --outline-model $outline_model]"
    "[ --transcript-model $transcript_model]",
    "set_segments": "%nb profiles edit $profile --segments 5",
    "set_voice_model": "%nb profiles edit $profile --voice-model $model",
    "list_settings": "%nb settings",
    "list_commands": "%nb commands",
    "list_command_kinds": "%nb commands kinds",
    "rebuild_embeddings": "%nb embeddings rebuild",
}
"""Templates of the magic lines by kind of action, as for `fill_template`."""

_OPTIONS = {"mapping": "map", "verify": "ca-bundle"}
"""Options whose names differ from the parameter of the client's method."""


def magic_line(action: Action) -> str:
    """Render an action as a line of a magic."""
    return fill_template(LINES[action.kind], action.arguments, quote, str)


def _option(name: str, value: ParameterValue) -> str:
    return option(_OPTIONS.get(name, name), value)


MAGIC_STYLE = Style(magic_line, _option)
