"""What the commands that administer a local service share: nouns with verbs, and how one is run.

The acts, which need the sandbox's packages, are in modules of their own and imported on use.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class Lazy(argparse.ArgumentParser):
    """A parser whose commands are made when a line reaches it; making all takes its time."""

    _make: Callable[[], object] | None = None

    def later(self, make: Callable[[], object]) -> None:
        """Have what adds the commands called when they are needed."""
        self._make = make

    def complete(self) -> None:
        """Make the commands now, unless they are there."""
        make, self._make = self._make, None
        if make is not None:
            make()

    def parse_known_args(self, *arguments: Any, **more: Any) -> Any:
        """See `argparse.ArgumentParser`."""
        self.complete()
        return super().parse_known_args(*arguments, **more)


class Noun(NamedTuple):
    """One noun of a command, to which verbs are added.

    Attributes:
        verbs: where they are added.
        parents: the options that all of them have.
        acts: the module that does them, with `ACTS`, an `labext.cli.acts.Acts`.
    """

    verbs: Verbs
    parents: list[argparse.ArgumentParser]
    acts: str

    def verb(self, name: str, help: str, act: str, *aliases: str) -> argparse.ArgumentParser:
        """Add a verb; `act` is the function of the acts' module that does it."""
        parser = self.verbs.add_parser(
            name, aliases=aliases, parents=self.parents, help=help, description=f"{help}."
        )
        parser.set_defaults(run=partial(run, self.acts, act))
        return parser


class Entry(NamedTuple):
    """A noun as a command declares it."""

    name: str
    help: str
    add_verbs: Callable[[Noun], None]
    acts: str
    parents: Sequence[argparse.ArgumentParser] = ()


def add_service(
    verbs: Verbs, name: str, help: str, service: str, add_all: Callable[[Verbs], object]
) -> None:
    """Add the command that administers a service.

    Args:
        verbs: of `labext sandbox`, made of `Lazy` parsers.
        name: `lab`, `jobs` or `nb`.
        help: what it does.
        service: what the service is called.
        add_all: adds the nouns, once they are needed.
    """
    parser = verbs.add_parser(
        name,
        help=help,
        description=f"Administer the local {service}, whether it runs or not; changes hold at "
        "once.",
    )
    assert isinstance(parser, Lazy)
    nouns = parser.add_subparsers(
        title="nouns", required=True, metavar="NOUN", parser_class=argparse.ArgumentParser
    )
    parser.later(partial(add_all, nouns))


def add_nouns(nouns: Verbs, entries: Iterable[Entry]) -> None:
    """Add nouns with their verbs to a command."""
    common = shared()
    for entry in entries:
        sentence = f"{entry.help[0].upper()}{entry.help[1:]}."
        parser = nouns.add_parser(entry.name, help=entry.help, description=sentence)
        found = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
        entry.add_verbs(Noun(found, [common, *entry.parents], entry.acts))


def shared() -> argparse.ArgumentParser:
    """The options that every act has."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where the sandbox lives")
    parser.add_argument("--json", action="store_true", help="as JSON")
    return parser


def run(module: str, act: str, options: argparse.Namespace) -> None:
    """Do one act of a module."""
    from labext.sandbox.control import check_system

    check_system()
    import_module(module).ACTS.run(act, options)


def add_yes(parser: argparse.ArgumentParser) -> None:
    """Add what says that something is to be destroyed."""
    parser.add_argument("--yes", action="store_true", help="do it")


def add_profile(parser: argparse.ArgumentParser, service: str, what: str) -> None:
    """Add what keeps a secret that is made."""
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help=f"keep address and {what} under this name, for %%{service} connect",
    )


def add_limits(noun: Noun) -> None:
    """Add the verbs of a service's limits."""
    made = noun.verb("set", "Set a limit of the service", "set_limit", "add")
    made.add_argument("name", help="as in `limits list`")
    made.add_argument("value", help="a whole number; for bytes also 500MB or 2GiB")
    noun.verb("list", "List the limits", "list_limits")
    gone = noun.verb("remove", "Give a limit its default again", "remove_limit")
    gone.add_argument("name", help="as in `limits list`")
