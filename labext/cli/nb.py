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
