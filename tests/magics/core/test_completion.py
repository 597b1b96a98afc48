"""Tab completion of the magics in a real shell, with and without jedi."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import labext_test_shell
import pandas as pd
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from labext.errors import SetupError, UnreachableError
from labext_magics.core import candidates, session
from labext_magics.core.session import LOOKUP_TIMEOUT

TOOLS = [
    {
        "name": "peptide_build",
        "settings": [
            {"name": "sequence", "required": True, "type": "string"},
            {"name": "conformation", "required": False, "options": ["helix", "strand", "custom"]},
            {"name": "cap", "required": False, "default": True},
        ],
    },
    {"name": "normal_modes", "settings": [{"name": "pdbFile", "required": True, "type": "pdb"}]},
]
ROWS = [
    {"JobName": "helix1", "Type": "peptide_build"},
    {"JobName": "helix2", "Type": "peptide_build"},
    {"JobName": "folds-part1of2", "Type": "batch", "batchStatus": "Running"},
    {"JobName": "folds-part2of2", "Type": "batch", "batchStatus": "Running"},
    {"JobName": "p1", "Type": "pipeline", "JobStatus": "Running", "Settings": '{"stages": []}'},
    {"JobName": "p2", "Type": "pipeline", "Settings": '{"pipelineName": "helix-to-modes"}'},
    {"JobName": "p3", "Type": "pipeline", "Settings": {"pipelineName": "helix-to-modes"}},
]


class Jobs:
    """A job service that responds immediately, or after a release."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.let.set()
        self.lookups = 0
        self.broken = False

    def _answer(self, value: list[Any]) -> list[Any]:
        self.lookups += 1
        self.let.wait(10)
        if self.broken:
            raise UnreachableError("No service answers.")
        return value

    def iter_tools(self) -> Iterator[dict[str, Any]]:
        return iter(self._answer(TOOLS))

    def iter_jobs(self, limit: int | None = None) -> Iterator[dict[str, Any]]:
        return iter(self._answer(ROWS)[:limit])

    def files(self, folder: str | None = None, include_folders: bool = False) -> list[str]:
        return self._answer(["1A8O.pdb", "my file.pdb", "it's.pdb"])

    def result_files(self, name: str, email: str | None = None) -> list[str]:
        return self._answer(["metrics.csv", "out/helix.pdb"] if name == "helix2" else [])

    def folders(self) -> list[str]:
        return self._answer(["models", "sets"])

    def jobs(self, *, batch: str, scores: bool, email: str | None) -> pd.DataFrame:
        rows = self._answer([{"JobName": "f1", "score.mfe": -1.2, "setting.sequence": "ACGU"}])
        return pd.DataFrame(rows if scores and batch == "folds" else [])


@pytest.fixture(scope="module")
def service() -> Iterator[Jobs]:
    """The service that all shells of this file use."""
    served = Jobs()
    for module in ("records", "identity"):  # import first, since a prompt doesn't wait for it
        import_module(f"labext.jobs.{module}")

    def connected(_: session.Session, name: str) -> tuple[None, Jobs]:
        if name != "jobs":
            raise SetupError("No service is configured.", "Connect to one.")
        return None, served

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session.Session, "connected", connected)
        patch.setattr(session, "LOOKUP_TIMEOUT", 60.0)  # for busy machines
        yield served


@pytest.fixture(scope="module", params=[True, False], ids=["jedi", "no-jedi"])
def opened(request: pytest.FixtureRequest, service: Jobs) -> Iterator[InteractiveShell]:
    """A shell with or without jedi, shared since opening one takes most of a test's time."""
    completer = {"use_jedi": request.param}
    with labext_test_shell.opened(IPCompleter=completer) as ip:
        ip.run_line_magic("load_ext", "labext")
        yield ip


@pytest.fixture
def jobs(service: Jobs) -> Iterator[Jobs]:
    """The service in its initial state; released at the end of a test that blocks it."""
    service.lookups, service.broken = 0, False
    yield service
    service.let.set()


@pytest.fixture
def silent_jobs(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """The service responding only after its release; a completion waits for `LOOKUP_TIMEOUT`."""
    monkeypatch.setattr(session, "LOOKUP_TIMEOUT", LOOKUP_TIMEOUT)
    jobs.let.clear()
    return jobs


@pytest.fixture
def shell(opened: InteractiveShell, jobs: Jobs) -> InteractiveShell:
    """The shell without cached names."""
    session.session_of(opened).names.forget("jobs")
    return opened


Complete = Callable[[str], list[str]]


@pytest.fixture
def complete(shell: InteractiveShell) -> Complete:
    """Return the cell after each completion; `|` marks the cursor."""

    def completed(cell: str) -> list[str]:
        at = cell.index("|")
        text = cell.replace("|", "")
        with provisionalcompleter():
            completions = list(shell.Completer.completions(text, at))
        assert all(c.end == at for c in completions)
        return [text[: c.start] + c.text for c in completions]

    return completed


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%jobs su|", ["%jobs submit"]),
        ("df = %jobs su|", ["df = %jobs submit"]),
        ("%%jobs su|\n", ["%%jobs submit"]),
        ("x = 1\n%jobs su|", ["x = 1\n%jobs submit"]),
        ("%jobs s|", [f"%jobs {w}" for w in ("submit", "show", "stop", "status")]),
        ("%lab s|", [f"%lab {w}" for w in ("status", "sequences", "show", "sandbox")]),
        ("%lab sandbox st|", [f"%lab sandbox {w}" for w in ("start", "stop", "status")]),
        ("%lab sandbox start --r|", ["%lab sandbox start --rate"]),
        ("%lab sandbox start --rate o|", ["%lab sandbox start --rate off"]),
        ("%lab sandbox start --rate=o|", ["%lab sandbox start --rate=off"]),
        ("%jobs run-pipeline h|", ["%jobs run-pipeline helix-to-modes"]),
        ("%jobs submit --na|", ["%jobs submit --name"]),
        ("%jobs submit --name x --na|", ["%jobs submit --name x --na"]),
        ("%jobs submit --set a=b --se|", ["%jobs submit --set a=b --set"]),
        ("%jobs submit p|", ["%jobs submit peptide_build"]),
        ("%jobs watch h|", ["%jobs watch helix1", "%jobs watch helix2"]),
        ("%jobs delete helix1 fo|", ["%jobs delete helix1 folds"]),
        ("%jobs list --batch |", [f"%jobs list --batch {w}" for w in ("folds", "p1", "p2", "p3")]),
        ("%jobs list --batch=f|", ["%jobs list --batch=folds"]),
        ("%jobs list --state f|", ["%jobs list --state failed"]),
        ("%jobs list --since t|", ["%jobs list --since today"]),
        ("%jobs rm |", ["%jobs rm 1A8O.pdb", '%jobs rm "my file.pdb"', "%jobs rm it's.pdb",
                        "%jobs rm --folder",
                        "%jobs rm --yes", "%jobs rm --preview", "%jobs rm --help"]),
        ("%jobs rm my|", ['%jobs rm "my file.pdb"']),
        ('%jobs rm "my|', ['%jobs rm "my file.pdb"']),
        ("%jobs rm 'it|", ["%jobs rm it's.pdb"]),
        ("%jobs files --folder |", ["%jobs files --folder models", "%jobs files --folder sets"]),
        ("%jobs run-pipeline h --inputs {fra|", ["%jobs run-pipeline h --inputs {frame"]),
        ("%jobs run-pipeline h --name p_{fra|", ["%jobs run-pipeline h --name p_{frame"]),
        ("%jobs rm my{frame}|", ["%jobs rm my{frame}"]),
        ("%jobs usage --scope=o|", ["%jobs usage --scope=organization"]),
        ("%jobs submit peptide_build --set |",
         [f"%jobs submit peptide_build --set {p}=" for p in ("sequence", "conformation", "cap")]),
        ("%jobs submit peptide_build --set conformation=h|",
         ["%jobs submit peptide_build --set conformation=helix"]),
        ("%jobs submit peptide_build --set=cap=t|", ["%jobs submit peptide_build --set=cap=true"]),
        ("%jobs submit normal_modes --set pdbFile=1|",
         ["%jobs submit normal_modes --set pdbFile=1A8O.pdb"]),
        ("%jobs batch x --from fr|", ["%jobs batch x --from frame"]),
        ("%jobs batch x --from frame --name-column n|",
         ["%jobs batch x --from frame --name-column name"]),
        ("%jobs batch x --from frame --type normal_modes --map p|",
         ["%jobs batch x --from frame --type normal_modes --map pdbFile="]),
        ("%jobs batch x --from frame --map sequence=b|",
         ["%jobs batch x --from frame --map sequence=bases"]),
        ('%jobs batch x --from frame --map sequence="my|',
         ['%jobs batch x --from frame --map "sequence=my note"']),
        ("%jobs plot --from frame --x b|", ["%jobs plot --from frame --x bases"]),
        ("%jobs plot folds --y score|", ["%jobs plot folds --y score.mfe"]),
        ("%jobs view folds --sort |", ["%jobs view folds --sort mfe"]),
        ("%jobs submit peptide_build \\\n  --set seq|",
         ["%jobs submit peptide_build \\\n  --set sequence="]),
        ("%jobs connect s|", ["%jobs connect s"]),
        ("%jobs show nothing_like_it|", ["%jobs show nothing_like_it"]),
    ],
)  # fmt: skip
def test_tab_completions(
    shell: InteractiveShell, complete: Complete, cell: str, expected: list[str]
) -> None:
    shell.user_ns["frame"] = pd.DataFrame({"name": ["a"], "bases": ["ACGU"], "my note": [""]})
    assert complete(cell) == expected


@pytest.mark.parametrize(
    "cell",
    ["%jobs list # su|", "%jobsx su|", "%%jobs submit x\nseq|", "'%jobs su|", "x = 1\n%%jobs su|",
     "print('%jobs su|", "# %jobs su|"],
)  # fmt: skip
def test_no_completions_outside_of_magics(complete: Complete, cell: str) -> None:
    assert not [c for c in complete(cell) if c.endswith(("submit", "sequence="))]


def test_empty_line_offers_every_command(complete: Complete) -> None:
    from labext_magics.core.dispatch import magic_named

    names = [c.name for c in magic_named("jobs").commands]
    assert complete("%jobs |") == [f"%jobs {name}" for name in names]
    assert complete("%jobs watch |")[:3] == [
        f"%jobs watch {n}" for n in ("helix1", "helix2", "folds")
    ]


def test_paths(complete: Complete, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a b.pdb").touch()
    (tmp_path / ".hidden").touch()
    monkeypatch.chdir(tmp_path)
    assert complete("%jobs upload d|") == ["%jobs upload data/"]
    assert complete("%jobs upload data/|") == ['%jobs upload "data/a b.pdb"']
    assert complete("%jobs upload 'data/a|") == ["%jobs upload 'data/a b.pdb'"]
    assert complete("%jobs results x --to |") == ["%jobs results x --to data/"]
    unknown_user = "%jobs upload ~no-such-user/d"
    assert complete(f"{unknown_user}|") == [unknown_user]


def test_slow_names_are_offered_by_a_later_tab(complete: Complete, silent_jobs: Jobs) -> None:
    start = time.perf_counter()
    assert complete("%jobs watch h|") == ["%jobs watch h"]
    assert time.perf_counter() - start < 8  # a busy machine; the service takes 10
    assert LOOKUP_TIMEOUT < 0.3
    complete("%jobs watch h|")
    assert silent_jobs.lookups == 1
    silent_jobs.let.set()
    for _ in range(50):
        if complete("%jobs watch h|") == ["%jobs watch helix1", "%jobs watch helix2"]:
            break
    else:
        pytest.fail("the names never came")


def test_failing_service_is_not_queried_again_at_once(complete: Complete, jobs: Jobs) -> None:
    jobs.broken = True
    for _ in range(5):
        assert complete("%jobs watch h|") == ["%jobs watch h"]
    assert jobs.lookups == 1


def test_command_invalidates_cached_names(
    shell: InteractiveShell, complete: Complete, jobs: Jobs
) -> None:
    complete("%jobs watch h|")
    complete("%jobs watch h|")
    assert jobs.lookups == 1
    shell.run_cell("%jobs files --folders --out f")
    requests = jobs.lookups
    complete("%jobs watch h|")
    assert jobs.lookups == requests + 1


def test_unload_ends_the_threads(shell: InteractiveShell, complete: Complete, jobs: Jobs) -> None:
    complete("%jobs watch h|")
    shell.run_line_magic("unload_ext", "labext")
    assert not [t for t in threading.enumerate() if t.name.startswith("labext-names")]
    with provisionalcompleter():
        assert not [c for c in shell.Completer.completions("%jobs su", 8) if c.text == "submit"]
    shell.run_line_magic("load_ext", "labext")


def test_first_tab_after_connecting_offers_names(
    shell: InteractiveShell, jobs: Jobs, complete: Complete
) -> None:
    candidates.prefetch(shell, "jobs").join()
    requests = jobs.lookups
    assert complete("%jobs show h|") == ["%jobs show helix1", "%jobs show helix2"]
    assert complete("%jobs submit pep|") == ["%jobs submit peptide_build"]
    assert complete("%jobs run-pipeline h|") == ["%jobs run-pipeline helix-to-modes"]
    assert jobs.lookups == requests


@pytest.mark.usefixtures("silent_jobs")
def test_tab_after_connecting_does_not_wait_for_a_silent_service(
    shell: InteractiveShell, complete: Complete
) -> None:
    candidates.prefetch(shell, "jobs")
    started_at = time.monotonic()
    complete("%jobs show h|")
    assert time.monotonic() - started_at < 5  # the service answers after 10 s


def test_tab_offers_files_of_a_fetched_result(
    complete: Complete, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helix1" / "out").mkdir(parents=True)
    (tmp_path / "helix1" / "out" / "helix.pdb").write_text("")
    line = "%jobs results helix1 --file "
    assert complete(f"{line}o|") == [f"{line}out/helix.pdb"]


def test_tab_offers_files_of_an_unfetched_result(complete: Complete) -> None:
    line = "%jobs results helix2 --file "
    assert complete(f"{line}m|") == [f"{line}metrics.csv"]
