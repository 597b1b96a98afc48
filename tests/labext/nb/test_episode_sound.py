"""The file of an episode's sound has a bare name, whatever the episode and its file are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labext.nb.episode_generation import audio_file_name, episode_error
from labext.nb.records import EPISODE, Record


def episode(name: str | None, file: str | None = None) -> Record:
    return dict.fromkeys(EPISODE) | {"name": name, "audio_file": file}


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        ("Episode 1", None, "Episode 1.mp3"),
        ("Episode 1", "/data/x.ogg", "Episode 1.ogg"),
        ("Episode 1", "/data/x.tar/../..", "Episode 1.mp3"),
        ("../../etc/passwd", None, "etc-passwd.mp3"),
        ("C:\\a?", None, "C-a.mp3"),
        ("..", None, "episode.mp3"),
        (None, None, "episode.mp3"),
    ],
)
def test_its_name(name, file, said):
    assert audio_file_name(episode(name, file)) == said


@given(st.text(), st.none() | st.text())
@example("🧬" * 300, None)
@example("\ud800", None)
def test_any_name_is_a_bare_one_that_a_disk_takes(name, file):
    found = audio_file_name(episode(name, file))
    assert Path(found).name == found
    assert len(found.encode()) < 240  # beside it, `.NAME.part`
    assert found.isprintable() or not name.isprintable() or not (file or "").isprintable()


@pytest.mark.parametrize("name", ["Episode 1", 'The "best" talk', "-1", "it's", "{x}", "# 2"])
def test_the_line_of_its_next_step_names_it_however_it_is_called(name):
    from labext.actions import use_style
    from labext_magics.core.actions import MAGIC_STYLE
    from labext_magics.core.line import tokenize

    with use_style(MAGIC_STYLE):
        line = episode_error(name, "").next_step.split("`")[1]
    *before, last = tokenize(line).tokens
    assert [token.text for token in before] == ["%nb", "episodes", "retry"]
    assert last.text == name
