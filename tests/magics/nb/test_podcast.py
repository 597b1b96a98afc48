"""`%nb podcast`, `episodes` and `play`: generation, playback and failures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import soundfile
from labext_test_shell import Run, check_refused
from openai_server import OpenAI, respond_with, serving

import labext
from labext.errors import (
    ConflictError,
    InputError,
    JobFailedError,
    LabextError,
    NotFoundError,
    SetupError,
    WatchInterrupted,
)
from labext.nb import NotebookClient
from labext.nb.podcasts import Podcasts
from labext_widgets.core.front_end import FrontEnd

pytestmark = pytest.mark.contract


TEXT = """%%nb source --title Digest
Plasmid pBAD30 has 4,923 bases and is circular. EcoRI cuts pBAD30 once, within the multiple cloning
site. A circle that is cut in three places falls into three fragments. Fragments below 100 bases are
not seen on a gel of 1 % agarose, because they hold too little dye."""
LINE = "%nb podcast --name 'Episode 1' --profile tiny"


@pytest.fixture
def about(run: Run) -> Iterator[NotebookClient]:
    """A notebook with a source in use, and a profile of one short part."""
    run("%nb use Talked --create")
    run(TEXT)
    run("%nb profiles new tiny --speakers host,guest --segments 1")
    with labext.connect("nb") as nb:
        yield nb
        for episode in list(nb.podcasts.iter()):
            nb.podcasts.delete(episode["id"])
    run("%nb delete Talked --yes --delete-sources\n%nb profiles delete tiny --yes")


@pytest.fixture
def provider(about: NotebookClient) -> Iterator[OpenAI]:
    """A speech server with the voice model of the speaker profile `cloud`."""
    with serving() as server:
        about.credentials.create("openai_compatible", "cloud", "k-of-the-tests", server.base_url)
        about.credentials.register_models("cloud", [("tts-1", "tts")])
        about.speaker_profiles.create("cloud", [{"name": "Ada"}], voice_model="tts-1")
        yield server
    about.speaker_profiles.delete("cloud")
    about.credentials.delete("cloud")


def test_episode_is_created_once_and_played(about, run, printed, refused, tmp_path, monkeypatch):
    episode = run(LINE)
    (identifier,) = episode["id"]
    assert (episode["name"].item(), episode["job_status"].item()) == ("Episode 1", "completed")
    assert episode["duration"].item() > 3
    assert list(run("%nb episodes")["id"]) == list(run("%nb episodes --notebook Talked")["id"])

    turns = run("%nb episodes show 'Episode 1' --transcript")
    assert set(turns["speaker"]) == {"Alex", "Robin"}
    assert turns["start"].is_monotonic_increasing
    assert turns["end"].iloc[-1] <= episode["duration"].item()
    played = printed("%nb play 'Episode 1'")
    assert all(line in played for line in turns["dialogue"])
    assert '`%nb episodes download "Episode 1"`' in played

    assert "out.mp3" in printed("%nb episodes download 'Episode 1' --to out.mp3")
    assert soundfile.info(tmp_path / "out.mp3").duration == pytest.approx(
        episode["duration"].item(), abs=1
    )
    assert "new/Episode 1.mp3" in printed("%nb episodes download 'Episode 1' --to new/")
    assert "Episode 1.mp3" in printed("%nb episodes download 'Episode 1'")
    assert (tmp_path / "Episode 1.mp3").stat().st_size == episode["audio_bytes"].item()

    assert "already exists and was kept" in printed(f"{LINE} --speakers host,guest")
    displayed: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr("labext_widgets.core.front_end.front_end", lambda: FrontEnd.INTERACTIVE)
        patch.setattr("labext_widgets.show_player", lambda *arguments: displayed.append(arguments))
        run(LINE)
    ((record, sound),) = displayed
    assert [turn["dialogue"] for turn in record["transcript"]["transcript"]] == [*turns["dialogue"]]
    assert len(sound()) == episode["audio_bytes"].item()
    for other, how in {
        f"{LINE} --speakers guest,host": "with other speakers",
        f"{LINE} --briefing Briefly.": "with another briefing",
        LINE.replace("tiny", "lecture") + " --speakers host,guest": "with another profile",
    }.items():
        error = refused(other, ConflictError)
        assert how in error.message
    assert list(run("%nb episodes")["id"]) == [identifier]

    refused("%nb episodes retry 'Episode 1'", InputError)
    assert "Add --yes" in refused("%nb episodes delete 'Episode 1'").next_step
    assert "the episode Episode 1, " in printed("%nb episodes delete 'Episode 1' --preview")
    assert "Deleted " in printed("%nb episodes delete 'Episode 1' --yes")
    assert run("%nb episodes").empty


def test_background_podcast_and_deleted_notebook(about, run, printed, refused):
    assert run(f"{LINE} --background") is None
    assert run("%nb episodes wait 'Episode 1'")["job_status"].item() == "completed"
    run("%nb delete Talked --yes --delete-sources\n%nb use Talked --create")
    run(TEXT)
    error = refused(LINE, ConflictError)
    assert "about another notebook" in error.message
    assert len(run("%nb episodes")) == 1
    assert "does not report" not in printed("%nb episodes --notebook Talked")
    nothing = refused("%nb export talk.md --only transcripts", InputError)
    assert "has nothing to export" in nothing.message


def test_interrupt_ends_only_the_watch(about, run, printed, refused, monkeypatch):
    def interrupted(self: Podcasts, name: str) -> Iterator[Any]:
        yield next(watch(self, name))
        raise KeyboardInterrupt

    watch = Podcasts.watch
    with monkeypatch.context() as patched:
        patched.setattr(Podcasts, "watch", interrupted)
        error = refused(LINE, WatchInterrupted)
    assert "continues" in error.message
    assert '`%nb episodes wait "Episode 1"`' in error.next_step
    assert run("%nb episodes wait 'Episode 1'")["job_status"].item() == "completed"
    assert len(run("%nb episodes")) == 1


def test_generation_failed_by_the_provider_is_retried(about, run, refused, provider, capsys):
    broken = respond_with(500, {"error": {"message": "The voices are asleep."}})
    provider.faults = [None, *[broken] * 20]
    error = refused(f"{LINE} --speakers cloud", JobFailedError)
    assert "The voices are asleep" in error.message
    printed = capsys.readouterr().out
    assert "Episode 1: Failed" in printed
    assert printed.count("The voices are asleep") == 1, "the reason is in the error, once"
    assert '`%nb episodes retry "Episode 1"`' in error.next_step
    failed = run("%nb episodes show 'Episode 1'")
    assert failed["job_status"].item() == "failed"
    assert failed["audio_bytes"].isna().all()
    for line in (
        f"{LINE} --speakers cloud",
        "%nb episodes wait 'Episode 1'",
        "%nb play 'Episode 1'",
        "%nb episodes download 'Episode 1'",
    ):
        again = refused(line, JobFailedError)
        assert "The voices are asleep" in again.message

    provider.faults = []
    assert run("%nb episodes retry 'Episode 1'")["job_status"].item() == "completed"
    assert provider.speeches()[-1].headers["authorization"] == "Bearer k-of-the-tests"


def test_impossible_request_is_refused_before_any_work(about, run, refused):
    lines: list[tuple[str, type[LabextError], str]] = [
        ("%nb podcast --profile tiny", InputError, "needs --name"),
        ("%nb podcast --name X", InputError, "needs --profile"),
        ("%nb podcast --name X --profile tiyn", NotFoundError, 'did you mean "tiny"'),
        ("%nb podcast --name X --profile tiny --speakers hots", NotFoundError, '"host"'),
        ("%nb podcast --name X --profile tiny --notebook No", NotFoundError, '"No"'),
        ("%nb podcast --name X --profile tiny --wait --background", InputError, "Keep one"),
        ("%nb play Nothing", NotFoundError, 'no episode "Nothing"'),
        ("%nb episodes show Nothing", NotFoundError, "`%nb episodes`"),
        ("%nb episodes delete Nothing --yes", NotFoundError, 'no episode "Nothing"'),
    ]
    run("%%nb profiles new crowd\n- {name: Ann}\n- {name: Ben}\n- {name: Cleo}")
    lines.append((f"{LINE} --speakers crowd,host,guest", InputError, "at most 4"))
    run("%nb use Bare --create")
    lines.append((f"{LINE} --notebook Bare", InputError, "has no text"))
    run("%nb use Talked")
    check_refused(refused, lines)
    before = about.models.defaults()
    for slot in ("podcast", "text_to_speech"):
        about.models.set_defaults({slot: None})
        try:
            unset = refused(LINE)
        finally:
            about.models.set_defaults({slot: before[slot]["id"]})
        assert isinstance(unset, SetupError)
        assert "%nb models defaults" in unset.next_step
    assert run("%nb episodes").empty
    run("%nb delete Bare --yes\n%nb profiles delete crowd --yes")
