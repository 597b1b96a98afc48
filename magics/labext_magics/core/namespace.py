"""Read and store variables of the user's namespace."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import InputError
from labext.messages import closest_match

if TYPE_CHECKING:
    import pandas as pd

JSON_WORDS = {"true": True, "false": False, "null": None}

HIDDEN = frozenset({"In", "Out", "exit", "quit", "open", "get_ipython"})
"""Names in the namespace that IPython defines."""


class Namespace:
    """The namespace in which expressions are evaluated and `--out` stores results."""

    def __init__(self, namespace: dict[str, Any], local: Mapping[str, Any] | None = None) -> None:
        self._namespace = namespace
        self._local = {} if local is None or local is namespace else local

    def evaluate(self, source: str) -> Any:
        """Return the value of a Python expression.

        Raises InputError for any error in it, since the line has to be corrected.
        """
        # one dictionary, because comprehensions and lambdas look names up in globals only
        names = {**JSON_WORDS, **self._namespace, **self._local}
        try:
            return eval(source, names)  # noqa: S307 - the user's own expression, in their kernel
        except NameError as error:
            raise self._unknown(error.name or str(error), f" in {{{source}}}") from error
        except SyntaxError as error:
            raise InputError(
                f"{{{source}}} is not a Python expression: {error.msg}.",
                "Write one expression between the braces.",
            ) from error
        except Exception as error:  # the user's expression may raise anything
            raise InputError(
                f"{{{source}}} failed: {type(error).__name__}: {error}.",
                "Try the expression in a separate cell.",
            ) from error

    def variable(self, name: str) -> Any:
        """Return a variable; InputError with a close match if there is none."""
        for names in (self._local, self._namespace):
            if name in names:
                return names[name]
        raise self._unknown(name)

    def store(self, name: str, value: object) -> None:
        """Assign a value to a variable in the notebook."""
        self._namespace[name] = value

    def _unknown(self, name: str, where: str = "") -> InputError:
        suggestion = closest_match(name, user_names({**self._namespace, **self._local}))
        return InputError(
            f"There is no variable `{name}`{where}.",
            f"Did you mean `{suggestion}`?"
            if suggestion
            else "Run the cell that defines it first.",
        )


def user_names(variables: Iterable[str]) -> list[str]:
    """Return the names that the user defined, without those of IPython."""
    return [name for name in variables if name[:1] != "_" and name not in HIDDEN]


def check_name(name: str) -> str:
    """Return a variable name; InputError if it is not a valid Python identifier."""
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    raise InputError(
        f"`{name}` is not a valid variable name.", "Use letters, digits and underscores."
    )


def rows_of(value: Any) -> Any:
    """Return a DataFrame or a mapping of names to settings; InputError for any other type."""
    if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in value.values()):
        return value
    return frame_of(value, "a DataFrame or a dict of names to settings")


def frame_of(value: Any, expected: str = "a DataFrame") -> pd.DataFrame:
    """Return a DataFrame, converting a list of records; InputError for any other type."""
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return value
    if isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
        return pd.DataFrame(value)
    step = "Convert it to a frame first: `pd.DataFrame(…)`."
    if isinstance(value, pd.Series):
        step = (
            "Double brackets return a frame: `frame.iloc[[0]]` for a row, `frame[['name']]` "
            "for a column."
        )
    raise InputError(
        f"`--from` takes {expected}, not {messages.with_article(type(value).__name__)}.", step
    )
