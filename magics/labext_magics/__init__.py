"""Register the `%lab`, `%jobs` and `%nb` magics with IPython."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["MAGICS", "register", "unregister"]

MAGICS = ("lab", "jobs", "nb")


def register(ip: InteractiveShell) -> None:
    """Register the magics and their completion matchers with a shell; repeated calls are safe."""
    _remove_magics(ip)
    for name in MAGICS:
        ip.register_magic_function(_lazy_magic(ip, name), "line_cell", name)
        if ip.Completer is not None:
            ip.Completer.custom_matchers.append(_lazy_matcher(ip, name))
    ip.input_transformers_cleanup.insert(0, _rewrite_help)  # before that of cell magics
    ip.input_transformers_post.append(_keep_assigned)


def unregister(ip: InteractiveShell) -> None:
    """Remove the magics, their completion matchers, threads and widgets."""
    _remove_magics(ip)
    for module in ("labext_magics.core.session", "labext_widgets"):
        if module in sys.modules:
            sys.modules[module].unload()


def _remove_magics(ip: InteractiveShell) -> None:
    for table in ip.magics_manager.magics.values():
        for name in MAGICS:
            if getattr(table.get(name), "labext_magic", None) == name:
                del table[name]
    if ip.Completer is not None:
        matchers = ip.Completer.custom_matchers
        matchers[:] = [
            m
            for m in matchers
            if not str(getattr(m, "matcher_identifier", "")).startswith("labext.")
        ]
    if _rewrite_help in ip.input_transformers_cleanup:
        ip.input_transformers_cleanup.remove(_rewrite_help)
    if _keep_assigned in ip.input_transformers_post:
        ip.input_transformers_post.remove(_keep_assigned)


_HELP_LINE = re.compile(
    rf"(?P<indent>\s*)(?P<target>[\w, ]+=\s*)?%%?(?P<name>{'|'.join(MAGICS)}) (?P<text>.*\S.*)\?\s*"
)


def _rewrite_help(lines: list[str]) -> list[str]:
    """Replace `%jobs submit?` by `%jobs submit --help`; IPython would inspect `submit`.

    The question mark of `%nb ask Why?` belongs to the question.
    """
    is_cell_magic = "".join(lines).lstrip().startswith("%%")
    if not any(map(_HELP_LINE.fullmatch, lines)) or (is_cell_magic and len(lines) > 1):
        return lines
    rewritten, before = [], ""
    for line in lines:
        in_string = before.count('"""') % 2 or before.count("'''") % 2
        match = None if in_string else _HELP_LINE.fullmatch(line)
        rewritten.append(line if match is None else _help_line(match))
        before += line
    return rewritten


def _help_line(match: re.Match[str]) -> str:
    """Return the line that shows the help, or that runs the line with its question mark."""
    from labext_magics.core import dispatch

    indent, name, text = match["indent"], match["name"], match["text"].rstrip("? ")
    if dispatch.ends_with_prose(name, text):
        call = f"get_ipython().run_line_magic({name!r}, {match['text'] + '?'!r})"
        return f"{indent}{match['target'] or ''}{call}\n"
    return f"{indent}%{name} {text} --help\n"


_ASSIGNED_LINE = re.compile(
    rf"(?P<call>[^#]*= *get_ipython\(\)\.run_line_magic\('(?:{'|'.join(MAGICS)})', )"
    r"""(?P<text>'(?:[^'\\]|\\.)*;(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*;(?:[^"\\]|\\.)*")\)\s*"""
)


def _keep_assigned(lines: list[str]) -> list[str]:
    """Remove the `;` of `jobs = %jobs list;`, where nothing is displayed and None was assigned."""
    return [
        f"{match['call']}{_without_semicolon(match['text'])})\n" if match else line
        for line, match in ((line, _ASSIGNED_LINE.fullmatch(line)) for line in lines)
    ]


def _without_semicolon(literal: str) -> str:
    """Return the literal of a line's text without a final `;` and the comment after it."""
    from labext.errors import InputError
    from labext_magics.core.line import tokenize

    text = ast.literal_eval(literal)
    try:
        tokenized = tokenize(text)
    except InputError:  # raised again when the line runs
        return literal
    return repr(text[: tokenized.tokens[-1].end] if tokenized.silent else text)


def _lazy_magic(ip: InteractiveShell, name: str) -> Any:
    from IPython.core.magic import needs_local_scope, no_var_expand

    def run(line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        from labext_magics.core import dispatch

        return dispatch.run(ip, name, line, cell, local_ns)

    def help_text() -> str:
        from labext_magics.core import dispatch

        return dispatch.help_text(name)

    magic: Any = no_var_expand(needs_local_scope(run))
    magic.__name__ = magic.__qualname__ = name
    magic.__doc__ = f"`%{name}` lists its subcommands."
    magic.getdoc = help_text  # the text of `%name?`
    magic.labext_magic = name
    return magic


def _lazy_matcher(ip: InteractiveShell, name: str) -> Any:
    from IPython.core.completer import context_matcher

    def matcher(context: CompletionContext) -> SimpleMatcherResult:
        if f"%{name}" not in context.full_text:
            return {"completions": [], "suppress": False}
        from labext_magics.core import completion

        return completion.match(ip, name, context)

    declared: Any = context_matcher(identifier=f"labext.{name}", priority=200)
    return declared(matcher)
