"""A podcast in JupyterLab: watched, retried, played, by keyboard, and reopened."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import NotebookPage
from own_server import Server
from script import Script
from waiting import wait_until

pytestmark = pytest.mark.browser

Pages = Callable[..., NotebookPage]

FOLLOW = """import base64, json, pathlib
import labext_widgets
from follow import follow
def retry():
    state = json.loads(pathlib.Path({path!r}).read_text())
    draft = pathlib.Path({path!r} + ".draft")
    draft.write_text(json.dumps(state | dict(phase="In Queue", stage="", outcome=None, reason="")))
    draft.replace({path!r})
    return follow({path!r})
last = labext_widgets.follow_podcast(
    follow({path!r}), again='%nb episodes wait "Episode 1"', retry=retry,
    result=lambda: ({record!r}, lambda: base64.b64decode({sound!r})),
)
"""
PLAY = """import base64, pathlib, labext_widgets
sound = base64.b64decode({sound!r})
requests = []
def fetch():
    requests.append(1)
    return sound
record = {record!r}
labext_widgets.show_player(record, fetch, embed={embed})
"""
HAS_EDGE = """(button) => {
  const { borderTopWidth, borderTopColor, backgroundColor } = getComputedStyle(button);
  return borderTopWidth !== "0px" && borderTopColor !== backgroundColor;
}"""
COUNT = "print('requests', len(requests))"
DIALOGUE = [
    "Welcome to the bench. Today we look at how arabinose switches a promoter on.",
    "And at why glucose keeps it shut, even if there is arabinose: no cAMP, no CRP.",
    "So the uninduced culture gets 0.2 % glucose. That costs nothing and saves $5 to $10 of yield.",
    "Is there <b>leak</b> without it? <img src=x onerror=alert(1)>",
    "There is: two percent of the full expression, in our plates.",
    "מה עם הפלסמיד? The plasmid of the day is pBAD30.",
    "Which is circular, has 4,923 base pairs, and a low copy number.",
    "Then the next step is to vary arabinose in five steps, with three replicates each.",
]
LENGTH = 1.0  # seconds per turn


def record(**more: Any) -> dict[str, Any]:
    turns = [
        {
            "speaker": ("Maya, the host", "Dr. Ilan Roth")[i % 2],
            "dialogue": line,
            "start": i * LENGTH,
            "end": (i + 1) * LENGTH - 0.2,
        }
        for i, line in enumerate(DIALOGUE * 3)
    ]
    episode = {
        "id": "episode:1",
        "name": "Episode 1: arabinose & <glucose>, or when a promoter stays shut",
        "duration": len(turns) * LENGTH,
        "transcript": {"transcript": turns},
    }
    return episode | more


@pytest.fixture(scope="module")
def mp3() -> str:
    """A tone of the record's duration, as MP3 in base64."""
    import numpy
    import soundfile

    t = numpy.arange(int(16000 * len(DIALOGUE) * 3 * LENGTH)) / 16000
    written = io.BytesIO()
    soundfile.write(written, 0.1 * numpy.sin(1400 * t), 16000, format="MP3")
    return base64.b64encode(written.getvalue()).decode()


def spoken(nb: NotebookPage, cell: int = 0) -> int:
    """Return the number of the marked turn; -1 for none."""
    items = nb.output(cell).locator(".labext-turn")
    marked: list[int] = items.evaluate_all(
        "(all) => all.flatMap((e, i) => e.getAttribute('aria-current') ? [i] : [])"
    )
    assert len(marked) <= 1
    return marked[0] if marked else -1


def test_player(page_of: Pages, mp3: str, server: Server) -> None:
    code = PLAY.format(sound=mp3, record=record(), embed=False)
    nb = page_of().write(code, COUNT, "labext_widgets.show_player(record, fetch)").open()
    nb.page.set_viewport_size({"width": 1100, "height": 900})
    nb.run(0)
    nb.run(2)
    live = nb.output().locator(".labext-live")
    live.locator(".labext-turn").nth(23).wait_for(state="attached")
    nb.run(1)
    nb.wait_for_text("requests 0", cell=1)
    assert spoken(nb) == -1

    # It plays, and the mark follows; a click on a turn seeks to it.
    live.get_by_role("button", name="Play", exact=True).click()
    wait_until(lambda: spoken(nb) == 0)
    wait_until(lambda: spoken(nb) == 1)
    live.locator(".labext-dialogue").nth(3).click()
    wait_until(lambda: spoken(nb) == 3)
    play = live.locator(".labext-play")
    for state in ("Play", "Pause"):
        nb.page.keyboard.press("k")  # in the notebook, this key selects the cell above
        wait_until(lambda state=state: play.get_attribute("aria-label") == state)
    play.click()  # on a slow machine the next cell may take as long as the audio
    nb.run(1)
    nb.wait_for_text("requests 1", cell=1)
    live.locator(".labext-dialogue").nth(0).click()

    # After the user scrolls, the transcript does not follow until the button is clicked.
    turns = live.locator(".labext-turns")
    follow = live.get_by_role("button", name="Scroll to the current turn and follow playback")

    def scrolled() -> bool:
        turns.hover()  # JupyterLab may still be moving the cell away from under the mouse
        nb.page.mouse.wheel(0, 3000)
        return follow.is_visible()

    wait_until(scrolled)
    end = "e => e.scrollTop + e.clientHeight >= e.scrollHeight - 1"
    wait_until(lambda: turns.evaluate(end))
    before = turns.evaluate("e => e.scrollTop")
    was = spoken(nb)
    wait_until(lambda: spoken(nb) > was)
    assert turns.evaluate("e => e.scrollTop") == before
    follow.click()
    wait_until(lambda: turns.evaluate("e => e.scrollTop") < before)
    assert live.evaluate("e => e.contains(document.activeElement)"), "the button is hidden now"

    # One plays at a time.
    other = nb.output(2).locator(".labext-live")
    other.get_by_role("button", name="Play", exact=True).click()
    wait_until(lambda: spoken(nb, 2) == 0)
    assert live.get_by_role("button", name="Play", exact=True).count() == 1
    other.get_by_role("button", name="Pause", exact=True).click()

    by_keyboard_alone(nb)
    fits_a_narrow_page(nb)
    nb.page.emulate_media(forced_colors="active")
    edges = "(all) => all.map((e) => getComputedStyle(e).borderLeftColor)"
    colors = live.locator(".labext-turn").evaluate_all(edges)
    assert colors.count(colors[spoken(nb)]) == 1
    assert live.locator(".labext-play").evaluate(HAS_EDGE), "a button looks like one"
    nb.idle()
    without_a_kernel(nb, page_of, server)


def by_keyboard_alone(nb: NotebookPage) -> None:
    live, keys = nb.output().locator(".labext-live"), nb.page.keyboard
    play = live.locator(".labext-play")
    slider = live.get_by_role("slider", name="Position")
    at = lambda: str(slider.get_attribute("aria-valuetext")).partition(" ")[0]  # noqa: E731
    play.focus()
    keys.press("Home")
    wait_until(lambda: at() == "0:00")
    keys.press("ArrowRight")
    wait_until(lambda: at() == "0:05" and spoken(nb) == 5)
    keys.press("n")
    wait_until(lambda: spoken(nb) == 6)
    keys.press("ArrowUp")
    wait_until(lambda: spoken(nb) == 5)
    keys.press("ArrowLeft")
    wait_until(lambda: at() == "0:00")
    for key, state in (("Space", "Pause"), ("k", "Play")):
        keys.press(key)
        wait_until(lambda state=state: play.get_attribute("aria-label") == state)
    keys.press("End")
    wait_until(lambda: at() == "0:24")
    keys.press("Tab")
    assert slider.evaluate("e => e === document.activeElement")
    for _ in range(2):
        keys.press("Tab")
    name = "e => document.activeElement.getAttribute('aria-label')"
    assert live.evaluate(name).startswith("Play from 0:23, "), "one turn is reached by Tab"
    keys.press("ArrowUp")
    wait_until(lambda: spoken(nb) == 22)
    assert live.evaluate(name).startswith("Play from 0:22, "), "the focus moves too"
    keys.press("Enter")
    wait_until(lambda: play.get_attribute("aria-label") == "Pause")
    keys.press("Space")
    wait_until(lambda: play.get_attribute("aria-label") == "Play")
    for control in live.locator("button, input, select").all():
        assert control.get_attribute("aria-label") or control.inner_text()
    keys.press("Escape")
    assert not live.evaluate("e => e.contains(document.activeElement)")


def fits_a_narrow_page(nb: NotebookPage) -> None:
    live = nb.output().locator(".labext-live")
    side, turns = live.locator(".labext-side"), live.locator(".labext-transcript")
    assert turns.bounding_box()["x"] > side.bounding_box()["x"] + 100
    nb.page.set_viewport_size({"width": 690, "height": 1000})
    wait_until(lambda: live.bounding_box()["width"] < 360)
    assert turns.bounding_box()["y"] > side.bounding_box()["y"] + 100
    assert live.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    nb.page.set_viewport_size({"width": 1000, "height": 800})


def without_a_kernel(nb: NotebookPage, page_of: Pages, server: Server) -> None:
    """After the kernel has ended, the static view shows the transcript and why audio is missing."""
    assert "data:audio" not in nb.wait_for_saved_html("Transcript")
    nb.output().locator(".labext-play").focus()
    nb.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    nb.wait_for_text("The audio needs the kernel")
    nb.wait_until_removed(nb.output().locator(".labext-live"))
    assert nb.panel.evaluate("e => e.contains(document.activeElement)"), "keys work on"


def test_turn_clicked_before_the_audio_is_loaded_is_played(page_of: Pages, mp3: str) -> None:
    nb = page_of().write(PLAY.format(sound=mp3, record=record(), embed=False)).open()
    nb.run(0)
    nb.output().locator(".labext-live .labext-dialogue").nth(5).click()
    wait_until(lambda: spoken(nb) == 5)
    wait_until(lambda: spoken(nb) != 5)
    assert spoken(nb) > 5
    assert nb.errors == []


def test_embedded_audio_plays_without_a_kernel(page_of: Pages, mp3: str, server: Server) -> None:
    nb = page_of().write(PLAY.format(sound=mp3, record=record(), embed=True), COUNT).open()
    nb.run(0)
    live = nb.output().locator(".labext-live")
    live.get_by_role("button", name="Play", exact=True).click()
    wait_until(lambda: spoken(nb) == 0)
    nb.run(1)
    nb.wait_for_text("requests 1", cell=1)
    nb.wait_for_saved_html("data:audio/mpeg;base64,")
    nb.close()
    server.stop_kernels()
    dead = page_of(nb.remove_trust()).open_without_kernel()
    audio = dead.output().locator("audio")
    audio.wait_for()
    played = """async (e) => {
      e.muted = true;
      await e.play();
      e.currentTime = 20;
      await new Promise((done) => e.addEventListener("seeked", done, { once: true }));
      return [e.duration, e.currentTime];
    }"""
    duration, at = audio.evaluate(played)
    assert 23.9 < duration < 24.5
    assert at >= 20
    fold = dead.output().locator("details")
    fold.locator("summary").click()
    assert "Is there <b>leak</b> without it? <img src=x onerror=alert(1)>" in fold.inner_text()
    assert fold.locator("img, b, mjx-container").count() == 0


def snapshot(stage: str, **more: Any) -> dict[str, Any]:
    return {"subject": "Episode 1", "kind": "podcast", "phase": "Running", "stage": stage} | more


def test_podcast_is_watched_and_retried(page_of: Pages, script: Script, mp3: str) -> None:
    script.set_snapshot(snapshot("3 of 4: speech, turn 12 of 40"))
    nb = page_of().write(FOLLOW.format(path=str(script.path), record=record(), sound=mp3)).open()
    nb.run(0)
    nb.page.wait_for_selector(".labext-live .labext-bar")
    nb.wait_for_bar_text("Stage 3 of 4: speech, turn 12 of 40")
    reason = "The speech server of <b>lab</b> answered 502 in turn 12 of 40."
    script.set_snapshot(snapshot("", phase="Failed", outcome="failed", reason=reason, elapsed=61.0))
    nb.wait_for_text(reason)
    nb.wait_for_text("Failed in speech, turn 12 of 40")
    nb.idle()
    nb.output().get_by_role("button", name="Generate the podcast Episode 1 again").press("Enter")
    nb.wait_for_text("In Queue")
    stop = nb.output().get_by_role("button", name="Stop watching")
    stop.wait_for()
    assert stop.evaluate("e => e === document.activeElement"), "the focus stays in the view"
    script.set_snapshot(snapshot("", unchanged=95.0))
    nb.wait_for_text("No progress for 1:35.")
    script.set_snapshot(snapshot("", phase="Complete", outcome="complete", elapsed=83.0))
    nb.output().get_by_role("button", name="Play", exact=True).click()
    wait_until(lambda: spoken(nb) == 1)
    assert nb.bar().count() == 0
    assert "Dr. Ilan Roth" in nb.wait_for_saved_html("Transcript")
