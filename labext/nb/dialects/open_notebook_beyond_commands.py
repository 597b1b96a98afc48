"""Settings and background commands, as Open Notebook is asked for them (its schema)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.errors import NotFoundError, ServiceError
from labext.nb import records
from labext.nb.beyond.records import COMMAND, COMMAND_KIND
from labext.nb.dialects import Request, Steps, contract_beyond
from labext.nb.dialects import open_notebook_told as told
from labext.nb.dialects.contract_sources import LIST as SOURCES
from labext.nb.records import Record, made
from labext.transport import Operation, Repeat
from labext.transport.paging import PageGuard

SETTINGS = Operation("read the settings", "GET", "settings", Repeat.ALWAYS, answer="json")
SET_SETTINGS = Operation("change the settings", "PUT", "settings", Repeat.ALWAYS, answer="json")
LIST = Operation("list commands", "GET", "commands/jobs", Repeat.ALWAYS, answer="json")
ONE = Operation("look at a command", "GET", "commands/jobs/{command}", Repeat.ALWAYS, answer="json")
RUN = Operation(
    "run a command",
    "POST",
    "commands/jobs",
    Repeat.UNSENT,
    answer="json",
    find_out="Look at what it does before you run it again: it may have begun.",
)
CANCEL = Operation(
    "cancel a command", "DELETE", "commands/jobs/{command}", Repeat.DELETE, answer="json"
)
KINDS = Operation(
    "list the commands there are", "GET", "commands/registry/debug", Repeat.ALWAYS, answer="json"
)

PAGE = 100


class CommandCalls(contract_beyond.BeyondCalls):
    """The operations on settings and commands."""

    def settings(self) -> Steps[dict[str, Any]]:
        """Read the service's settings, by its own names."""
        return dict(records.mapping((yield Request(SETTINGS)), "the settings"))

    def set_settings(self, changes: Mapping[str, Any]) -> Steps[dict[str, Any]]:
        """Change settings; a name that it has not would be ignored, and null stays what it was."""
        told.check_kept(changes, "the settings", "Set it to another value.")
        answer = yield Request(SET_SETTINGS, json=dict(changes))
        return dict(records.mapping(answer, "the settings"))

    def commands(
        self, command: str | None, status: str | None, limit: int | None
    ) -> Steps[list[Record]]:
        """List commands: those that it lists, and those by which sources are processed.

        The recorded server's own list stays empty, and so its filters are applied here too.
        """
        query = {"command_filter": command, "status_filter": status, "limit": limit}
        answer = yield Request(LIST, params=query)
        found = [_command(each) for each in records.several(answer, "commands")]
        found += yield from _of_sources()
        wanted = {"command": command, "status": status}
        fit = {
            each["job_id"]: each
            for each in reversed(found)
            if all(value in (None, each[name]) for name, value in wanted.items())
        }
        return [*reversed(fit.values())][: limit or None]

    def command(self, command: str) -> Steps[Record]:
        """Look at one.

        Raises:
            NotFoundError: there is none; that server says that it failed to look.
        """
        try:
            answer = yield Request(ONE, {"command": command})
        except ServiceError as error:
            if error.status != 500:
                raise
            raise NotFoundError(
                f"There is no command {command}, or the service can't tell of it.",
                "See `%nb commands`; `%nb status` says whether its database is up.",
                status=error.status,
                server=error.server,
            ) from None
        return _command(answer)

    def run_command(self, command: str, app: str, given: Mapping[str, Any]) -> Steps[Record]:
        """Begin one."""
        body = {"command": command, "app": app, "input": dict(given)}
        answer = records.mapping((yield Request(RUN, json=body)), "the command")
        return _command({**answer, "command": command, "message": None})

    def cancel_command(self, command: str) -> Steps[None]:
        """Ask for one to be canceled; that it says yes tells nothing of what becomes of it."""
        yield Request(CANCEL, {"command": command})

    def command_kinds(self) -> Steps[list[Record]]:
        """List the commands that there are."""
        answer = records.mapping((yield Request(KINDS)), "the commands there are")
        every = records.several(answer.get("command_items") or [], "the commands there are")
        return [
            made(COMMAND_KIND, {"command": each.get("name"), "app": each.get("app_id")})
            for each in every
        ]


def _of_sources() -> Steps[list[Record]]:
    """Return the commands by which sources are processed, the newest first."""
    found: list[Record] = []
    offset, guard = 0, PageGuard("The notebook service's list of sources")
    while True:
        answer = yield Request(SOURCES, params={"limit": PAGE, "offset": offset})
        page = records.several(answer, "sources")
        if not guard.new(each.get("id") for each in page):
            return found
        for each in page:
            if each.get("command_id"):
                source = told.source(each)
                of_it = {
                    "job_id": each["command_id"],
                    "command": "process_source",
                    "subject": source["title"] or source["id"],
                    "error_message": source["error"],
                }
                found.append(made(COMMAND, {**source, **of_it}))
        offset += len(page)
        guard.go_on()


def _command(answer: Any) -> Record:
    """Return a command's record; what is empty is none."""
    given = told.dated(records.mapping(answer, "the command"))
    told.identifier(given, "job_id", "the command")
    result = given.get("result")
    parts = result if isinstance(result, Mapping) else {}
    about = parts.get("execution_metadata")
    named = about.get("command_name") if isinstance(about, Mapping) else None
    more = {
        "command": given.get("command") or named,
        "subject": parts.get("source_id") or parts.get("note_id"),
        "error_message": given.get("error_message") or None,
        "result": result or None,
    }
    return made(COMMAND, {**given, **more})
