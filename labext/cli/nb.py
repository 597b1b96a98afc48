"""`labext sandbox nb NOUN VERB`: the local notebook service's password, rules and limits.

Changes hold at once, whether the sandbox runs or not.
"""

from __future__ import annotations

from labext.cli.nouns import (
    Entry,
    Noun,
    Verbs,
    add_limits,
    add_nouns,
    add_service,
    add_yes,
    shared,
)

ACTS = "labext.cli.nb_acts"
MODEL_ACTS = "labext.cli.nb_model_acts"

MODEL_TYPES = ("llm", "embedding", "stt", "tts")
"""The types of models (contract, Resources and their fields)."""


def add(verbs: Verbs) -> None:
    """Add `nb` with its nouns to the verbs of `labext sandbox`."""
    add_service(
        verbs,
        "nb",
        "administer the local notebook service: password, fetching, models, limits",
        "notebook service",
        _add_nouns,
    )


def _add_nouns(nouns: Verbs) -> None:
    add_nouns(
        nouns,
        [
            Entry("password", "what requests have to present", _password, ACTS),
            Entry("fetch", "from where pages may be fetched", _fetch, ACTS),
            Entry("models", "what answers, and what makes vectors", _models, MODEL_ACTS),
            Entry("limits", "limits of the service", add_limits, ACTS),
        ],
    )
    Noun(nouns, [shared()], ACTS).verb("status", "Show how the service is set up", "show_status")


def _password(noun: Noun) -> None:
    made = noun.verb("set", "Set the password", "set_password", "add")
    made.description = (
        "Set the password, which is asked for, unseen; never type it on the line. What the sandbox "
        "hands out follows, and whoever uses another one is refused from then on."
    )
    made.add_argument(
        "--stdin", action="store_true", help="read it from the standard input, its first line"
    )
    add_yes(noun.verb("remove", "Ask for no password any more", "remove_password"))


def _fetch(noun: Noun) -> None:
    noun.verb(
        "allow-private",
        "Let pages of this machine and its network be sources",
        "allow_private",
    )
    noun.verb("deny-private", "Let no such page be fetched, as at first", "deny_private")


def _models(noun: Noun) -> None:
    noun.verb("list", "List the models, and the slots that they are the default of", "list_models")
    made = noun.verb("add", "Add a model of an OpenAI-compatible server", "add_model")
    made.add_argument("name", help="what the server calls it")
    made.add_argument("--type", choices=MODEL_TYPES, default="llm", help="(default: %(default)s)")
    made.add_argument(
        "--base-url", required=True, metavar="URL", help="such as http://localhost:11434/v1"
    )
    changed = noun.verb("key", "Give the server of a model another key", "set_model_key")
    changed.add_argument("name", help="the model's name or identifier")
    for parser in (made, changed):
        parser.description = (
            f"{parser.description} The key comes from LABEXT_NB_MODEL_KEY or is asked for, unseen; "
            "never type it on the line. It is stored encrypted."
        )
        parser.add_argument("--no-key", action="store_true", help="the server asks for none")
    used = noun.verb("default", "Say which model a slot has", "set_default", "set")
    used.add_argument("slot", help="such as chat, embedding or summary")
    used.add_argument("name", help="the model's name or identifier, or `none`")
    gone = noun.verb("remove", "Remove a model", "remove_model")
    gone.add_argument("name", help="the model's name or identifier")
    add_yes(gone)
