"""One journey of `%nb` lines on Open Notebook and on the local service: the same frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from local_http import running
from open_notebook import serving

from labext import cli
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

JOURNEY = """
status            %nb status
begun             %nb use Journey --create --description "pBAD30 notes"
files             %nb add page.md notes.md --topic induction --wait
page              %nb add {page} --wait
dead page         %nb add http://127.0.0.1:9/nothing --wait
text              %%nb source --title "Induction notes"|{text}
sources           %nb sources
kept              %nb add page.md notes.md
status of one     %nb sources status "Induction notes"
shown             %nb sources show "Induction notes"
waited            %nb sources wait "Induction notes" notes.md
edited            %nb sources edit notes.md --title "Repression" --topic "glucose"
insights          %nb sources insights "Induction notes"
fetched           %nb sources download Repression --to back.md
dead page goes    %nb sources delete http://127.0.0.1:9/nothing --yes
note              %%nb note --title Plan|Check leaky expression without arabinose.
notes             %nb notes
note shown        %nb notes show Plan
found             %nb search arabinose --limit 3
by meaning        %nb search "glucose represses the promoter" --type vector --limit 3
answer            %nb ask "Why is glucose added?"
answer at once    %nb ask "Why is glucose added?" --all --simple
reply             %%nb chat|What should I vary first?
sessions          %nb sessions
session shown     %nb sessions show "What should I vary first?"
new transform     %nb transformations new terse --prompt "Say it shortly."
transformations   %nb transformations
transformed       %nb transform terse --source "Induction notes" --save Shortly
models            %nb models
some models       %nb models --type llm
defaults          %nb models defaults
slot              %nb models defaults --set transformation={llm}
providers         %nb models providers
credential        %nb credentials new ollama --name shelf --base-url http://127.0.0.1:9/v1
credentials       %nb credentials
credential goes   %nb credentials delete shelf --yes
speaker           %nb profiles new pair --speaker Ada {voice}
profile           %nb profiles new brief --speakers pair --segments 3 {writing}
profiles          %nb profiles
linked            %nb use Other --create
link              %nb sources link "Induction notes" --notebook Other
linked again      %nb sources link "Induction notes" --notebook Other
of the other      %nb sources --notebook Other
podcast           %nb podcast --name "Episode 1" --profile brief
same podcast      %nb podcast --name "Episode 1" --profile brief
episodes          %nb episodes
turns             %nb episodes show "Episode 1" --transcript
played            %nb play "Episode 1"
listened          %nb episodes download "Episode 1" --to {llm}/
archived          %nb notebooks archive Other
notebooks         %nb notebooks --archived no
without yes       %nb delete Journey
would go          %nb delete Journey --preview
episode goes      %nb episodes delete "Episode 1" --yes
profiles go       %nb profiles delete brief --yes
speaker goes      %nb profiles delete pair --yes
transform goes    %nb transformations delete terse --yes
gone              %nb delete Journey --yes --delete-sources
other goes        %nb delete Other --yes --delete-sources
nothing           %nb episodes
"""
TEXT = "Cells were induced with 0.2 % arabinose. Glucose represses the promoter of pBAD30."
STEPS = {line[:18].strip(): line[18:].replace("|", "\n") for line in JOURNEY.strip().split("\n")}


@dataclass
class Travelled:
    """The results of a journey: for each line its value, or the kind of its error."""

    results: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def frames(self) -> dict[str, pd.DataFrame]:
        return {name: r for name, r in self.results.items() if isinstance(r, pd.DataFrame)}


@pytest.fixture
def page(tmp_path: Path) -> Iterator[str]:
    """The address of a page on loopback; page.md and notes.md are in the folder."""
    (tmp_path / "page.html").write_text(f"<title>Induction</title><p>{TEXT}</p>")
    (tmp_path / "page.md").write_text(f"# Induction\n\n{TEXT}")
    (tmp_path / "notes.md").write_text(f"Repression is by cyclic AMP. {TEXT}")
    folder = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with running(ThreadingHTTPServer(("127.0.0.1", 0), folder)) as url:
        yield f"{url}/page.html"


def travel(shell: InteractiveShell, answers: Mapping[str, str]) -> Travelled:
    visited = Travelled()
    for name, line in STEPS.items():
        done = shell.run_cell(line.format(**answers))
        if done.error_in_exec is not None:
            visited.refused[name] = type(done.error_in_exec).__name__
        visited.results[name] = done.result
    return visited


ONLY_HERE = {
    "transcript": "it reports whether a passage is recognized speech",
    "stage": "Open Notebook reports no stages",
    "passages": "its list of sources has no number of passages",
    "size": "it reports no file sizes",
    "insights_count": "it counts insights in its list of sources alone",
    "notebooks": "it reports the notebooks only of a single source",
    "completed_at": "it reports only when processing began",
    "changed_at": "it reports only when processing began",
    "notebook_id": "it does not return the notebook of a note or an episode",
    "model": "it reports neither the model nor the time of a message",
    "created_at": "messages and profiles have no times",
    "updated_at": "profiles and episodes have no time of a change",
    "description": "a missing description is null, not empty",
    "job_id": "an episode does not name its job",
    "duration": "it measures no sound",
    "audio_bytes": "it measures no sound",
    "start": "its transcript has no times",
    "end": "its transcript has no times",
}
"""Columns that have values only on the local service, with the reason."""

ONLY_THERE = {"credential": "the local service's models need none"}

GIVEN = {
    *("Journey", "Other", "notes.md", "Repression", "Induction notes", "Plan", "Shortly", "terse"),
    *("What should I vary first?", "shelf", "pair", "brief", "Episode 1"),
}
"""The names of the objects that the journey creates."""

VOICE = "--voice nova --voice-model fake-tts"
WRITING = "--outline-model fake-chat --transcript-model fake-chat"


def names(frame: pd.DataFrame) -> set[str]:
    """Return the names in a frame of objects that the journey created."""
    return {name for column in ("name", "title") if column in frame for name in frame[column]} & (
        GIVEN
    )


def dtypes(frame: pd.DataFrame) -> list[tuple[str, str]]:
    return [(str(column), str(dtype)) for column, dtype in frame.dtypes.items()]


def empty(frame: pd.DataFrame) -> set[str]:
    return {str(column) for column in frame if frame[column].isna().all()}


def test_same_lines_return_the_same_frames(shell, nb_box, page, monkeypatch):
    monkeypatch.setattr("labext.progress.interval", lambda _: 0.1)
    monkeypatch.setattr("labext.nb.polling.interval", lambda _: 0.1)
    assert not cli.main(["sandbox", "nb", "fetch", "allow-private", *_at(nb_box)])
    choices = {"page": page, "text": TEXT, "llm": "extractive", "voice": "", "writing": ""}
    first_run = travel(shell, choices)
    assert not cli.main(["sandbox", "nb", "fetch", "deny-private", *_at(nb_box)])
    with serving() as server:
        shell.run_cell(f"%nb connect {server.base_url}").raise_error()
        for profile in server.state.speaker_profiles.values():
            profile["voice_model"] = next(iter(server.state.models))  # also of unused profiles
        second_run = travel(
            shell, choices | {"llm": "fake-chat", "voice": VOICE, "writing": WRITING}
        )
    assert not server.faults
    assert not server.state.sources
    assert not server.state.notebooks

    expected = {"dead page": "JobFailedError", "without yes": "InputError"}
    assert first_run.refused == second_run.refused == expected
    kinds = {name: type(value) for name, value in first_run.results.items()}
    assert {name: type(value) for name, value in second_run.results.items()} == kinds
    ours, theirs = first_run.frames(), second_run.frames()
    for name, frame in ours.items():
        assert dtypes(theirs[name]) == dtypes(frame), name
        if "similarity" not in frame:  # each search has another order
            assert names(theirs[name]) == names(frame), name
    filled = [name for name in ours if len(ours[name]) and len(theirs[name])]
    both = [(empty(ours[name]), empty(theirs[name])) for name in filled]
    assert set().union(*(second - first for first, second in both)) == set(ONLY_HERE)
    assert set().union(*(first - second for first, second in both)) == set(ONLY_THERE)


def _at(box: Sandbox) -> list[str]:
    return ["--data-dir", str(box.data_dir)]
