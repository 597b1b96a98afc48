"""Completion candidates for the values of arguments and options."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labext_magics.core import session, value_types
from labext_magics.core.grammar import Parameter
from labext_magics.core.namespace import user_names

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from labext.config import Service
    from labext.jobs import JobsClient
    from labext.nb import NotebookClient

ValueSource = tuple[Sequence[str], str]
"""Completions and their type."""

COMMAND_STATES = ("new", "running", "completed", "failed", "canceled")
"""States of a background command of the notebook service."""


PREFETCHED_KINDS = {
    "lab": ("sequences", "lab_folders"),
    "jobs": ("jobs", "tools", "files", "pipelines"),
    "nb": ("notebooks", "sources", "notes", "transformations", "episodes"),
}
"""Kinds of names that are fetched when a service is connected, so that the first Tab is fast."""

MAX_RECENT = 200
"""Number of recent jobs and sequences to complete."""

EXPRESSION = Parameter("EXPRESSION", value_types.VARIABLE, "a variable inside {…}")


def prefetch(ip: InteractiveShell, service: str) -> threading.Thread | None:
    """Fetch the most frequently completed names in a thread, and return the thread."""
    candidates = Candidates(ip, ())
    names = session.session_of(ip).names
    return names.prefetch(service, partial(candidates.fetch, PREFETCHED_KINDS[service]))


def prefetch_once(ip: InteractiveShell, service: str) -> None:
    """Prefetch a service's names at the first completion, even before `connect`.

    No request is sent if the service is not configured.
    """
    names = session.session_of(ip).names
    if service not in names.prefetched:
        names.prefetched.add(service)
        prefetch(ip, service)


class Candidates:
    """The completion candidates at one position of a line, given the arguments before it."""

    def __init__(self, ip: InteractiveShell, typed: Sequence[tuple[str, str]]) -> None:
        self._variables: Mapping[str, Any] = ip.user_ns
        self._session = session.session_of(ip)
        self._typed = dict(typed)
        lab, jobs, nb = (partial(self._cached, service) for service in ("lab", "jobs", "nb"))
        self._of_jobs, self._of_nb = jobs, nb
        fixed: dict[str, tuple[str, Callable[[], Sequence[Any]]]] = {
            "jobs": ("job", lambda: jobs("jobs", _job_names)),
            "batches": ("job", lambda: jobs("batches", _batch_names)),
            "unfinished": ("job", lambda: jobs("unfinished", lambda c: c.unfinished_names())),
            "pipelines": ("pipeline", lambda: jobs("pipelines", _saved_pipelines)),
            "tools": ("tool", lambda: [str(tool.get("name")) for tool in self._tools()]),
            "files": ("file", lambda: jobs("files", lambda c: c.files())),
            "result_files": ("file", self._result_files),
            "folders": ("folder", lambda: jobs("folders", lambda c: c.folders())),
            "sequences": (
                "sequence",
                lambda: lab("sequences", lambda c: c.names(limit=MAX_RECENT)),
            ),
            "lab_folders": ("folder", lambda: lab("folders", lambda c: c.folders(1000))),
            "notebooks": ("notebook", lambda: nb("notebooks", lambda c: c.notebooks.names())),
            "notes": ("note", lambda: self._in_notebook("notes")),
            "sessions": ("chat", lambda: self._in_notebook("chat")),
            "insights": ("insight", self._insights),
            "source_chats": ("chat", self._source_chats),
            "transformations": ("transformation", lambda: self._named("transformations")),
            "models": ("model", lambda: [name for name, _ in self._models()]),
            "credentials": ("credential", lambda: self._named("credentials")),
            "providers": (
                "provider",
                lambda: nb("providers", lambda c: list(c.models.providers()["provider"])),
            ),
            "slots": ("slot", lambda: list(_slots())),
            "episodes": ("episode", lambda: self._named("podcasts")),
            "episode_profiles": ("profile", lambda: self._named("episode_profiles")),
            "podcast_profiles": ("profile", self._podcast_profiles),
            "commands": (
                "command",
                lambda: nb("commands", lambda c: [r["job_id"] for r in c.commands.iter()]),
            ),
            "command_kinds": (
                "command",
                lambda: nb("kinds", lambda c: list(c.commands.kinds()["command"])),
            ),
            "command_states": ("state", lambda: COMMAND_STATES),
            "profiles": ("profile", _profiles),
            "variables": ("variable", self._rows),
            "columns": ("column", self._columns),
            "plot_columns": ("column", self._plot_columns),
            "scores": ("score", self._scores),
        }
        self._by_kind: dict[str, Callable[[str], ValueSource]] = {
            kind: partial(_ignore_typed, *source) for kind, source in fixed.items()
        } | {
            "sources": self._sources,
            "paths": lambda typed: (_paths(typed), "path"),
            "fields": lambda typed: (_after_comma(_sequence_columns(), typed), "column"),
            "speakers": lambda typed: (
                _after_comma(self._named("speaker_profiles"), typed),
                "speaker",
            ),
            "assignments": self._assignments,
            "registrations": self._registrations,
            "settings": self._settings,
            "service_settings": self._service_settings,
            "mapping": self._mapping,
        }

    def fetch(self, kinds: Sequence[str]) -> None:
        """Fetch the names of several kinds sequentially."""
        for kind in kinds:
            self._by_kind[kind]("")

    def of(self, parameter: Parameter, typed: str) -> Iterator[ValueSource]:
        """Yield candidate values of a parameter, each list with its completion type."""
        kind = parameter.kind
        if parameter is EXPRESSION:
            yield user_names(self._variables), "variable"
        elif kind is not None and kind.choices:
            yield kind.choices, "value"
        elif kind is not None and kind.names in self._by_kind:
            yield self._by_kind[kind.names](typed)

    def _cached(
        self, service: Service, key: str, fetch: Callable[[Any], Sequence[Any]]
    ) -> Sequence[Any]:
        """Return names from a service, cached under a key."""
        connected = self._session.connected
        return self._session.names.get(f"{service}/{key}", lambda: fetch(connected(service)[1]))

    def _tools(self) -> Sequence[Mapping[str, Any]]:
        return self._of_jobs("tools", lambda jobs: list(jobs.iter_tools()))

    def _named(self, group: str) -> Sequence[str]:
        """Return the names of records that do not belong to a notebook."""
        return self._of_nb(group, lambda nb: getattr(nb, group).names())

    def _in_notebook(self, group: str) -> Sequence[str]:
        """Return names from the notebook of the line."""
        notebook = self._notebook()
        return self._of_nb(
            f"{group}/{notebook or ''}", lambda nb: getattr(nb, group).names(notebook)
        )

    def _sources(self, typed: str) -> ValueSource:
        """Return the titles of sources; after the first letter also the names of their files."""
        notebook = self._notebook()
        names = self._of_nb(f"sources/{notebook or ''}", partial(_source_names, notebook))
        titles = [title for title, _ in names]
        files = [file for _, file in names] if typed else []
        return [*dict.fromkeys(filter(None, [*titles, *files]))], "source"

    def _notebook(self) -> str | None:
        """Return the notebook on the line, or else the notebook in use; None for all."""
        notebook = self._typed.get("notebook") or self._typed.get("NOTEBOOK")
        if notebook is None and "all" not in self._typed:
            return self._notebook_in_use()
        return notebook

    def _notebook_in_use(self) -> str | None:
        return None if self._session.notebook is None else self._session.notebook.id

    def _insights(self) -> Sequence[str]:
        notebook = self._notebook_in_use()
        return self._of_nb(f"insights/{notebook or ''}", lambda nb: nb.insights.names(notebook))

    def _source_chats(self) -> Sequence[str]:
        title = self._typed.get("source") or self._typed.get("SOURCE")
        if not title:
            return []
        notebook = self._notebook_in_use()
        return self._of_nb(
            f"source_chats/{title}",
            lambda nb: nb.source_chats.names(nb.sources.find(title, notebook)),
        )

    def _models(self) -> Sequence[tuple[str, str]]:
        """Return the names and types of models."""
        return self._of_nb("models", _models)

    def _service_settings(self, fragment: str) -> ValueSource:
        """Return the settings of the notebook service; after `NAME=`, the values of a setting."""
        name, equals, _ = fragment.partition("=")
        if not equals:
            names = self._of_nb("settings", lambda nb: nb.settings.names())
            return [f"{setting}=" for setting in names], "setting"
        values = self._of_nb(f"settings/{name}", partial(_setting_values, name))
        return [f"{name}={value}" for value in values], "value"

    def _assignments(self, fragment: str) -> ValueSource:
        """Return the slots; after `SLOT=`, the models of the slot's type."""
        slot, equals, _ = fragment.partition("=")
        if not equals:
            return [f"{name}=" for name in _slots()], "slot"
        model_type = _slots().get(slot.replace("-", "_"))
        names = [name for name, type_ in self._models() if type_ == model_type]
        return [f"{slot}={name}" for name in names], "model"

    def _registrations(self, fragment: str) -> ValueSource:
        """Return the model types after `NAME=`; a provider's model names are not completed."""
        name, equals, _ = fragment.partition("=")
        types = value_types.MODEL_TYPE.choices
        return [f"{name}={model_type}" for model_type in types] if equals else [], "value"

    def _podcast_profiles(self) -> list[str]:
        """Return the names of podcast profiles, filtered by `--kind`."""
        kind = self._typed.get("kind")
        episodes = [] if kind == "speaker" else self._named("episode_profiles")
        speakers = [] if kind == "episode" else self._named("speaker_profiles")
        return [*dict.fromkeys([*episodes, *speakers])]

    def _parameters(self) -> dict[str, Mapping[str, Any]]:
        """Return the parameters of the tool named on the line, by name."""
        name = self._typed.get("TOOL") or self._typed.get("type")
        record = next((tool for tool in self._tools() if tool.get("name") == name), {})
        return {str(p.get("name")): p for p in record.get("settings") or () if p.get("name")}

    def _settings(self, fragment: str) -> ValueSource:
        name, equals, _ = fragment.partition("=")
        parameters = self._parameters()
        if not equals:
            return [f"{setting}=" for setting in parameters], "setting"
        parameter = parameters.get(name, {})
        values = [_option_text(option) for option in parameter.get("options") or ()]
        if not values and isinstance(parameter.get("default"), bool):
            values = ["true", "false"]
        if not values and parameter.get("type") in ("file", "pdb"):
            values = [str(file) for file in self._of_jobs("files", lambda jobs: jobs.files())]
        return [f"{name}={value}" for value in values], "value"

    def _mapping(self, fragment: str) -> ValueSource:
        name, equals, _ = fragment.partition("=")
        if not equals:
            return [f"{setting}=" for setting in self._parameters()], "setting"
        return [f"{name}={column}" for column in self._columns()], "column"

    def _result_files(self) -> list[str]:
        """Return the paths of a job's result files, or of its downloaded files."""
        job = self._typed.get("NAME")
        if job is None:
            return []
        email = self._typed.get("email")
        paths = self._of_jobs(
            f"results/{job}/{email or ''}", lambda jobs: jobs.result_files(job, email)
        )
        if paths:
            return [str(file) for file in paths]
        folder = Path(os.path.expanduser(self._typed.get("to") or job))
        files = (path for path in islice(folder.rglob("*"), 1000) if path.is_file())
        return sorted(path.relative_to(folder).as_posix() for path in files)

    def _rows(self) -> list[str]:
        """Return the variables that are DataFrames, or mappings of names to settings."""
        pandas = sys.modules.get("pandas")
        row_types = (Mapping,) if pandas is None else (Mapping, pandas.DataFrame)
        names = user_names(self._variables)
        return [name for name in names if isinstance(self._variables[name], row_types)]

    def _columns(self) -> list[str]:
        frame = self._variables.get(self._typed.get("from", ""))
        return [str(column) for column in getattr(frame, "columns", ())]

    def _plot_columns(self) -> Sequence[str]:
        """Return the columns of the DataFrame on the line, or the plottable columns of a batch."""
        batch, email = self._typed.get("NAME"), self._typed.get("email")
        if batch is None or "from" in self._typed:
            return self._columns()

        def fetch(jobs: JobsClient) -> Sequence[str]:
            from labext_widgets.plots import job_table
            from labext_widgets.plots.columns import plottable

            return plottable(job_table(jobs.jobs(batch=batch, scores=True, email=email)))

        return self._of_jobs(f"columns/{batch}/{email or ''}", fetch)

    def _scores(self) -> list[str]:
        """Return the scores of the batch on the line."""
        columns = self._plot_columns()
        return [name.removeprefix("score.") for name in columns if name.startswith("score.")]


def _ignore_typed(type_: str, names: Callable[[], Sequence[Any]], _: str) -> ValueSource:
    return names(), type_


def _source_names(notebook: str | None, nb: NotebookClient) -> list[tuple[str, str]]:
    """Return the titles and file names of sources."""
    records = nb.sources.iter(notebook)
    return [(str(record["title"] or ""), str(record["file_name"] or "")) for record in records]


def _models(nb: NotebookClient) -> list[tuple[str, str]]:
    return [*dict.fromkeys((str(model["name"]), str(model["type"])) for model in nb.models.iter())]


def _setting_values(name: str, nb: NotebookClient) -> Sequence[str]:
    """Return the known values of a setting."""
    from labext.nb.records import SETTING_CHOICES

    setting = name.replace("-", "_")
    is_boolean = setting not in SETTING_CHOICES and isinstance(nb.settings.get().get(setting), bool)
    return ("yes", "no") if is_boolean else SETTING_CHOICES.get(setting, ())


def _recent_jobs(jobs: JobsClient) -> Iterator[tuple[str, bool]]:
    """Yield the names of the newest jobs, each with True if it is a batch.

    Parts of a split batch have the name of the batch.
    """
    from labext.jobs import records
    from labext.jobs.identity import parse_part_name

    for row in islice(jobs.iter_jobs(limit=MAX_RECENT), MAX_RECENT):
        name = str(row.get("JobName"))
        part = parse_part_name(name)
        yield part[0] if part else name, records.is_parent(row)


def _job_names(jobs: JobsClient) -> list[str]:
    return list(dict.fromkeys(name for name, _ in _recent_jobs(jobs)))


def _batch_names(jobs: JobsClient) -> list[str]:
    return list(dict.fromkeys(name for name, is_batch in _recent_jobs(jobs) if is_batch))


def _saved_pipelines(jobs: JobsClient) -> list[str]:
    """Return the saved pipelines used by the newest jobs, since the service can't list them."""
    from labext.jobs import records
    from labext.jobs.identity import stored_settings

    runs = filter(records.is_pipeline, islice(jobs.iter_jobs(limit=MAX_RECENT), MAX_RECENT))
    saved = ((stored_settings(row) or {}).get("pipelineName") for row in runs)
    return list(dict.fromkeys(name for name in saved if isinstance(name, str) and name))


def _sequence_columns() -> list[str]:
    from labext.lab.sequences.frames import COLUMN_KINDS

    return list(COLUMN_KINDS)


def _after_comma(words: Sequence[str], typed: str) -> list[str]:
    """Return completions of a comma-separated list with the words that it does not yet contain."""
    prefix, comma, _ = typed.rpartition(",")
    names = prefix.split(",")
    return [f"{prefix}{comma}{word}" for word in words if word not in names]


def _slots() -> Mapping[str, str]:
    """Return the model type of each default slot."""
    from labext.nb.records import SLOTS

    return SLOTS


def _profiles() -> list[str]:
    from labext.config import profile_names
    from labext.errors import LabextError

    try:
        return profile_names()
    except LabextError:  # an unreadable profile file is reported by `connect`
        return []


def _paths(typed: str) -> list[str]:
    """Return the paths with the typed prefix; folders end with a slash."""
    from labext.errors import InputError
    from labext.storage import user_path

    head, slash, start = typed.rpartition("/")
    try:
        folder = user_path(head + slash) if head or slash else Path()
        entries = sorted(islice(folder.iterdir(), 1000))
    except (OSError, InputError):
        return []
    visible = (e for e in entries if e.name.startswith(start) and (start or e.name[:1] != "."))
    return [f"{head}{slash}{e.name}{'/' if e.is_dir() else ''}" for e in visible]


def _option_text(option: Any) -> str:
    if isinstance(option, Mapping):
        option = option.get("value", option.get("name"))
    return str(option).lower() if isinstance(option, bool) else str(option)
