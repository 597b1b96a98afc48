"""Declare the commands of a magic, and parse lines according to the declaration."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from labext import messages
from labext.errors import InputError, LabextError
from labext_magics.core import secrets
from labext_magics.core.line import Token, TokenizedLine, quote
from labext_magics.core.namespace import Namespace
from labext_magics.core.value_types import Raw, ValueType

_FIELD = re.compile(r"\{([^\W\d]\w*)[^{}]*\}")
"""A variable in braces, such as `{name}` and `{x:.2f}`."""

_SYNONYMS = {
    "jobs": {
        **dict.fromkeys(("cancel", "kill", "abort"), "stop"),
        **dict.fromkeys(("info", "describe"), "show"),
        **dict.fromkeys(("logs", "tail"), "log"),
        **dict.fromkeys(("history", "ls", "jobs", "find"), "list"),
        "search": "tools",
        "remove": "delete",
        "wait": "watch",
        **dict.fromkeys(("run", "rerun", "retry", "resubmit"), "submit"),
        "open": "view",
        "put": "upload",
        **dict.fromkeys(("download", "get", "fetch"), "results"),
    },
    "lab": {
        **dict.fromkeys(("list", "ls", "history"), "sequences"),
        **dict.fromkeys(("search", "find"), "sequences --name-includes"),
        **dict.fromkeys(("log", "logs", "info"), "status"),
        **dict.fromkeys(("download", "save"), "export"),
        **dict.fromkeys(("view", "open", "get"), "show"),
    },
    "nb": {
        **dict.fromkeys(("list", "ls"), "sources"),
        "history": "sessions",
        **dict.fromkeys(("find", "query"), "search"),
        **dict.fromkeys(("question", "answer"), "ask"),
        "remove": "delete",
        **dict.fromkeys(("edit", "rename"), "sources edit"),
        **dict.fromkeys(("wait", "watch"), "sources wait"),
        **dict.fromkeys(("log", "logs"), "commands"),
        **dict.fromkeys(("cancel", "stop"), "commands cancel"),
        **dict.fromkeys(("upload", "import"), "add"),
        **dict.fromkeys(("open", "read"), "view"),
        **dict.fromkeys(("summarize", "summarise"), "transform"),
        "retry": "sources retry",
        "download": "sources download",
        "show": "sources show",
        "info": "status",
    },
}
"""Frequent synonyms of the commands of each magic."""

_VERBS = {
    **dict.fromkeys(("remove", "rm"), "delete"),
    **dict.fromkeys(("add", "create"), "new"),
    **dict.fromkeys(("get", "view", "info"), "show"),
    **dict.fromkeys(("update", "rename", "change", "set"), "edit"),
    **dict.fromkeys(("run", "try"), "test"),
    **dict.fromkeys(("stop", "kill"), "cancel"),
    **dict.fromkeys(("history", "log", "logs"), "status"),
}
"""Synonyms of the verb after a noun."""

_LIST_VERBS = ("list", "ls", "all")
"""Verbs for which the command is the noun alone."""


def suggest_command(magic: str, word: str, commands: Sequence[Command]) -> str | None:
    """Return the command to suggest for an unknown word."""
    synonym = _SYNONYMS.get(magic, {}).get(word.casefold())
    return synonym or _closest(word, {command.name.split()[0]: command for command in commands})


def suggest_verb(word: str, commands: Sequence[Command]) -> str | None:
    """Return the verb to suggest for an unknown word after a noun."""
    verbs = {command.name.split()[1]: command for command in commands}
    synonym = _VERBS.get(word.casefold())
    return synonym if synonym in verbs else _closest(word, verbs)


def _closest(word: str, commands: dict[str, Command]) -> str | None:
    """Return the closest name; a destructive command is suggested only for a typing error."""
    safe = messages.closest_match(
        word, [name for name, command in commands.items() if not command.is_destructive]
    )
    destructive = messages.closest_match(
        word, [name for name, command in commands.items() if command.is_destructive]
    )
    if destructive is not None and _is_typo(word.casefold(), destructive):
        return destructive
    return safe


def _is_typo(word: str, name: str) -> bool:
    """Return True if a word is a prefix of a name, or differs by one letter or by letter order.

    Names of fewer than four letters match only by letter order, since they are similar to too many
    words.
    """
    if len(name) > 2 and word != name and sorted(word) == sorted(name):
        return True
    if min(len(word), len(name)) < 4:
        return False
    if name.startswith(word):
        return True
    start = next((n for n, (a, b) in enumerate(zip(word, name, strict=False)) if a != b), None)
    if start is None:
        return abs(len(word) - len(name)) == 1
    word_rest, name_rest = word[start:], name[start:]
    return (
        word_rest[1:] == name_rest[1:] or word_rest[1:] == name_rest or word_rest == name_rest[1:]
    )


HELP = ("--help", "-h")


@dataclass(frozen=True)
class Parameter:
    """One argument or option of a command.

    Attributes:
        name: the displayed name, without `--`.
        kind: the type of the value; None for an option without a value.
        help: a short description.
        required: True if the parameter is required.
        many: True if the parameter may be repeated; its value is then a list.
        dest: the name of the handler's parameter; derived from `name` if empty.
    """

    name: str
    kind: ValueType | None
    help: str
    required: bool = False
    many: bool = False
    dest: str = ""

    @property
    def key(self) -> str:
        """The name of the handler's parameter."""
        key = self.dest or self.name.lower().replace("-", "_")
        return f"{key}_" if keyword.iskeyword(key) else key

    @property
    def is_prose(self) -> bool:
        """True for a text of several words."""
        return self.kind is not None and self.kind.is_prose

    @property
    def default(self) -> Any:
        """The value for the handler if the parameter is not on the line."""
        if self.kind is None:
            return False
        return [] if self.many else None


@dataclass(frozen=True)
class Command:
    """One subcommand with its arguments, options and handler.

    Attributes:
        name: one or more words, such as `sandbox start`.
        summary: one sentence for the list of commands.
        run: the handler, called with the `Call` and one keyword argument per parameter.
        body: a description of the cell body; empty if the command has no cell body.
        guarded: True to reject arguments that look like a key.
        details, examples: additional paragraphs of the command's help.
        heading: the section of the command list; empty if the list has no sections.
        instead: the command to suggest for an unexpected argument.
    """

    name: str
    summary: str
    run: Callable[..., Any]
    arguments: Sequence[Parameter] = ()
    options: Sequence[Parameter] = ()
    body: str = ""
    guarded: bool = False
    details: str = ""
    examples: Sequence[str] = ()
    heading: str = ""
    instead: str = ""

    @property
    def is_destructive(self) -> bool:
        """True if the command stops or deletes something."""
        last = self.name.split()[-1]
        return self.option("--yes") is not None or last in ("stop", "unlink", "logout")

    def option(self, name: str) -> Parameter | None:
        """Return the option written as `--name`."""
        return next((o for o in self.options if f"--{o.name}" == name), None)


@dataclass(frozen=True)
class Magic:
    """A magic and its commands.

    Attributes:
        adapt_error: function of a call and its error that returns the error to raise.
    """

    name: str
    summary: str
    commands: Sequence[Command]
    adapt_error: Callable[[Any, LabextError], LabextError] | None = None

    def find(self, words: Sequence[str]) -> Command | None:
        """Return the command with the longest name that is a prefix of the words."""
        matches = [c for c in self.commands if c.name.split() == list(words[: len(c.name.split())])]
        return max(matches, key=lambda c: len(c.name), default=None)

    def below(self, group: str) -> list[Command]:
        """Return the commands whose names start with this word followed by another word."""
        return [c for c in self.commands if c.name.startswith(f"{group} ")]


@dataclass(frozen=True)
class ParsedLine:
    """A command to run with its values, or a help topic if `command` is None."""

    topic: str
    command: Command | None = None
    values: dict[str, Any] = field(default_factory=dict)


def parse(
    magic: Magic, line: TokenizedLine, scope: Namespace, *, has_body: bool = False
) -> ParsedLine:
    """Parse a line according to the declaration of its magic.

    Raises:
        InputError: the line does not match the declaration; the error suggests a close match.
    """
    words = [_token_text(t) for t in line.tokens]
    secrets.refuse_options(line.tokens, magic.name)
    command = magic.find(words)
    if command is None:
        return ParsedLine(_group(magic, words))
    rest = line.tokens[len(command.name.split()) :]
    options = takewhile(lambda t: t.quoted or t.text != "--", rest)
    if any(t.is_option and t.text in HELP for t in options):
        return ParsedLine(command.name)
    _check_verb(magic, command, rest)
    title = f"%{magic.name} {command.name}"
    if has_body and not command.body:
        raise InputError(f"`%{title}` takes no cell body.", f"Use `{title}` in a separate cell.")
    typed = _match(magic.name, command, title, rest)
    _check_required(command, title, typed)
    values = {p.key: p.default for p in (*command.arguments, *command.options)}
    values |= {p.key: _value(p, raws, title, scope) for p, raws in typed.items()}
    return ParsedLine(command.name, command, values)


def _group(magic: Magic, words: list[str]) -> str:
    """Return the help topic of a group, empty without words; raise InputError if it is unknown."""
    if not words or words[0] in HELP:
        return ""
    if words[0] == "help":  # words after a command's name are ignored
        command = magic.find(words[1:])
        return command.name if command else _group(magic, words[1:])
    verbs = magic.below(words[0])
    if verbs and (len(words) == 1 or words[1] in HELP):
        return words[0]
    if verbs:
        word, prefix, suggestion = words[1], f"{words[0]} ", suggest_verb(words[1], verbs)
    else:
        word, prefix = words[0], ""
        suggestion = suggest_command(magic.name, word, magic.commands)
    raise InputError(
        f"`%{magic.name}` has no subcommand `{prefix}{messages.shorten(word)}`.",
        f"Did you mean `%{magic.name} {prefix}{suggestion}`?"
        if suggestion
        else f"`%{magic.name} {prefix}".rstrip() + "` lists the subcommands.",
    )


def _check_verb(magic: Magic, command: Command, rest: Sequence[Token]) -> None:
    """Check that the word after a noun is one of its verbs, else raise InputError."""
    verbs = [c.name.split()[1] for c in magic.below(command.name)]
    if not verbs or command.arguments or not rest or rest[0].is_option:
        return
    title = f"%{magic.name} {command.name}"
    word = messages.shorten(_token_text(rest[0]))
    if rest[0].text in _LIST_VERBS:
        raise InputError(f"`{title}` has no subcommand `{word}`.", f"Run `{title}` alone.")
    suggestion = suggest_verb(rest[0].text, magic.below(command.name))
    raise InputError(
        f"`{title}` has no subcommand `{word}`; it has {', '.join(verbs)}.",
        f"Did you mean `{title} {suggestion}`?"
        if suggestion
        else f"`{title} --help` explains them.",
    )


def _match(
    magic: str, command: Command, title: str, tokens: Sequence[Token]
) -> dict[Parameter, list[Raw]]:
    """Assign each token to an argument or an option."""
    typed: dict[Parameter, list[Raw]] = {}
    remaining, arguments, options_ended = iter(tokens), list(command.arguments), False
    for token in remaining:
        if token.text == "--" and token.is_option and not (token.expression or token.template):
            options_ended = True
        elif token.is_option and not options_ended:
            option, raw = _option(command, title, token, remaining)
            if option in typed and not option.many:
                raise InputError(f"`--{option.name}` is given twice.", "Keep one of them.")
            typed.setdefault(option, []).append(raw)
        elif arguments:
            typed.setdefault(arguments[0], []).append(
                Raw(token.text, token.expression, token.template)
            )
            if not arguments[0].many:
                arguments.pop(0)
        else:
            if command.guarded:
                raise secrets.typed_secret_error(
                    "more than an address or a name", magic, command.name
                )
            raise _unexpected_argument(command, title, token, typed, tokens)
    return typed


def _unexpected_argument(
    command: Command,
    title: str,
    token: Token,
    typed: dict[Parameter, list[Raw]],
    tokens: Sequence[Token],
) -> InputError:
    text, last = messages.shorten(_token_text(token)), next(reversed(typed), None)
    if (
        text.startswith(("-", "–", "—")) and not token.quoted
    ):  # word processors replace -- by a dash
        next_step = f"`{title} --help` lists its options."
        options = [o.name for o in command.options]
        return InputError(
            f"`{title}` has no option `{text}`.",
            messages.suggest(text.lstrip("-–—"), options, next_step, "`--{}`"),
        )
    next_step = f"`{title} --help` shows its arguments; quote a text that contains spaces."
    pairs = _pair_options(command)
    before = tokens[: tokens.index(token)]
    if last in command.options and any(t.text.endswith("=") for t in (*before[-1:], token)):
        next_step = "Write `=` without spaces around it."
    elif last and last.kind and (order := f"{typed[last][-1]}:{text}") in last.kind.choices:
        next_step = f"Write `--{last.name} {order}`."
    elif "=" in text[1:] and pairs:
        next_step = f"Write {messages.join_all([f'`--{o} {text}`' for o in pairs], 'or')}."
    elif last and last.kind and last.kind.may_contain_spaces and last in command.options:
        raw = typed[last][-1]
        value = messages.shorten(str(raw))
        next_step = f"Put the text in quotes: `--{last.name} {_in_quotes(f'{value} {text}')}`."
        if last.kind.is_list and not raw.template:
            rest = takewhile(lambda t: not t.is_option, tokens[tokens.index(token) :])
            words = [w for w in (t.strip(",") for t in (value, *map(_token_text, rest))) if w]
            joined = messages.shorten(",".join(words))
            next_step = f"Separate words by commas: `--{last.name} {joined}`. {next_step}"
    elif command.instead and text[:1].isalnum():
        next_step = f"Did you mean `{command.instead} {text}`?"
    elif text.isidentifier() and any(o.name == "from" and o not in typed for o in command.options):
        next_step = f"Name a variable with rows by `--from {text}`; `{title} --help` shows all."
    elif command.arguments and command.arguments[-1].is_prose:
        has_braces = any(t.template or t.expression is not None for t in tokens)
        quoted = '{f"…"}' if has_braces else '"…"'
        next_step = f"Put the whole text in quotes: `{title} {quoted}`."
    return InputError(f"`{title}` does not take `{text}`.", next_step)


def _pair_options(command: Command) -> list[str]:
    """Return the names of the options that take pairs such as `NAME=VALUE`."""
    return [o.name for o in command.options if o.kind is not None and "=" in o.kind.metavar]


def _in_quotes(text: str) -> str:
    """Return a text in quotes; one with expressions in braces as an f-string."""
    if "{" not in text:
        return quote(text) if "'" in text else f"'{text}'"
    mark = "'" if '"' in text else '"'
    return f"{{f{mark}{text}{mark}}}"


def _option(
    command: Command, title: str, token: Token, remaining: Iterator[Token]
) -> tuple[Parameter, Raw]:
    """Return the option of a token with its value, which may be the next token."""
    name, equals, text = token.text.partition("=")
    typed_name = name if equals else _token_text(token)  # `--name{x}` is no option
    option = command.option(typed_name)
    if option is None:
        # without the dashes, which make all options similar
        names = [o.name for o in command.options]
        next_step = f"`{title} --help` lists its options."
        pairs = [f"`--{o} {messages.shorten(name[2:])}=…`" for o in _pair_options(command)]
        if pairs:
            next_step = f"Did you mean {messages.join_all(pairs, 'or')}? {next_step}"
        raise InputError(
            f"`{title}` has no option `{messages.shorten(typed_name)}`.",
            messages.suggest(name[2:], names, next_step, "`--{}`"),
        )
    if option.kind is None:
        if equals:
            raise InputError(f"`{name}` takes no value.", f"Write `{name}` alone.")
        return option, Raw("")
    if equals:
        return option, Raw(text, token.expression, token.template)
    value = next(remaining, None)
    if value is None or value.is_option:
        raise InputError(
            f"`{name}` needs a value: {option.kind.expects}.",
            f"Write `{name} {option.kind.metavar}`; quote a value that starts with --.",
        )
    return option, Raw(value.text, value.expression, value.template)


def _check_required(command: Command, title: str, typed: dict[Parameter, list[Raw]]) -> None:
    missing = [p for p in command.arguments if p.required and p not in typed]
    missing_options = [o for o in command.options if o.required and o not in typed]
    if not missing and not missing_options:
        return
    names = [p.name.upper() for p in missing] + [f"--{o.name}" for o in missing_options]
    first = (missing + missing_options)[0]
    example = f"Example: `{command.examples[0]}`." if command.examples else None
    raise InputError(
        f"`{title}` needs {messages.join_all(names, 'and')}"
        + (f": {first.help}." if len(names) == 1 else "."),
        example or f"`{title} --help` shows its arguments.",
    )


def _value(parameter: Parameter, raws: list[Raw], title: str, scope: Namespace) -> Any:
    if parameter.kind is None:
        return True
    values = [_convert(parameter, parameter.kind, raw, title, scope) for raw in raws]
    return values if parameter.many else values[0]


def _convert(parameter: Parameter, kind: ValueType, raw: Raw, title: str, scope: Namespace) -> Any:
    if not kind.is_free_text:
        _refuse_quoted_variable(kind, raw, scope)
    try:
        return kind.convert(raw, scope)
    except InputError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        name = parameter.name if parameter.name.isupper() else f"--{parameter.name}"
        syntax = f"`{title} --help` shows the syntax."
        value = f"`{messages.shorten(str(raw))}`" if str(raw) else "an empty text"
        raise InputError(
            f"`{name}` takes {kind.expects}, not {value}.",
            messages.suggest(raw.text, kind.choices, syntax, "`{}`"),
        ) from error


def _refuse_quoted_variable(kind: ValueType, raw: Raw, scope: Namespace) -> None:
    """Raise InputError if a name has a variable in braces between quotes, where braces are text."""
    for name in _FIELD.findall(raw.text):
        if scope.has_variable(name):
            is_setting = "=" in kind.metavar
            setting, equals, value = raw.text.partition("=") if is_setting else ("", "", raw.text)
            typed, replacement = raw.text, f"{setting}{equals}{_in_quotes(value)}"
            raise InputError(
                f"`{messages.shorten(typed)}` is text, since braces between quotes are not "
                "evaluated.",
                f"Write `{messages.shorten(replacement)}` for the variable `{name}`.",
            )


def _token_text(token: Token) -> str:
    return str(Raw(token.text, token.expression, token.template))
