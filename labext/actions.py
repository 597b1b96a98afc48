"""Actions that a user can take next, rendered in the syntax of the interface in use.

Messages contain actions in f-strings: `f"Set one: {Action.set_model('embedding')}."`. An action is
rendered as a Python call in scripts, as a line in notebooks that use the magics, and as a shell
command in terminals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

from labext.redaction import mask_line

_FIELD = re.compile(r"\$(\w+)")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")


class _Kind:
    """A kind of action; callable that creates an action from its arguments.

    Attributes:
        parameters: the names of the arguments; a missing argument is rendered as a placeholder.
        python: a template of the Python call, as for `fill_template`.
    """

    name: str

    def __init__(self, parameters: str, python: str) -> None:
        self.parameters = tuple(parameters.split())
        self.python = python

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __call__(self, *values: str | None, **keywords: str | None) -> Action:
        unbound = self.parameters[len(values) :]
        if len(values) > len(self.parameters) or not {*keywords} <= {*unbound}:
            raise TypeError(f"{self.name} takes {', '.join(self.parameters) or 'no arguments'}.")
        arguments = {**dict(zip(self.parameters, values, strict=False)), **keywords}
        return Action(self.name, {k: v for k, v in arguments.items() if v is not None})


@dataclass(frozen=True)
class Action:
    """An action that the user can take, such as `Action.delete_job("cut")`.

    `str()` renders it in backticks, in the syntax of the interface in use.

    Attributes:
        kind: the name of the constructor.
        arguments: the arguments by name.
    """

    kind: str
    arguments: Mapping[str, str] = field(default_factory=dict, hash=False)

    # The services
    start_sandbox = _Kind(
        "", 'labext.sandbox.Sandbox().start(); labext.config.choose_profile(None, "sandbox")'
    )
    stop_sandbox = _Kind("", "labext.sandbox.Sandbox().stop()")
    connect = _Kind("service profile", 'labext.config.save_profile($profile, $service, "URL")')
    sign_in = _Kind(
        "service secret method", 'labext.config.save_secret($service, "PROFILE", $secret, "VALUE")'
    )

    # lab
    list_sequences = _Kind("", "lab.sequences()")

    # jobs
    list_tools = _Kind("", "jobs.tools()")
    show_tool = _Kind("tool", "jobs.tool($tool)")
    list_jobs = _Kind("batch", "jobs.jobs([batch=$batch])")
    show_job = _Kind("name", "jobs.show($name)")
    list_outputs = _Kind("name", "jobs.outputs($name)")
    watch_job = _Kind("name", "jobs.wait($name)")
    delete_job = _Kind("name", "jobs.delete($name)")
    list_unfinished_batches = _Kind("", "jobs.unfinished()")
    resume_batch = _Kind("name", "jobs.resume($name)")
    upload_file = _Kind("file", "jobs.upload($file)")
    list_files = _Kind("", "jobs.files()")
    delete_file = _Kind("file", "jobs.delete_file($file)")

    # nb: models and credentials
    show_service = _Kind("", "nb.status()")
    list_models = _Kind("type", "nb.models.list([type=$type])")
    list_default_models = _Kind("", "nb.models.defaults()")
    set_model = _Kind("slot name", "nb.models.set_defaults({$slot: $name})")
    test_model = _Kind("name", "nb.models.test($name)")
    list_credentials = _Kind("", "nb.credentials.list()")
    list_credential_status = _Kind("", "nb.credentials.status()")
    add_credential = _Kind(
        "provider name", 'nb.credentials.create($provider, $name, api_key="•••")'
    )
    discover_models = _Kind("credential", "nb.credentials.discover($credential)")
    set_key = _Kind("credential", 'nb.credentials.update($credential, api_key="•••")')
    set_address = _Kind("credential", 'nb.credentials.update($credential, base_url="URL")')
    set_address_and_key = _Kind(
        "credential", 'nb.credentials.update($credential, base_url="URL", api_key="•••")'
    )
    clear_key = _Kind(
        "credential", 'nb.credentials.update($credential, base_url="URL", api_key="")'
    )

    # nb: notebooks, sources, insights and notes
    list_notebooks = _Kind("", "nb.notebooks.list()")
    use_notebook = _Kind("name", 'nb.sources.find("TITLE", notebook=$name)')
    create_notebook = _Kind("name", "nb.notebooks.create($name)")
    list_sources = _Kind("", "nb.sources.list()")
    add_source = _Kind("file", "nb.sources.add($file)")
    add_text = _Kind("title", 'nb.sources.add_text("TEXT", title=$title)')
    retry_source = _Kind("source", "nb.sources.retry($source)")
    delete_source = _Kind("source", "nb.sources.delete($source)")
    list_insights = _Kind("", "nb.insights.list()")
    list_source_insights = _Kind("source", "nb.sources.insights($source)")
    list_notes = _Kind("", "nb.notes.list()")

    # nb: chats and transformations
    list_chats = _Kind("", "nb.chat.sessions()")
    show_chat = _Kind("session", "nb.chat.messages($session)")
    chat_about_source = _Kind(
        "source",
        'nb.chat.execute("SESSION", "MESSAGE", source_ids=($source,), include_notes=False)',
    )
    list_source_chats = _Kind("source", "nb.source_chats.list($source)")
    show_source_chat = _Kind("source session", "nb.source_chats.messages($source, $session)")
    list_transformations = _Kind("", "nb.transformations.list()")
    run_transformation = _Kind("name", 'nb.transformations.execute($name, "TEXT")')

    # nb: podcasts
    list_episodes = _Kind("", "nb.podcasts.episodes()")
    generate_episode = _Kind(
        "name speakers",
        'nb.podcasts.generate("NOTEBOOK", "PROFILE"[, name=$name][, speakers=$speakers])',
    )
    wait_for_episode = _Kind("episode", "nb.podcasts.wait($episode)")
    retry_episode = _Kind("episode", "nb.podcasts.retry($episode)")
    list_profiles = _Kind("", "nb.episode_profiles.list()")
    edit_episode_profile = _Kind(
        "profile outline_model transcript_model",
        "nb.episode_profiles.update($profile[, outline_llm=$outline_model]"
        "[, transcript_llm=$transcript_model])",
    )
    set_segments = _Kind("profile", "nb.episode_profiles.update($profile, num_segments=5)")
    set_voice_model = _Kind(
        "profile model", "nb.speaker_profiles.update($profile, voice_model=$model)"
    )

    # nb: the service
    list_settings = _Kind("", "nb.settings.get()")
    list_commands = _Kind("", "nb.commands.list()")
    list_command_kinds = _Kind("", "nb.commands.kinds()")
    rebuild_embeddings = _Kind("", "nb.embeddings.rebuild()")

    def __str__(self) -> str:
        return f"`{_style.get().action(self)}`"

    def sentence(self, lead: str = "") -> str:
        """Return the action as a sentence: `Run ACTION.`, or `LEAD: ACTION.` with a lead."""
        if lead:
            return f"{lead.rstrip(' .:')}: {self}."
        return f"{'See' if self.kind.startswith(('list_', 'show_')) else 'Run'} {self}."

    def with_arguments(self, **arguments: str) -> Action:
        """Return the action with its missing arguments filled in; other arguments are ignored."""
        accepted = {k: arguments[k] for k in KINDS[self.kind].parameters if k in arguments}
        return Action(self.kind, {**accepted, **self.arguments})

    def to_json(self) -> dict[str, str]:
        """Return the JSON object for the field `action` of a response."""
        return {"kind": self.kind, **self.arguments}

    @classmethod
    def from_json(cls, value: object) -> Action | None:
        """Parse the action of a response; None if it is unknown, malformed or destructive."""
        if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
            return None
        kind = KINDS.get(value["kind"])
        if kind is None or kind.name.startswith("delete_"):
            return None
        arguments = {name: value[name] for name in kind.parameters if name in value}
        if not all(isinstance(text, str) for text in arguments.values()):
            return None
        return cls(kind.name, {name: mask_line(text) for name, text in arguments.items()})


KINDS: Mapping[str, _Kind] = {k: v for k, v in vars(Action).items() if isinstance(v, _Kind)}
"""The kinds of actions by name."""


ParameterValue = str | Mapping[str, str] | None
"""A parameter's value; None for a boolean parameter set to True."""


def parameter(name: str, value: ParameterValue = None) -> str:
    """Render a parameter of a client's method in backticks, as `name=value` or as an option.

    Args:
        name: the name of the method's parameter.
        value: a placeholder or an example value.
    """
    return f"`{_style.get().parameter(name, value)}`"


class Style(NamedTuple):
    """The syntax of an interface.

    Attributes:
        action: function that renders an action.
        parameter: function that renders a parameter and its value.
    """

    action: Callable[[Action], str]
    parameter: Callable[[str, ParameterValue], str]


@contextmanager
def use_style(style: Style) -> Iterator[None]:
    """Render actions in this style within the context.

    New threads use the default style unless they run in a copy of the current `contextvars`
    context.
    """
    token = _style.set(style)
    try:
        yield
    finally:
        _style.reset(token)


def fill_template(
    template: str,
    arguments: Mapping[str, str],
    quote: Callable[[str], str],
    placeholder: Callable[[str], str],
) -> str:
    """Substitute arguments in a template.

    Args:
        template: text in which `$name` stands for an argument; a part in brackets `[…]` is omitted
            if one of its arguments is missing.
        arguments: the arguments by name.
        quote: formats the value of an argument.
        placeholder: formats the upper-case name of a missing argument.
    """

    def fill_field(match: re.Match[str]) -> str:
        name = match[1]
        return quote(arguments[name]) if name in arguments else placeholder(name.upper())

    def fill_optional(match: re.Match[str]) -> str:
        return match[1] if arguments.keys() >= {*_FIELD.findall(match[1])} else ""

    return _FIELD.sub(fill_field, _OPTIONAL.sub(fill_optional, template))


def python_call(action: Action) -> str:
    """Render an action as a call of a client named `lab`, `jobs` or `nb`."""
    return fill_template(KINDS[action.kind].python, action.arguments, _literal, _literal)


def _python_parameter(name: str, value: ParameterValue) -> str:
    return f"{name}=True" if value is None else f"{name}={_literal(value)}"


def shell_option(name: str, value: ParameterValue) -> str:
    """Render a parameter as an option of the command line."""
    return option({"replace": "yes", "database_url": "database"}.get(name, name), value)


def option(name: str, value: ParameterValue) -> str:
    """Render an option and its value."""
    if isinstance(value, Mapping):
        value = " ".join(f"{key}={item}" for key, item in value.items())
    name = f"--{name.replace('_', '-')}"
    return name if value is None else f"{name} {value}"


def _literal(value: str | Mapping[str, str]) -> str:
    return json.dumps(value, ensure_ascii=False)


PYTHON_STYLE = Style(python_call, _python_parameter)

_style: ContextVar[Style] = ContextVar("style", default=PYTHON_STYLE)
