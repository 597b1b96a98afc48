"""Register the `%lab`, `%jobs` and `%nb` magics with IPython."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["MAGICS", "register", "unregister"]

MAGICS = ("lab", "jobs", "nb")


def register(ip: InteractiveShell) -> None:
    """Register the magics and their completion matchers with a shell; repeated calls are safe."""
    unregister(ip)
    for name in MAGICS:
        ip.register_magic_function(_lazy_magic(ip, name), "line_cell", name)
        if ip.Completer is not None:
            ip.Completer.custom_matchers.append(_lazy_matcher(ip, name))
    ip.input_transformers_cleanup.insert(0, _rewrite_help)  # before that of cell magics


def unregister(ip: InteractiveShell) -> None:
    """Remove the magics, their completion matchers, threads and widgets."""
    for table in ip.magics_manager.magics.values():
        for name in MAGICS:
            if getattr(table.get(name), "labext_magic", None) == name:
                del table[name]
    if ip.Completer is not None:
        matchers = ip.Completer.custom_matchers
        matchers[:] = [m for m in matchers if not _is_ours(m)]
    if _rewrite_help in ip.input_transformers_cleanup:
        ip.input_transformers_cleanup.remove(_rewrite_help)
    for module in ("labext_magics.core.session", "labext_widgets"):
        if module in sys.modules:
            sys.modules[module].unload()


def _rewrite_help(lines: list[str]) -> list[str]:
    """Replace `%jobs submit?` by `%jobs submit --help`; IPython would inspect `submit`.

    The question mark of `%nb ask Why?` belongs to the question.
    """
    if len(lines) != 1 or not lines[0].rstrip().endswith("?"):
        return lines
    mark, _, text = lines[0].strip().partition(" ")
    name, line = mark.lstrip("%"), text.rstrip("?").strip()
    if mark not in (f"%{name}", f"%%{name}") or name not in MAGICS or not line:
        return lines
    from labext_magics.core import dispatch

    if dispatch.ends_with_prose(name, line):
        return [f"get_ipython().run_line_magic({name!r}, {text!r})\n"]
    return [f"%{name} {line} --help\n"]


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


def _is_ours(matcher: Any) -> bool:
    return str(getattr(matcher, "matcher_identifier", "")).startswith("labext.")
