"""The podcast player: first frame (goal: 300 ms after that of a plain button) and seek (50 ms).

Both run in a page of Notebook 7 in Chromium: in a new kernel, which imports the modules and sends
the bundle, and again in a kernel that has already shown the player.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import PANEL, NotebookPage

pytestmark = pytest.mark.benchmark

FRESH, WARM, SEEKS = 3, 7, 20
MINUTES, TURN = 10, 5

EPISODE = f"""import io, numpy, soundfile
def fetch():
    t = numpy.arange(16000 * 60 * {MINUTES}) / 16000
    written = io.BytesIO()
    soundfile.write(written, 0.2 * numpy.sin(1400 * t), 16000, format="MP3")
    return written.getvalue()
text = "A sentence in a turn of a podcast, in a few words or in some more. " * 2
turns = [
    dict(speaker=("Host", "Guest")[i % 2], dialogue=text, start=i * {TURN}, end=i * {TURN} + 4.5)
    for i in range({60 * MINUTES // TURN})
]
record = dict(name="An episode", duration={60 * MINUTES}, transcript=dict(transcript=turns))
"""
BUTTON = "import ipywidgets\nipywidgets.Button(description='Plain')"
PLAYER = "import labext_widgets\nlabext_widgets.show_player(record, fetch)"
FRAME = f"""async ([cell, selector]) => {{
  for (const element of document.querySelectorAll(selector)) element.dataset.before = "yes";
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  {PANEL}.content.activeCellIndex = cell;
  const begin = performance.now();
  void window.jupyterapp.commands.execute("notebook:run-cell");
  while (!document.querySelector(selector + ":not([data-before])")) await frame();
  await new Promise((done) => setTimeout(done)); // until that frame is painted
  return performance.now() - begin;
}}"""
SOUNDS = """() => {
  const { Audio } = window;
  window.sounds = [];
  window.Audio = function (...given) {
    window.sounds.push(new Audio(...given));
    return window.sounds.at(-1);
  };
}"""
SEEK = """async (turn) => {
  const audio = window.sounds.findLast((sound) => !sound.paused);
  const heard = new Promise((done) => audio.addEventListener("seeked", done, { once: true }));
  const begin = performance.now();
  document.querySelectorAll(".labext-live .labext-timestamp")[turn].click();
  await heard;
  return performance.now() - begin;
}"""


def test_player(
    benchmark: Any, figure: Callable[[str, str], None], notebook_page: NotebookPage
) -> None:
    nb = notebook_page.write(EPISODE, BUTTON, PLAYER).open("notebook")
    first, again, seeks = benchmark.pedantic(lambda: measured(nb), rounds=1, iterations=1)
    benchmark.extra_info.update(first_ms=first, again_ms=again, seeks_ms=seeks)
    figure("the player's first frame after a button's in a new kernel, of 300 ms", summary(first))
    figure("the player's first frame in a kernel that has shown it", summary(again))
    figure(
        f"a seek in {MINUTES} minutes of sound, from the click until it is there, of 50 ms",
        f"{statistics.median(seeks):.0f} ms (at most {max(seeks):.0f})",
    )


def summary(frames: list[tuple[float, float]]) -> str:
    """Print the times of a button and of the player."""
    button, player = (statistics.median(times) for times in zip(*frames, strict=True))
    return f"{player - button:+.0f} ms: {player:.0f} ms, a plain button {button:.0f} ms"


def measured(
    nb: NotebookPage,
) -> tuple[list[tuple[float, float]], list[tuple[float, float]], list[float]]:
    """Return (button, player) in new kernels and in one, and the seeks; all in ms."""
    first = [new_kernel(nb) for _ in range(FRESH)]
    nb.page.evaluate(SOUNDS)
    again = [frames(nb) for _ in range(WARM)]
    live = nb.output(2).locator(".labext-live")
    live.get_by_role("button", name="Play", exact=True).click()
    nb.page.wait_for_function("() => window.sounds.some((sound) => sound.currentTime > 0.2)")
    turns = 60 * MINUTES // TURN
    return first, again, [nb.page.evaluate(SEEK, 37 * i % turns) for i in range(1, SEEKS + 1)]


def new_kernel(nb: NotebookPage) -> tuple[float, float]:
    """Measure each in a new kernel."""
    durations = []
    for measure in (button, player):
        nb.page.evaluate(f"() => {PANEL}.sessionContext.restartKernel()")
        nb.ready()
        nb.run(0)
        nb.idle()
        durations.append(measure(nb))
        nb.idle()
    return durations[0], durations[1]


def frames(nb: NotebookPage) -> tuple[float, float]:
    """Measure both in the running kernel."""
    play_button = button(nb)
    nb.idle()
    return play_button, player(nb)


def button(nb: NotebookPage) -> float:
    return float(nb.page.evaluate(FRAME, [1, ".jp-OutputArea .jupyter-button"]))


def player(nb: NotebookPage) -> float:
    return float(nb.page.evaluate(FRAME, [2, ".labext-live .labext-play"]))
