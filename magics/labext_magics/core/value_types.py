"""Types of arguments and options, and the conversion of typed text."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

from labext import messages
from labext.errors import InputError
from labext.storage import user_path
from labext_magics.core.namespace import Namespace, check_name


@dataclass(frozen=True)
class Raw:
    """A value as typed: the text, and the source of the expression or the template at its end."""

    text: str
    expression: str | None = None
    template: str = ""

    def __str__(self) -> str:
        braced = "" if self.expression is None else f"{{{self.expression}}}"
        return f"{self.text}{braced}{self.template}"


@dataclass(frozen=True)
class ValueType:
    """The type of a value.

    Attributes:
        metavar: the placeholder in the help.
        expects: a description of valid values, for error messages.
        convert: function that converts the typed text.
        names: the kind of names to complete; unused with `choices`.
        choices: the allowed or suggested words.
        is_prose: True for a text of several words, such as a question.
    """

    metavar: str
    expects: str
    convert: Callable[[Raw, Namespace], Any]
    names: str = ""
    choices: tuple[str, ...] = ()
    is_prose: bool = False

    @property
    def is_free_text(self) -> bool:
        """True for a text that is not a name, a path or a setting, such as a prompt."""
        return self.is_prose or self.metavar == "TEXT"

    @property
    def is_list(self) -> bool:
        """True for a list of texts, separated by commas."""
        return self.convert is _comma_separated

    @property
    def may_contain_spaces(self) -> bool:
        """True for a text or a list of texts."""
        return self.convert in (_text, _time, _comma_separated)


@dataclass(frozen=True)
class BareText:
    """The unquoted text of a setting, to be cast by the tool's schema.

    Attributes:
        text: the text as typed.
        default: the value if the schema does not declare a type.
    """

    text: str
    default: Any


def _object(raw: Raw, scope: Namespace) -> Any:
    """Return the text, or the value of an expression without preceding text."""
    if raw.expression is None:
        return raw.text + scope.format(raw.template)
    if raw.text:
        raise ValueError(raw.text)
    return scope.evaluate(raw.expression)


def _text(raw: Raw, scope: Namespace) -> str:
    value = _object(raw, scope)
    if isinstance(value, bool) or not isinstance(value, str | Integral | Path) or value == "":
        raise ValueError(value)
    return str(value)


def _integer(raw: Raw, scope: Namespace, *, least: int = 1) -> int:
    value = _object(raw, scope)
    number = int(value) if isinstance(value, str) else value
    if isinstance(value, bool) or int(number) != number or number < least:
        raise ValueError(value)
    return int(number)


def _number(raw: Raw, scope: Namespace, *, accepts: Callable[[float], bool]) -> float:
    value = _object(raw, scope)
    number = float(value)
    if isinstance(value, bool) or not accepts(number):
        raise ValueError(value)
    return number


def _time(raw: Raw, scope: Namespace) -> str | datetime | timedelta:
    value = _object(raw, scope)
    if isinstance(value, datetime | timedelta):
        return value
    return value.isoformat() if isinstance(value, date) else _text(raw, scope)


def _path(raw: Raw, scope: Namespace) -> Path:
    return user_path(_text(raw, scope))


def expand_pattern(path: Path) -> list[Path]:
    """Return the files that match a pattern such as `data/*.pdb`; any other path as it is."""
    # Unlike Path.exists, os.path.exists accepts names that are too long.
    if os.path.exists(path) or not glob.has_magic(str(path)):
        return [path]
    files = sorted(file for file in {*_matches(path)} if file.is_file())
    if not files:
        raise InputError(
            f"No file matches {path}.", "Check the path; it is relative to the notebook's folder."
        )
    return files


def _matches(pattern: Path) -> Iterator[Path]:
    """Yield the paths that match a pattern; `**` follows no links, which may lead back upwards."""
    if "**" not in pattern.parts:
        yield from map(Path, glob.glob(str(pattern)))
        return
    place = pattern.parts.index("**")
    rest = pattern.parts[place + 1 :] or ("*",)
    for top in glob.glob(str(Path(*pattern.parts[:place]))):
        for folder, names, _ in os.walk(top):
            names[:] = (name for name in names if not name.startswith("."))
            yield from _matches(Path(glob.escape(folder), *rest))


def _variable(raw: Raw, scope: Namespace) -> Any:
    value = _object(raw, scope)
    if raw.expression is not None:
        return _not_none(value, raw)
    if not value.isidentifier():
        if os.path.isfile(_path(raw, scope)):
            raise InputError(
                f"`{value}` is a file, not a variable.",
                f"Read it first: `frame = pandas.read_csv({value!r})`, then name `frame`.",
            )
        typed = messages.shorten(str(raw))
        expression = typed.replace("{", "").replace("}", "")
        raise InputError(
            f"`{typed}` is not a valid variable name.",
            f"Use braces for an expression: `{{{expression}}}`.",
        )
    return _not_none(scope.variable(value), raw)


def _not_none(value: Any, raw: Raw) -> Any:
    """Return the value; None, which stands for an absent option, is refused."""
    if value is None:
        raise InputError(
            f"`{messages.shorten(str(raw))}` is None.", "Check the cell that assigns it."
        )
    return value


_WORD = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^,"'][^,]*|))\s*(,|\Z)""")
"""A word of a list, up to the comma after it; a word in quotes may contain commas."""


def _comma_separated(raw: Raw, scope: Namespace) -> list[str]:
    """Parse comma-separated words, or an expression that evaluates to a list of them."""
    value = _object(raw, scope)
    if isinstance(value, str):
        value = _split_words(value)
    elif (
        isinstance(value, Mapping)
        or not isinstance(value, Iterable)
        or getattr(value, "ndim", 1) != 1  # iterating over a DataFrame yields its columns
    ):
        raise ValueError(value)
    words = list(value)
    if not words or not all(isinstance(word, str) and word for word in words):
        raise ValueError(value)
    return words


def _split_words(text: str) -> Iterator[str]:
    at, separator = 0, ","
    while separator:
        word = _WORD.match(text, at)
        if word is None:
            raise ValueError(text)
        yield (word[1] or word[2] or word[3] or "").strip()
        at, separator = word.end(), word[4]


def _boolean(raw: Raw, scope: Namespace) -> bool:
    value = _object(raw, scope)
    value = value.item() if getattr(value, "ndim", None) == 0 else value  # of NumPy
    if isinstance(value, bool):
        return value
    if value not in ("yes", "no"):
        raise ValueError(value)
    return bool(value == "yes")


def _settings(raw: Raw, scope: Namespace) -> dict[str, Any]:
    """Parse `name=text`, `name={expression}` or `{a dict}`."""
    if not raw.text and raw.expression is not None:
        value = scope.evaluate(raw.expression)
        if not isinstance(value, Mapping):
            raise ValueError(value)
        return {str(name): setting for name, setting in value.items()}
    name, equals, text = (raw.text + scope.format(raw.template)).partition("=")
    if not name or not equals or (text and raw.expression is not None):
        raise ValueError(raw.text)
    if raw.expression is not None:
        return {name: scope.evaluate(raw.expression)}
    return {name: BareText(text, text)}


def _values(raw: Raw, scope: Namespace) -> dict[str, str]:
    """Parse `name=value`, where the value may be empty, or `{a dict}`."""
    pairs = _settings(raw, scope)
    return {k: v.text if isinstance(v, BareText) else v for k, v in pairs.items()}


def _columns(raw: Raw, scope: Namespace) -> dict[str, str]:
    """Parse `setting=column`, or `{a dict}`."""
    columns = _values(raw, scope)
    if not all(columns.values()):
        raise ValueError(raw.text)
    return columns


def _inputs(raw: Raw, scope: Namespace) -> list[Any]:
    """Parse a text, or an expression that evaluates to a text or a list of JSON values."""
    value = _object(raw, scope)
    if isinstance(value, str):
        if not value:
            raise ValueError(value)
        return [value]
    from labext.jobs.pipelines import parse_inputs

    return parse_inputs(value)


def text_type(metavar: str = "TEXT", names: str = "") -> ValueType:
    """Return the type of a text; an expression may also evaluate to a number or a path."""
    return ValueType(metavar, "a text", _text, names)


def prose(metavar: str = "TEXT") -> ValueType:
    """Return the type of a text of several words."""
    return replace(text_type(metavar), is_prose=True)


def comma_separated(metavar: str, names: str = "") -> ValueType:
    """Return the type of a comma-separated list."""
    return ValueType(metavar, "comma-separated words, or {a list}", _comma_separated, names)


def order_by(*columns: str) -> ValueType:
    """Return the type of a column to sort by, optionally followed by `:asc` or `:desc`."""
    directions = ("", ":asc", ":desc")
    orders = choice(*(f"{column}{direction}" for column in columns for direction in directions))
    expects = f"{messages.join_all(columns, 'or')}, optionally followed by :asc or :desc"
    return replace(orders, metavar="COLUMN[:asc|:desc]", expects=expects)


def suggestions(metavar: str, expects: str, *words: str) -> ValueType:
    """Return the type of a text for which completion suggests some words."""
    return ValueType(metavar, expects, _text, choices=words)


def choice(*words: str) -> ValueType:
    """Return the type of a value that must be one of these words."""

    def convert(raw: Raw, scope: Namespace) -> str:
        word = _text(raw, scope)
        if word not in words:
            raise ValueError(word)
        return word

    return ValueType("|".join(words), messages.join_all(words, "or"), convert, choices=words)


JOB = text_type("NAME", "jobs")
BATCH = text_type("NAME", "batches")
PIPELINE = text_type("PIPELINE", "pipelines")
UNFINISHED = text_type("NAME", "unfinished")
NEW_NAME = text_type("NAME")
TOOL = text_type("TOOL", "tools")
JOB_STATE = suggestions(
    "STATE",
    "a state",
    *("Complete", "Running", "in-queue", "Stopped", "failed", "Aggregating", "AggregationFailed"),
)
SINCE = ValueType(
    "TIME", "a date, a time or a duration", _time, choices=("today", "yesterday", "1h", "1d", "7d")
)
TIME_RANGE = ValueType("'> DATE'", "a date, or a range such as '> 2026-01-01'", _time)
UPLOADED = text_type("FILE", "files")
RESULT_FILE = text_type("FILE", "result_files")
FOLDER = text_type("FOLDER", "folders")
LAB_FOLDER = text_type("FOLDER", "lab_folders")
PROFILE = text_type("URL|PROFILE", "profiles")
COLUMN = text_type("COLUMN", "columns")
PLOT_COLUMN = text_type("COLUMN", "plot_columns")
PATH = ValueType("PATH", "a path", _path, "paths")
FILE_OR_FOLDER = text_type("PATH", "paths")
"""A text, since the slash at its end distinguishes a new folder from a file."""
PATHS_OR_URLS = text_type("PATH|URL", "paths")
SEQUENCE = text_type("NAME", "sequences")
FIELDS = comma_separated("A,B,…", "fields")
NOTEBOOK = text_type("NOTEBOOK", "notebooks")
SOURCE = text_type("SOURCE", "sources")
NOTE = text_type("NOTE", "notes")
CHAT = text_type("SESSION", "sessions")
MODEL = text_type("MODEL", "models")
MODEL_TYPE = choice("llm", "embedding", "stt", "tts")
SLOT = text_type("SLOT", "slots")
TRANSFORMATION = text_type("TRANSFORMATION", "transformations")
CREDENTIAL = text_type("CREDENTIAL", "credentials")
PROVIDER = text_type("PROVIDER", "providers")
EPISODE = text_type("EPISODE", "episodes")
EPISODE_PROFILE = text_type("PROFILE", "episode_profiles")
SPEAKERS = comma_separated("A,B,…", "speakers")
PODCAST_PROFILE = text_type("PROFILE", "podcast_profiles")
YES_NO = ValueType("yes|no", "yes or no", _boolean, choices=("yes", "no"))
INTEGER = ValueType("N", "an integer from 1", _integer)
NON_NEGATIVE = ValueType("N", "an integer from 0", partial(_integer, least=0))
SIMILARITY = ValueType(
    "NUMBER", "a number from -1 to 1", partial(_number, accepts=lambda number: -1 <= number <= 1)
)
POSITIVE = ValueType(
    "NUMBER", "a number above 0", partial(_number, accepts=lambda number: 0 < number < float("inf"))
)
VARIABLE = ValueType(
    "VARIABLE", "the name of a variable, or {an expression}", _variable, "variables"
)
NEW_VARIABLE = ValueType(
    "VARIABLE", "the name of a variable", lambda raw, scope: check_name(_text(raw, scope))
)
INPUTS = ValueType("{LIST}", "{a list}, or one text", _inputs)
SETTING = ValueType("SETTING=VALUE", "SETTING=VALUE, or {a dict}", _settings, "settings")
SLOT_MODEL = ValueType("SLOT=MODEL", "SLOT=MODEL", _columns, "assignments")
NAME_VALUE = ValueType("NAME=VALUE", "NAME=VALUE", _values, "")
NAME_TYPE = ValueType("NAME=TYPE", "NAME=TYPE", _columns, "registrations")
MAPPING = ValueType("SETTING=COLUMN", "SETTING=COLUMN, or {a dict}", _columns, "mapping")
