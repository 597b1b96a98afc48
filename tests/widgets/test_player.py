"""The player of an episode: its static view, its text, and the transfer of the audio."""

from __future__ import annotations

import base64
import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import wait_until
from widget_fakes import FakePlaceholder, ParsedHtml, Placeholders, words

import labext_widgets
from labext.errors import InputError, ServiceError
from labext_widgets.core.front_end import FrontEnd
from labext_widgets.podcasts import player
from labext_widgets.podcasts.player import MAX_TURNS, parse_episode

MP3 = b"ID3\x04 not quite an MP3"
TURNS = [
    {"speaker": "Host", "dialogue": "Why is glucose added?", "start": 0.0, "end": 2.5},
    {"speaker": "Guest", "dialogue": "It lowers cAMP.\nSo the promoter stays shut.", "start": 3.0},
]
RECORD = {"name": "Episode 1", "duration": 125.4, "transcript": {"transcript": TURNS}}


def many(count: int) -> dict[str, Any]:
    turns = [{"speaker": "Host", "dialogue": f"Turn {i}.", "start": i} for i in range(count)]
    return RECORD | {"transcript": turns}


class TestRecord:
    def test_title_duration_speakers_and_turns(self) -> None:
        of = parse_episode(RECORD)
        assert (of.title, of.duration, of.speakers) == ("Episode 1", 125.4, ["Host", "Guest"])
        assert [(turn.start, turn.end) for turn in of.turns] == [(0.0, 2.5), (3.0, None)]

    def test_transcript_without_times(self) -> None:
        bare = [{"speaker": "Host", "dialogue": "Line 1."}]
        of = parse_episode({"name": "Ep one", "transcript": bare})
        assert of.duration is None
        assert of.turns[0].start is None
        assert words(player.render_html(of)) == "Ep one Host · 1 turn Host Line 1."
        assert player.render_text(of) == "Ep one: Host · 1 turn\nHost: Line 1."

    def test_turn_shows_the_sources_of_its_facts(self) -> None:
        turn = {"speaker": "Ada", "dialogue": "Use 0.2 %.", "sources": ["<b>Bench</b>", 7]}
        episode = parse_episode({"name": "E", "transcript": [turn]})
        assert "&lt;b&gt;Bench&lt;/b&gt;</div>" in player.render_html(episode)
        assert player.render_text(episode).endswith("Ada: Use 0.2 %. [<b>Bench</b>]")

    def test_missing_duration_is_the_end_of_the_last_turn(self) -> None:
        assert parse_episode(RECORD | {"duration": None}).duration == 2.5

    @pytest.mark.parametrize(
        "transcript", [None, {}, [], "text", 7, {"transcript": None}, [1, "x"]]
    )
    def test_episode_without_transcript(self, transcript: Any) -> None:
        of = parse_episode({"name": "", "duration": 7, "transcript": transcript})
        assert words(player.render_html(of)) == "Untitled episode 0:07 · no transcript"
        assert player.render_text(of) == "Untitled episode: 0:07 · no transcript"

    @pytest.mark.parametrize("odd", [-1, math.nan, math.inf, "3", None, True, [], 10**400])
    def test_invalid_time_is_omitted(self, odd: Any) -> None:
        turn = {"speaker": "Host", "dialogue": "Yes.", "start": odd, "end": odd}
        of = parse_episode({"name": "E", "duration": odd, "transcript": [turn]})
        assert (of.duration, of.turns[0].start, of.turns[0].end) == (None, None, None)

    def test_turns_beyond_the_limit_are_counted(self) -> None:
        of = parse_episode(many(MAX_TURNS + 5))
        assert (len(of.turns), of.omitted) == (MAX_TURNS, 5)
        assert "10,005 turns" in player.facts_text(of)


class TestPicture:
    def test_transcript_with_times(self) -> None:
        assert words(player.render_html(parse_episode(RECORD), None, player.NEEDS_KERNEL)) == (
            "Episode 1 2:05 · Host · Guest · 2 turns The audio needs the kernel: run this cell "
            "again, or play it with --embed, which stores the audio in the notebook. "
            "Host 0:00 Why is glucose added? Guest 0:03 It lowers cAMP. So the promoter stays shut."
        )
        assert player.render_text(parse_episode(RECORD)) == (
            "Episode 1: 2:05 · Host · Guest · 2 turns\n"
            "[0:00] Host: Why is glucose added?\n"
            "[0:03] Guest: It lowers cAMP. So the promoter stays shut."
        )

    def test_right_to_left_names_do_not_move_the_numbers_beside_them(self) -> None:
        turns = [{"speaker": name, "dialogue": "Yes.", "start": 5} for name in ("מאיה", "אילן")]
        html = player.render_html(parse_episode({"name": "E", "transcript": turns}))
        facts = '<span dir="auto">מאיה</span> · <span dir="auto">אילן</span> · '
        assert f'{facts}<span dir="auto">2 turns</span>' in html
        assert html.count('"><span dir="auto">מאיה</span></span> <span') == 1

    def test_long_transcript_is_folded_and_truncated(self) -> None:
        most, rest = player.MAX_UNFOLDED_TURNS, "… and 8,005 more"
        assert "<details" not in player.render_html(parse_episode(many(most)))
        assert player.render_html(parse_episode(many(most + 1))).count("<details") == 1
        long = parse_episode(many(MAX_TURNS + 5))
        assert rest in player.render_html(long)
        assert len(player.render_html(long)) < 1_000_000
        assert player.render_text(long).splitlines()[-1] == rest

    def test_embedded_audio_is_in_the_html(self) -> None:
        audio = f'<audio controls src="data:audio/mpeg;base64,{base64.b64encode(MP3).decode()}"'
        assert player.render_html(parse_episode(RECORD), MP3).count(audio) == 1
        assert "<audio" not in player.render_html(parse_episode(RECORD))

    def test_transcript_text_is_escaped(self) -> None:
        key = "sk-proj-12345678901234567890"
        dialogue = f"<script>alert(1)</script> </div> &amp; \u202egnp $1$ {key}"
        hostile_turns = [{"speaker": "<b>H\n</b>", "dialogue": dialogue, "start": 1}]
        of = parse_episode({"name": '"><img src=x>', "transcript": hostile_turns})
        html, text = player.render_html(of), player.render_text(of)
        assert ParsedHtml(html).tags == {"div", "span"}
        assert "<script>alert(1)</script> </div> &amp; gnp $1$" in words(html)
        for drawn in (html, text):
            assert key not in drawn
            assert "\u202e" not in drawn
        assert len(text.splitlines()) == 2

    @given(
        st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "speaker": st.text(max_size=9) | st.none() | st.integers(),
                    "dialogue": st.text(max_size=40) | st.none() | st.lists(st.none(), max_size=2),
                    "start": st.floats() | st.none() | st.text(max_size=3),
                    "end": st.floats() | st.none(),
                },
            ),
            max_size=20,
        ),
        st.text(max_size=20),
    )
    def test_any_record_renders_as_sanitizer_safe_html(self, transcript: Any, name: str) -> None:
        of = parse_episode({"name": name, "transcript": transcript})
        html = player.render_html(of, MP3, player.NEEDS_KERNEL)
        parsed = ParsedHtml(html)
        assert parsed.tags <= {"div", "span", "details", "summary", "audio"}
        assert parsed.attribute_names <= {"style", "dir", "controls", "src"}
        assert html.count("<div") == html.count("</div>")
        assert player.render_text(of).count("\n") == len(of.turns)


@pytest.fixture
def placeholders(placeholders: Placeholders, set_front_end: Any) -> Placeholders:
    """The placeholders of an interactive notebook."""
    set_front_end(FrontEnd.INTERACTIVE, player)
    return placeholders


def exchange(output: FakePlaceholder, **content: Any) -> list[tuple[Any, list[bytes]]]:
    """Send a message as the browser does, wait for the audio threads, and return the replies."""
    output.message(**content)
    wait_until(lambda: not [t for t in threading.enumerate() if t.name.startswith("labext-audio")])
    return output.sent


class TestPlayer:
    def test_live_view_gets_the_episode(self, placeholders: Placeholders) -> None:
        labext_widgets.show_player(RECORD, lambda: MP3)
        assert placeholders[0].view == "player"
        assert placeholders[0].state == {
            "title": "Episode 1",
            "facts": "2:05 · 2 turns",
            "duration": 125.4,
            "speakers": ["Host", "Guest"],
            "turns": [
                ["Host", 0, "Why is glucose added?", 0.0, 2.5, ""],
                ["Guest", 1, "It lowers cAMP.\nSo the promoter stays shut.", 3.0, None, ""],
            ],
            "omitted": 0,
        }

    def test_audio_is_sent_on_request_to_the_requesting_player(
        self, placeholders: Placeholders
    ) -> None:
        requests = []
        labext_widgets.show_player(RECORD, lambda: requests.append(1) or MP3)
        assert not requests
        assert exchange(placeholders[0], do="audio", player="a7") == [
            ({"loading": "a7"}, []),
            ({"audio": "a7"}, [MP3]),
        ]
        assert len(requests) == 1

    def test_unknown_messages_are_ignored(self, placeholders: Placeholders) -> None:
        labext_widgets.show_player(RECORD, lambda: MP3)
        placeholders[0].receive("sound", [])
        assert exchange(placeholders[0], do="dance") == []

    @pytest.mark.parametrize(
        ("error", "why"),
        [
            (ServiceError("There is no sound.", "Retry it."), "There is no sound. Retry it."),
            (KeyError("x"), "KeyError: 'x'"),
        ],
    )
    def test_audio_error_is_sent_to_the_player(
        self, placeholders: Placeholders, error: Exception, why: str
    ) -> None:
        def fails() -> bytes:
            raise error

        labext_widgets.show_player(RECORD, fails)
        reply = ({"failed": "a7", "reason": why}, [])
        assert exchange(placeholders[0], do="audio", player="a7")[1] == reply

    def test_audio_above_the_size_limit_is_refused(
        self, placeholders: Placeholders, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(player, "MAX_AUDIO_SIZE", 3)
        labext_widgets.show_player(RECORD, lambda: MP3)
        assert "too large" in exchange(placeholders[0], do="audio", player="a7")[1][0]["reason"]
        with pytest.raises(InputError, match="Play it without --embed"):
            labext_widgets.show_player(RECORD, lambda: MP3, embed=True)

    def test_embedded_audio_is_fetched_at_once(self, placeholders: Placeholders) -> None:
        labext_widgets.show_player(RECORD, lambda: MP3, embed=True)
        assert base64.b64encode(MP3).decode() in placeholders[0].html
        assert "needs the kernel" not in placeholders[0].html

        def fails() -> bytes:
            raise ServiceError("There is no sound.", "Retry it.")

        with pytest.raises(ServiceError):
            labext_widgets.show_player(RECORD, fails, embed=True)
        assert len(placeholders) == 1

    def test_terminal_prints_the_transcript(
        self, set_front_end: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        set_front_end(FrontEnd.TERMINAL, player)
        labext_widgets.show_player(RECORD, lambda: MP3)
        assert capsys.readouterr().out == f"{player.render_text(parse_episode(RECORD))}\n"

    def test_executed_notebook_keeps_the_picture(
        self, set_front_end: Any, record_displays: Any
    ) -> None:
        displayed = record_displays(player)
        set_front_end(FrontEnd.EXECUTED, player)
        labext_widgets.show_player(RECORD, lambda: MP3, embed=True)
        ((html, text),) = displayed
        assert "<audio controls" in html
        assert text == player.render_text(parse_episode(RECORD))
