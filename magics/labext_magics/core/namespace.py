"""Read and store variables of the user's namespace."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from labext import messages
from labext.errors import CommandInterrupted, InputError
from labext_magics.core.line import closing_brace

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
        """Evaluate a Python expression.

        Raises:
            InputError: the expression is invalid or raises an exception.
            CommandInterrupted: the user interrupted it.
        """
        return self._evaluate(source, f"{{{source}}}")

    def format(self, template: str) -> str:
        """Return the text of a template such as `{name}.csv`, which is formatted as an f-string.

        Raises:
            InputError: an expression is invalid or raises an exception.
            CommandInterrupted: the user interrupted it.
        """
        parts, at = [], 0
        while (opened := template.find("{", at)) >= 0:
            closed = closing_brace(template, opened)
            assert closed is not None
            field = template[opened : closed + 1]
            parts += [template[at:opened], str(self._evaluate(f"f'''{field}'''", field))]
            at = closed + 1
        return "".join([*parts, template[at:]])

    def variable(self, name: str) -> Any:
        """Return the value of a variable; raise InputError if the variable does not exist."""
        for names in (self._local, self._namespace):
            if name in names:
                return names[name]
        raise self._unknown(name)

    def has_variable(self, name: str) -> bool:
        """Return whether the user has defined a variable."""
        return bool(user_names({name} & (self._namespace.keys() | self._local.keys())))

    def store(self, name: str, value: object) -> None:
        """Assign a value to a variable in the notebook."""
        self._namespace[name] = value

    def _evaluate(self, source: str, typed: str) -> Any:
        """Evaluate an expression; error messages contain `typed`, the braces on the line."""
        # a single dictionary, because comprehensions and lambdas look up names in globals only
        names = {**JSON_WORDS, **self._namespace, **self._local}
        try:
            return eval(source, names)  # noqa: S307 - the user's own expression, in their kernel
        except NameError as error:
            raise self._unknown(error.name or str(error), f" in {typed}") from error
        except SyntaxError as error:
            raise InputError(
                f"{typed} is not a Python expression: {error.msg}.",
                "Write one expression between the braces.",
            ) from error
        except KeyboardInterrupt:
            raise CommandInterrupted(f"{typed} was interrupted.", "Run the line again.") from None
        except Exception as error:  # the user's expression may raise anything
            raise InputError(
                f"{typed} failed: {type(error).__name__}: {error}.",
                "Try the expression in a separate cell.",
            ) from error

    def _unknown(self, name: str, suffix: str = "") -> InputError:
        names = user_names({**self._namespace, **self._local})
        next_step = "Run the cell that defines it first"
        next_step += "; quote a text with braces." if suffix else "."
        return InputError(
            f"There is no variable `{messages.shorten(name)}`{suffix}.",
            messages.suggest(name, names, next_step, "`{}`"),
        )


def user_names(variables: Iterable[str]) -> list[str]:
    """Return the names defined by the user, without names of IPython and private names."""
    return [name for name in variables if name[:1] != "_" and name not in HIDDEN]


def check_name(name: str) -> str:
    """Return the name if it is a valid variable name.

    Raises:
        InputError: the name is not a Python identifier, or is a keyword.
    """
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    raise InputError(
        f"`{messages.shorten(name)}` is not a valid variable name.",
        "Use letters, digits and underscores.",
    )


def to_rows(value: Any) -> Any:
    """Return a DataFrame or a mapping of names to settings; a list of records is converted.

    Raises:
        InputError: the value has another type.
    """
    expected = "a DataFrame or a dict of names to settings"
    if not isinstance(value, Mapping):
        return to_frame(value, expected)
    for name, settings in value.items():
        if not isinstance(settings, Mapping):
            kind = messages.with_article(type(settings).__name__)
            raise InputError(
                f"`--from` takes {expected}; in this dict, {messages.quote_value(name)} is {kind}.",
                "Convert a dict of columns to a DataFrame: `pd.DataFrame(…)`.",
            )
    return value


def to_frame(value: Any, expected: str = "a DataFrame") -> pd.DataFrame:
    """Return a DataFrame; a list of records is converted.

    Raises:
        InputError: the value has another type.
    """
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return value
    if isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
        return pd.DataFrame(value)
    next_step = "Convert it to a DataFrame first: `pd.DataFrame(…)`."
    if isinstance(value, pd.Series):
        next_step = (
            "Double brackets return a DataFrame: `frame.iloc[[0]]` for a row, `frame[['name']]` "
            "for a column."
        )
    raise InputError(
        f"`--from` takes {expected}, not {messages.with_article(type(value).__name__)}.", next_step
    )
