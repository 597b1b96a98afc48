"""An episode is completed with audio or failed with a reason, whichever process is killed at any
time.
"""

from __future__ import annotations

import psutil
import pytest

from labext.sandbox.nb.administration import open_administration

pytestmark = pytest.mark.faults


@pytest.mark.data_folder
def test_episode_survives_killed_processes(new_box, podcasts_of, provider, key):
    box = new_box(workers=1)
    with open_administration(box.data_dir) as admin:
        model = admin.add_model("tts-1", "tts", provider.base_url, key)["id"]
    podcasts = podcasts_of(box)
    order = (podcasts.filled_notebook(), podcasts.profile(), podcasts.speakers("Ada", model=model))

    # The process of the task: failed with a reason, without remaining files.
    hold = provider.held()
    provider.faults.append(hold)
    ordered = podcasts.order(*order)
    assert hold.entered.wait(30)
    worker(box).kill()
    failed = podcasts.until(ordered["job_id"])
    assert failed["status"] == "failed"
    assert "retry" in failed["error_message"]
    assert podcasts.files() == set()

    # The host, while the episode is generated again: the next host continues it.
    hold = provider.held()
    provider.faults.append(hold)
    again = podcasts.call("POST", f"podcasts/episodes/{ordered['episode_id']}/retry")
    assert hold.entered.wait(30)
    host = psutil.Process(box.status().pid)
    host.kill()
    host.wait(30)
    box.start()
    podcasts = podcasts_of(box)
    assert podcasts.until(again["job_id"])["status"] == "completed"
    created = podcasts.episode(ordered["episode_id"])
    assert podcasts.files() == {created["audio_file"].removeprefix("episodes/")}
    sound = podcasts.get(f"podcasts/episodes/{created['id']}/audio").content
    assert len(sound) == created["audio_bytes"] > 0


def worker(box) -> psutil.Process:
    """Return the process of the running task."""
    (result,) = (
        process
        for process in psutil.process_iter(["cwd"])
        if (process.info["cwd"] or "").startswith(f"{box.data_dir}/nb/work/")
    )
    return result
