"""What is asked of the user while a line runs: secrets unseen, names in the clear, yes or no."""

from __future__ import annotations

from collections.abc import Callable


class NobodyError(Exception):
    """There is nobody to ask: a notebook that runs by itself, a closed input."""


def unseen(prompt: str) -> str:
    """Ask for a secret without an echo; NobodyError where that can't be done."""
    import getpass
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return _answered(getpass.getpass, prompt)
        except getpass.GetPassWarning as error:
            raise NobodyError from error


def seen(prompt: str) -> str:
    """Ask for what may be seen; NobodyError where there is nobody."""
    return _answered(input, prompt)


def agreed(question: str) -> bool:
    """Ask whether to do something; no where there is nobody, or the answer isn't yes."""
    try:
        return seen(f"{question} [y/N] ").casefold() in ("y", "yes")
    except NobodyError:
        return False


def _answered(ask: Callable[[str], str], prompt: str) -> str:
    try:
        return ask(prompt).strip()
    except (NotImplementedError, EOFError, OSError) as error:
        raise NobodyError from error
