"""What each verb of `labext sandbox nb` does, and what it says (see `labext.cli.acts`)."""

from __future__ import annotations

import argparse
import sys

from labext import wording
from labext.cli.acts import Acts, Answer
from labext.errors import InputError
from labext.sandbox.nb.administration import Administration, opened, overview, passwords, rules
from labext.sandbox.nb.limits import LIMITS

ACTS = Acts(opened)
ACTS.add_limits(LIMITS)


@ACTS.add
def set_password(admin: Administration, options: argparse.Namespace) -> Answer:
    """The password, from the input or asked for."""
    done = passwords.set_password(admin, _read() if options.stdin else _asked())
    return done, "The password is set, and `labext sandbox start --json` hands it out."


@ACTS.add
def remove_password(admin: Administration, options: argparse.Namespace) -> Answer:
    """No password."""
    done = passwords.remove_password(admin, yes=options.yes)
    return done, "The notebook service asks for no password any more."


@ACTS.add
def allow_private(admin: Administration, _: argparse.Namespace) -> Answer:
    """Pages of private addresses."""
    done = rules.set_private_fetches(admin, True)
    return done, "Pages of this machine and its network may be fetched."


@ACTS.add
def deny_private(admin: Administration, _: argparse.Namespace) -> Answer:
    """No pages of private addresses."""
    done = rules.set_private_fetches(admin, False)
    return done, "Pages of this machine and its network are not fetched."


@ACTS.add
def show_status(admin: Administration, _: argparse.Namespace) -> Answer:
    """How the service is set up, and how much is in it."""
    found = overview.status(admin)
    states = found["sources"]
    told = ", ".join(f"{number:,} {state}" for state, number in states.items() if number)
    lines = [
        f"It {'answers at ' + found['base_url'] if found['running'] else 'does not run'}.",
        f"A password is {'' if found['password'] else 'not '}asked for.",
        "Pages of this machine and its network are "
        f"{'' if found['private_fetches'] else 'not '}fetched.",
        f"{wording.count(found['notebooks'], 'notebook')}, "
        f"{wording.count(sum(states.values()), 'source')}{f' ({told})' if told else ''}, "
        f"{wording.count(found['notes'], 'note')}, "
        f"{wording.count(found['sessions'], 'chat session')}.",
        *(f"The model for {slot} is {model}." for slot, model in found["models"].items()),
    ]
    return found, "\n".join(lines)


def _read() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _asked() -> str:
    """A password that was typed twice, unseen."""
    import getpass

    if not sys.stdin.isatty():
        raise InputError(
            "There is nobody here to ask for the password.",
            "Give it by `--stdin`: a script writes it into the standard input.",
        )
    first, again = getpass.getpass("New password: "), getpass.getpass("Once more: ")
    if first != again:
        raise InputError("The two passwords differ.", "Type the same one twice.")
    return first
