"""The ways to sign in to a service: what each needs, and how the user is asked for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from labext import wording
from labext.config import Connection, Service
from labext.errors import SetupError
from labext.secret_store import OPEN, from_environment, keep_masked, variable
from labext_magics import asking


@dataclass(frozen=True)
class Method:
    """One way to sign in to a service.

    Attributes:
        service: which one.
        name: as the option `method` holds it.
        noun: what one signs in with.
        asked: what each of its secrets is called, by the name it has in the secret store.
        lasting: it is of use in another session; else nobody is asked whether to keep it.
        option: what chooses it on a line, if it isn't the first.
        source: where one is got, as a sentence, if that isn't plain.
        obtained: whether a connection has what obtains the secrets when they are needed.
    """

    service: Service
    name: str
    noun: str
    asked: Mapping[str, str]
    lasting: bool = True
    option: str = ""
    source: str = ""
    obtained: Callable[[Connection], bool] = lambda _: False

    def is_known(self, target: Connection) -> bool:
        """Return whether all that it needs is known, or can be obtained."""
        return all(name in target.secrets for name in self.asked) or self.obtained(target)

    def held_by(self, target: Connection) -> str:
        """Return the environment variables that contain all its secrets; else an empty text."""
        names = [variable(self.service, name) for name in self.asked]
        given = {name: from_environment(self.service, name) for name in self.asked}
        same = all(value and target.secrets.get(name) == value for name, value in given.items())
        return " and ".join(names) if same else ""

    def ask(self, url: str) -> dict[str, str]:
        """Ask the user for what it needs.

        Raises:
            SetupError: there is nobody to ask, or nothing was answered.
        """
        typed: dict[str, str] = {}
        for name, noun in self.asked.items():
            ask = asking.seen if name in OPEN else asking.unseen
            try:
                typed[name] = ask(f"{wording.sentence(noun)} for {url}: ")
            except asking.NobodyError as nobody:
                raise self._unasked(url) from nobody
            if not typed[name]:
                raise SetupError(f"No {noun} was given.", "Run the line again and type it.")
        keep_masked(typed)
        return typed

    def _unasked(self, url: str) -> SetupError:
        step = f"Set {' and '.join(variable(self.service, name) for name in self.asked)}"
        if self.lasting:
            option = f" {self.option}" if self.option else ""
            step += (
                f", or keep the {self.noun} in the keyring: run `%{self.service} connect URL "
                f"--save NAME{option} --keep` once where you can type"
            )
        return SetupError(
            f"The service at {url} needs {wording.article(self.noun)}, and there is nobody here to "
            "ask for it.",
            f"{step}. {self.source}".rstrip(),
        )
