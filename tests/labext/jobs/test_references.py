"""Values of file parameters: uploaded files, outputs of jobs, or file content."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from labext.errors import InputError, NotFoundError
from labext.jobs import input_files
from labext.jobs.api import JobsApi
from labext.jobs.tools import Tool

TOOL = Tool(
    {
        "name": "fold",
        "settings": [{"name": "pdbFile", "type": "pdb"}, {"name": "sequence", "type": "string"}],
    }
)


class Stored:
    """A service with uploaded files by folder, and jobs by name."""

    def __init__(self, files: dict[str, list[str]], jobs: dict[str, str] | None = None) -> None:
        self._files = files
        self._jobs = jobs or {}
        self.listed: list[str | None] = []

    def files(self, folder: str | None = None, *, include_folders: bool = False) -> list[str]:
        self.listed.append(folder)
        if folder is not None:
            if folder not in self._files:
                raise NotFoundError("no such folder")
            return self._files[folder]
        folders = [f"{name}/" for name in self._files if name] if include_folders else []
        return [*folders, *self._files.get("", [])]

    def find(self, name: str) -> dict[str, Any] | None:
        state = self._jobs.get(name)
        return None if state is None else {"JobName": name, "Type": "fold", "JobStatus": state}


def resolve(service: Stored, *values: str) -> input_files.FileReferences:
    return input_files.resolve_references(
        cast(JobsApi, service), TOOL, [{"pdbFile": value, "sequence": "a/b"} for value in values]
    )


STORED = {
    "": ["top.pdb", "both.pdb", "no extension"],
    "one": ["both.pdb", "amb.pdb", "single.pdb"],
    "two": ["amb.pdb"],
    "job1": ["mine.pdb"],
}
JOBS = {"job1": "Complete", "job2": "Running", "two": "Running"}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("top.pdb", "top.pdb"),
        ("both.pdb", "both.pdb"),
        ("single.pdb", "one/single.pdb"),
        ("one/both.pdb", "one/both.pdb"),
        ("two/amb.pdb", "two/amb.pdb"),
        ("no extension", "no extension"),
    ],
)
def test_value_resolves_to_an_uploaded_file(value: str, path: str) -> None:
    references = resolve(Stored(STORED, JOBS), value)
    assert references.uploaded == {value: path}
    assert not references.faults


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("amb.pdb", "the name of 2 uploaded files; use one/amb.pdb or two/amb.pdb"),
        ("tops.pdb", 'no such file has been uploaded (did you mean "top.pdb"?)'),
        ("one/top.pdb", 'no job is called "one", and no file "top.pdb" has been uploaded to a'),
        ("nobody/x.pdb", 'no job is called "nobody"'),
        ("job2/x.pdb", "an output of job2, which is not complete (Running)"),
    ],
)
def test_missing_or_ambiguous_file_is_an_error(value: str, fault: str) -> None:
    references = resolve(Stored(STORED, JOBS), value)
    assert fault in references.faults[value]
    assert not references.uploaded
    with pytest.raises(InputError, match="The settings of fold are invalid"):
        input_files.check_references(
            cast(JobsApi, Stored(STORED, JOBS)), TOOL, [{"pdbFile": value}]
        )


@pytest.mark.parametrize("folder", ["sub", "./sub", "sub/deep", "{absolute}"])
def test_path_on_this_machine_is_an_error_with_its_upload(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    value = f"{folder.format(absolute=tmp_path)}/mine.pdb"
    Path(value).parent.mkdir(parents=True, exist_ok=True)
    Path(value).write_text("END\n")
    references = resolve(Stored(STORED, JOBS), value)
    assert (
        'a file on this machine; settings name uploaded files, here "mine.pdb"'
        in (references.faults[value])
    )
    assert references.next_step == f'Correct the name, or upload it: `jobs.upload("{value}")`.'


def test_job_output_takes_precedence_over_an_uploaded_file() -> None:
    references = resolve(Stored(STORED, JOBS), "job1/mine.pdb")
    assert references.outputs["job1/mine.pdb"] == {
        "JobName": "job1",
        "Type": "fold",
        "JobStatus": "Complete",
    }
    assert not references.uploaded


def test_file_content_is_not_looked_up() -> None:
    service = Stored(STORED)
    references = resolve(service, "ATOM 1\nEND\n", "A" * 300)
    assert references == input_files.FileReferences()
    assert service.listed == []


def test_file_in_an_unlisted_folder_is_left_to_the_service() -> None:
    many = Stored({f"f{n}": ["x.pdb"] if n == 30 else [] for n in range(31)})
    assert not resolve(many, "x.pdb").faults
    few = Stored({f"f{n}": [] for n in range(20)})
    assert "no such file" in resolve(few, "x.pdb").faults["x.pdb"]


def test_outputs_of_many_jobs_are_left_to_the_service() -> None:
    values = [f"job{n}/x.pdb" for n in range(11)]
    references = resolve(Stored({}), *values)
    assert references.outputs == dict.fromkeys(values)
    assert not references.faults


def test_next_step_names_missing_files() -> None:
    references = resolve(Stored(STORED), "gone.pdb", "lost.pdb")
    assert references.next_step == (
        'Correct the name, or upload it: `jobs.upload("gone.pdb")`, `jobs.upload("lost.pdb")`.'
    )
    assert resolve(Stored(STORED), "gone.pdb", "amb.pdb").next_step is None
