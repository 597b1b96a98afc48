"""A podcast of ten minutes: synthesis by any installed voices, encoding, and a seek.

The audio is synthesized in this process as in that of a task; the seek requests a range of an
episode's file from the service, as a player does.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from labext.sandbox import Sandbox
from labext.sandbox.nb.podcasts import recording
from labext.sandbox.nb.podcasts.script import Turn
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.tables import Model

pytestmark = pytest.mark.benchmark

MINUTES = 10
FACTS = (
    "The promoter is induced by 2 mM arabinose, and glucose represses it in E. coli.",
    "We measured the fluorescence after 6 h at 37 °C, in three flasks of each strain.",
    "The cells were pelleted, washed twice and counted; a thousand of them were green.",
    "So what would you expect to see if the repressor is missing altogether?",
    "The yield went down by 20 percent, which nobody in the group could explain at first.",
)


def dialogue(seconds: float) -> list[Turn]:
    """Return turns of about `seconds` in total, by two speakers, in segments of ten turns."""
    chosen = random.Random(1)
    turns = []
    for place in range(max(2, int(seconds / 10.3))):
        line = " ".join(chosen.sample(FACTS, 2))
        turns.append(Turn("Ada" if place % 2 else "Ben", line, opens=place % 10 == 0))
    return turns


@pytest.mark.parametrize("engine", ["espeak-ng", "flite"])
def test_ten_minutes_are_spoken_and_encoded(
    benchmark: Any, figure: Callable[[str, str], None], tmp_path: Path, engine: str
) -> None:
    if engine == "flite" and shutil.which("flite") is None:
        pytest.skip("flite is a package of the system, and is not installed")
    model = Model(id=f"model:{engine}", name=engine, kind="tts", provider=registry.BUILT_IN)
    turns = dialogue(MINUTES * 60 if benchmark.enabled else 20)
    target = tmp_path / "episode.mp3"
    processor = []

    def make() -> list[Any]:
        started_at = _processor_seconds()
        cast = dict.fromkeys(("Ada", "Ben"), (model, None))
        site: Any = None  # built-in voices do not use it
        speech = recording.record_dialogue(site, turns, cast, target, lambda *_stage: None)
        processor.append(_processor_seconds() - started_at)
        return speech

    turns_spoken = benchmark.pedantic(make, rounds=3 if benchmark.enabled else 1, iterations=1)
    assert len(turns_spoken) == len(turns)
    seconds = turns_spoken[-1].end
    wall = benchmark.stats.stats.median if benchmark.enabled else 0.0
    if benchmark.enabled:
        assert seconds > MINUTES * 60 * 0.95
    figure(
        f"a podcast of {seconds / 60:.1f} minutes by {engine}",
        f"{wall:.1f} s ({statistics.median(processor):.1f} s of processor) until it is an MP3 of "
        f"{target.stat().st_size / 2**20:.1f} MiB; at most "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB in this process",
    )


def _processor_seconds() -> float:
    """Return the CPU time of this process and of the programs that it ran."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@pytest.fixture(scope="session")
def services() -> list[str]:
    return ["labext.sandbox.nb.app:service"]


def test_a_seek_in_an_episode(
    benchmark: Any, figure: Callable[[str, str], None], new_box: Callable[..., Sandbox]
) -> None:
    box = new_box(workers=1)
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {box.nb.password}"

    def request_json(method: str, path: str, body: Any = None) -> Any:
        answer = session.request(method, f"{box.nb.base_url}{path}", json=body, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    with session:
        notebook = request_json("POST", "/notebooks", {"name": "Induction"})["id"]
        facts = " ".join(f"{fact} That was flask {number}." for number, fact in enumerate(FACTS))
        request_json("POST", "/notes", {"content": facts, "notebook_id": notebook})
        order = {"notebook_id": notebook, "episode_profile_id": "interview"}
        episode = request_json("POST", "/podcasts/generate", order)["episode_id"]
        until = time.monotonic() + 120
        while (episode_row := request_json("GET", f"/podcasts/episodes/{episode}"))[
            "job_status"
        ] != "completed":
            assert episode_row["job_status"] != "failed", episode_row["error_message"]
            assert time.monotonic() < until
            time.sleep(0.05)
        size = episode_row["audio_bytes"]
        chosen = random.Random(1)

        def seek() -> int:
            start = chosen.randrange(size - 1)
            answer = session.get(
                f"{box.nb.base_url}/podcasts/episodes/{episode}/audio",
                headers={"Range": f"bytes={start}-{min(size - 1, start + 65_535)}"},
                timeout=10,
            )
            assert len(answer.content) == min(size - start, 65_536)
            return answer.status_code

        status = benchmark.pedantic(seek, rounds=50 if benchmark.enabled else 2, iterations=1)
    assert status == 206
    median = benchmark.stats.stats.median if benchmark.enabled else 0.0
    worst = benchmark.stats.stats.max if benchmark.enabled else 0.0
    figure(
        f"a seek in an episode of {episode_row['duration']:.0f} s ({size / 2**20:.1f} MiB)",
        f"{median * 1000:.1f} ms until 64 KiB from there are here, {worst * 1000:.1f} ms at most",
    )
