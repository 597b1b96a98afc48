"""`%nb credentials`: provider addresses, keys and their models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.config.secret_store import environment_variable, from_environment
from labext.errors import ConflictError, InputError, SetupError
from labext.redaction import register_secret
from labext_magics.core import output, secrets, sign_in, value_types
from labext_magics.core.cell_body import merge_pairs
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.line import quote
from labext_magics.core.options import OUT, PREVIEW, YES
from labext_magics.nb import models, scope
from labext_magics.nb.models import check_not_in_slot, models_frame, slots_by_model

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record

_WITHOUT_KEY = frozenset({"ollama", "lmstudio", "vllm", "piper"})
"""Providers that require no key."""

_WITH_ADDRESS = frozenset({"openai_compatible", "azure"})
"""Providers that require the address of a server."""

_OPTIONAL_KEY = frozenset({"openai_compatible"})
"""Providers for which a key is optional."""


def check_address(provider: str, base_url: str | None) -> None:
    """Check that a provider has the required address, else raise InputError."""
    if base_url is None and provider.casefold().replace("-", "_") in _WITH_ADDRESS:
        raise InputError(
            f"A credential of {provider} needs the server's address.",
            "Add it: `--base-url http://localhost:8000/v1`.",
        )


@dataclass(frozen=True)
class Key:
    """A provider's key and its origin.

    Attributes:
        value: the key; None for a provider without a key.
        source: the environment variable with the key; empty if the key was typed.
    """

    value: str | None
    source: str = ""

    @property
    def origin(self) -> str:
        """A suffix for messages with the environment variable; empty if the key was typed."""
        return f", using the key in {self.source}" if self.source else ""

    def __repr__(self) -> str:
        return f"Key(source={self.source!r})"


def key_for(provider: str, *, required: bool = False) -> Key:
    """Return the key of a provider from the environment, or prompt the user for it.

    With `required`, a key is required even if the provider needs none.

    Raises:
        SetupError: input is not possible, or the input was empty.
    """
    folded = provider.casefold().replace("-", "_")
    name = f"{folded}_key"
    if value := from_environment("nb", name):
        register_secret(value)
        return Key(value, environment_variable("nb", name))
    if folded in _WITHOUT_KEY and not required:
        return Key(None)
    optional = folded in _OPTIONAL_KEY and not required
    hint = " (leave empty if none is needed)" if optional else ""
    try:
        typed = sign_in.prompt_secret(f"Key of {provider}{hint}: ")
    except sign_in.NonInteractiveError as unavailable:
        suffix = ", or add `--no-key` for a server without a key" if optional else ""
        raise SetupError(
            f"A credential of {provider} needs a key, but input is not possible here.",
            f"Set {environment_variable('nb', name)}, or run this line once in an interactive "
            f"session{suffix}.",
        ) from unavailable
    if not typed and not optional:
        raise SetupError("No key was entered.", "Run the line again and enter it.")
    register_secret(typed or None)
    return Key(typed or None)


ONE_CREDENTIAL = Parameter(
    "CREDENTIAL", value_types.CREDENTIAL, "a credential, by its name or id", required=True
)


def credential_label(record: Record) -> str:
    """Return `the credential NAME of PROVIDER`."""
    return f"the credential {record['name']} of {record['provider']}"


def credential_row(record: Record) -> pd.DataFrame:
    """Return a credential's row, without its key."""
    from labext.nb.views import credential_frame

    return credential_frame([record])


MAX_TESTED = 30
"""Maximum number of models of unknown type to test per line, with up to four requests each."""

_TYPE_NAMES = {
    "llm": "a language model",
    "embedding": "an embedding model",
    "stt": "a speech-to-text model",
    "tts": "a text-to-speech model",
}
"""Displayed names of model types."""


def discover_models(call: Call, *, credential: str) -> pd.DataFrame:
    """Return one row per model available through a credential."""
    with scope.interrupted_as_error("Run this line again."):
        return call.nb.credentials.discover(credential)


def register_models(
    call: Call, *, credential: str, models: list[dict[str, str]], all_models: bool
) -> pd.DataFrame:
    """Add models available through a credential, and return the credential's registered models.

    With `all_models`, models of unknown type are tested and added with the first type that passes.
    """
    if not all_models and not models:
        raise InputError(
            "There is no model to add.",
            "Select models with `--model NAME=TYPE`, or add all models with `--all`.",
        )
    record = call.nb.credentials.get(credential)
    requested = _model_types(models)
    unknown: list[str] = []
    if all_models:
        offered = discover_models(call, credential=credential)
        for name, kind in offered[["name", "model_type"]].itertuples(index=False):
            if name not in requested and isinstance(kind, str):
                requested[name] = kind
        unknown = [str(name) for name in offered["name"] if name not in requested]
    if requested:
        counts = call.nb.credentials.register_models(record["id"], list(requested.items()))
        output.print_message(_report_registered(counts["created"] or 0, counts["existing"] or 0))
    not_added = _test_types(call, record, unknown)
    registered = call.nb.models.list()
    models_of_credential = registered[registered["credential"] == record["id"]]
    if not_added:
        output.print_message(not_added)
    if models_of_credential.empty:
        raise InputError(
            f"The credential {record['name']} has no model that could be added.",
            f"Add one with its type: `%nb credentials register {quote(str(record['name']))} "
            "--model NAME=TYPE`.",
        )
    if all_models and not call.nb.models.defaults().get("chat"):
        output.print_message("`%nb models auto-assign` sets default models.")
    return models_frame(call, models_of_credential.reset_index(drop=True))


def _test_types(call: Call, credential: Record, names: Sequence[str]) -> str:
    """Test models of unknown type and add working ones; return a message about the others."""
    from labext.nb.models import probe_type

    existing = {
        model["name"] for model in call.nb.models.iter() if model["credential"] == credential["id"]
    }
    new = [name for name in names if name not in existing]
    tested, skipped = new[:MAX_TESTED], new[MAX_TESTED:]
    if tested:
        output.print_message(
            f"{credential['provider']} does not report the type of "
            f"{messages.pluralize(len(tested), 'model')}; testing each model."
        )
    failed: dict[str, str] = {}
    with scope.interrupted_as_error(
        "Run the line again; models added so far are kept.", "Testing models"
    ):
        for name in tested:
            type_, reason = probe_type(
                call.nb.models, name, credential["provider"], credential["id"]
            )
            if type_ is None:
                failed[name] = reason
            else:
                output.print_message(f"Added {name} as {_TYPE_NAMES[type_]}.")
    line = f"`%nb credentials register {quote(str(credential['name']))} --model"
    parts = []
    if failed:
        reasons = (
            f"{name} ({reason.rstrip('.') or 'unknown reason'})" for name, reason in failed.items()
        )
        parts.append(
            f"Not added because no test succeeded: {', '.join(reasons)}. {line} "
            f"{quote(next(iter(failed)) + '=llm')}` adds a model untested."
        )
    if skipped:
        parts.append(
            f"Too many models to test: {', '.join(skipped)}. {line} {quote(skipped[0] + '=llm')}` "
            "adds one."
        )
    return " ".join(parts)


def _model_types(models: list[dict[str, str]]) -> dict[str, str]:
    """Return the types of models by name."""
    pairs = merge_pairs(models)
    types = value_types.MODEL_TYPE.choices
    for name, model_type in pairs.items():
        if model_type not in types:
            suggestion = messages.did_you_mean(model_type, types)
            raise InputError(
                f"`{name}={model_type}` has an unknown model type{suggestion}.",
                f"The types are {', '.join(types[:-1])} and {types[-1]}.",
            )
    return pairs


def _report_registered(created: int, existing: int) -> str:
    new = f"Added {messages.pluralize(created, 'model')}" if created else "No new models"
    if not existing:
        return f"{new}."
    return f"{new}; kept {existing:,} existing {'one' if existing == 1 else 'ones'}."


def new_credential(
    call: Call,
    *,
    provider: str,
    name: str,
    base_url: str | None,
    option: list[dict[str, str]],
    no_key: bool,
) -> pd.DataFrame:
    """Store a credential; an existing credential of the provider with this name is kept."""
    for text in (provider, name):
        secrets.refuse_name(text, "nb", "credentials")
    if base_url is not None:
        secrets.refuse_value(base_url, "nb", "credentials")
    provider = models.find_provider(call, provider)
    with scope.creation_lock(call, "credential", provider, name):
        for record in call.nb.credentials.iter(provider):
            if record["name"] == name:
                return _report_kept(record, base_url)
        settings = _parse_options(option)
        check_address(provider, base_url or settings.get("endpoint"))
        key = Key(None) if no_key else key_for(provider)
        record = call.nb.credentials.create(provider, name, key.value, base_url, settings)
    output.print_message(
        f"Stored {credential_label(record)}{key.origin}; `%nb models setup {quote(name)}` adds its "
        "models and sets the default ones."
    )
    return credential_row(record)


def edit_credential(
    call: Call,
    *,
    credential: str,
    name: str | None,
    base_url: str | None,
    no_base_url: bool,
    option: list[dict[str, str]],
    new_key: bool,
    no_key: bool,
) -> pd.DataFrame:
    """Change a credential's name, address or options, or replace or remove its key."""
    for field, conflict in (("key", new_key and no_key), ("base-url", base_url and no_base_url)):
        if conflict:
            raise InputError(f"The line both sets and clears the {field}.", "Keep one of them.")
    values = {
        "name": name,
        "base_url": "" if no_base_url else base_url,
        "option": _parse_options(option) or None,
        "new_key": new_key or None,
        "no_key": no_key or None,
    }
    changes: dict[str, Any] = scope.require_changes(values, "%nb credentials edit")
    if name is not None:
        secrets.refuse_name(name, "nb", "credentials")
    if base_url is not None:
        secrets.refuse_value(base_url, "nb", "credentials")
    suffix = ""
    if "option" in changes:
        changes["options"] = changes.pop("option")
    if changes.pop("no_key", False):
        changes["api_key"] = ""
    if changes.pop("new_key", False):
        key = key_for(str(call.nb.credentials.get(credential)["provider"]), required=True)
        changes["api_key"], suffix = key.value, key.origin
    record = call.nb.credentials.update(credential, **changes)
    output.print_message(f"Changed {credential_label(record)}{suffix}.")
    return credential_row(record)


def _parse_options(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    """Parse the values of `--option NAME=VALUE`; raise InputError if one is invalid or a key."""
    options: dict[str, Any] = {}
    for name, value in merge_pairs(pairs).items():
        secrets.refuse_value(str(value), "nb", "credentials")
        if value == "":
            options[name] = value
        elif name == "modalities" and isinstance(value, str):
            options[name] = [word for word in value.split(",") if word]
        elif name == "num_ctx":
            options[name] = _parse_context_length(value)
        else:
            options[name] = value
    return options


def _parse_context_length(value: Any) -> int:
    try:
        length = int(str(value))
    except ValueError:
        length = 0
    if length < 1:
        raise InputError(
            f"The option num_ctx is not a number from 1: {messages.quote_value(value)}.",
            "Give a number of tokens: `--option num_ctx=16384`.",
        )
    return length


def _report_kept(record: Record, base_url: str | None) -> pd.DataFrame:
    name, address = quote(str(record["name"])), record["base_url"]
    if base_url is not None and base_url.rstrip("/") != (address or "").rstrip("/"):
        raise ConflictError(
            f"A credential {record['name']} of {record['provider']} with another address already "
            "exists.",
            f"`%nb credentials edit {name} --base-url …` changes it; to keep both, use another "
            "name.",
        )
    output.print_message(
        f"{messages.capitalize_first(credential_label(record))} already exists and was kept; "
        f"`%nb credentials edit {name} --new-key` changes its key."
    )
    return credential_row(record)


_BASE_URL = Parameter(
    "base-url", value_types.text_type("URL"), "the server's address; by default the provider's"
)
_OPTION = Parameter(
    "option",
    value_types.NAME_VALUE,
    "an additional field, such as num_ctx, api_version or endpoint_tts",
    many=True,
)
_NO_KEY = Parameter("no-key", None, "store no key")
_DETAILS = (
    "The key is read from LABEXT_NB_<PROVIDER>_KEY (LABEXT_NB_OPENAI_KEY), or entered at a prompt; "
    "it is never typed on a line."
)


def list_(call: Call, *, provider: str | None) -> pd.DataFrame:
    """Return one row per credential, without the keys."""
    return call.nb.credentials.list(provider and models.find_provider(call, provider))


def show(call: Call, *, credential: str) -> pd.DataFrame:
    """Return the row of one credential."""
    return credential_row(call.nb.credentials.get(credential))


def by_provider(call: Call, *, provider: str) -> pd.DataFrame:
    """Return one row per credential of a provider."""
    return call.nb.credentials.by_provider(models.find_provider(call, provider))


def delete(call: Call, *, credentials: list[str], yes: bool, preview: bool) -> None:
    """Delete credentials with their models; raise ConflictError if a model is in a default slot."""
    nb = call.nb
    matches = (nb.credentials.get(credential) for credential in dict.fromkeys(credentials))
    records = list({record["id"]: record for record in matches}.values())
    slots = slots_by_model(call)
    models = list(nb.models.iter())
    for record in records:
        models_of_credential = [model for model in models if model["credential"] == record["id"]]
        check_not_in_slot(models_of_credential, slots)
    affected = [_describe_credential(record) for record in records]
    if not output.confirm_destruction("delete", affected, yes=yes, preview=preview):
        return
    for record in records:
        deleted = nb.credentials.delete(record["id"])
        count = deleted["deleted_models"]
        suffix = f", with {messages.pluralize(int(count), 'model')}" if count else ""
        output.print_message(f"Deleted {credential_label(record)}{suffix}.")


def test(call: Call, *, credential: str) -> None:
    """Let the service test a credential, and print the response time."""
    record = call.nb.credentials.get(credential)
    name = quote(str(record["name"]))
    models.run_test(
        credential_label(record),
        lambda: call.nb.credentials.test(record["id"]),
        lambda: (
            f"`%nb credentials edit {name}` changes its address (`--base-url URL`) and its key "
            "(`--new-key`)."
        ),
    )


def status(call: Call) -> pd.DataFrame:
    """Return one row per provider with its availability and the origin of its key."""
    from labext.frames.conversion import to_array

    providers = call.nb.credentials.status()
    environment = call.nb.credentials.env_status()
    in_environment = [bool(environment.get(str(provider))) for provider in providers["provider"]]
    column = to_array("boolean", in_environment)
    providers.insert(len(providers.columns), "in_environment", column)
    if providers.attrs.get("encryption_configured") is False:
        output.print_message("The service has no encryption key, so it cannot store credentials.")
    return providers


def _describe_credential(record: Record) -> str:
    count = record["model_count"]
    suffix = f" with {messages.pluralize(int(count), 'model')}" if count else ""
    return f"{credential_label(record)}{suffix}"


COMMANDS = (
    Command(
        "credentials",
        "List the credentials, without their keys.",
        list_,
        options=[
            Parameter("provider", value_types.PROVIDER, "list only credentials of this provider"),
            OUT,
        ],
    ),
    Command(
        "credentials show", "Show a credential, without its key.", show, [ONE_CREDENTIAL], [OUT]
    ),
    Command(
        "credentials new",
        "Store a provider's key or a server's address.",
        new_credential,
        [models.ONE_PROVIDER],
        [
            Parameter(
                "name", value_types.text_type("NAME"), "the name of the credential", required=True
            ),
            _BASE_URL,
            _OPTION,
            _NO_KEY,
            OUT,
        ],
        guarded=True,
        details=f"{_DETAILS} An existing credential with the same provider and name is kept.",
        examples=[
            "%nb credentials new openai --name lab",
            "%nb credentials new anthropic --name claude",
            "%nb credentials new ollama --name bench --option num_ctx=16384",
        ],
    ),
    Command(
        "credentials edit",
        "Change a credential's name, address or key.",
        edit_credential,
        [ONE_CREDENTIAL],
        [
            Parameter("name", value_types.text_type("NAME"), "the new name"),
            _BASE_URL,
            Parameter("no-base-url", None, "use the provider's default address"),
            _OPTION,
            Parameter("new-key", None, "replace the key"),
            replace(_NO_KEY, help="remove the key"),
            OUT,
        ],
        guarded=True,
        details=f"{_DETAILS} Changing the server's address requires `--new-key` or `--no-key`, "
        "so that a stored key is not sent to another server.",
        examples=["%nb credentials edit lab --base-url https://proxy.example/v1 --new-key"],
    ),
    Command(
        "credentials delete",
        "Delete credentials and their models.",
        delete,
        [replace(ONE_CREDENTIAL, many=True, dest="credentials")],
        [YES, PREVIEW],
    ),
    Command("credentials test", "Test a credential's server and key.", test, [ONE_CREDENTIAL]),
    Command(
        "credentials discover",
        "List the models available through a credential.",
        discover_models,
        [ONE_CREDENTIAL],
        [OUT],
    ),
    Command(
        "credentials register",
        "Add models available through a credential.",
        register_models,
        [ONE_CREDENTIAL],
        [
            Parameter("model", value_types.NAME_TYPE, "a model to add", many=True, dest="models"),
            Parameter(
                "all", None, "add all models; those of unknown type are tested", dest="all_models"
            ),
            OUT,
        ],
        details="Existing models are kept. The types are llm, embedding, stt and tts.",
        examples=["%nb credentials register lab --model gpt-4o-mini=llm --model whisper-1=stt"],
    ),
    Command(
        "credentials status",
        "Show which providers are configured, and the source of their keys.",
        status,
        options=[OUT],
    ),
    Command(
        "credentials by-provider",
        "List the credentials of a provider.",
        by_provider,
        [models.ONE_PROVIDER],
        [OUT],
    ),
)
