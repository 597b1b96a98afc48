"""The generation of an episode is continued after a kill of the service."""

from __future__ import annotations

import psutil
import pytest

from labext.sandbox.nb.administration import open_administration

pytestmark = pytest.mark.faults


@pytest.mark.data_folder
def test_killed_host_continues_an_episode_at_its_next_start(new_box, podcasts_of, provider, key):
    box = new_box(workers=1)
    with open_administration(box.data_dir) as admin:
        model = admin.add_model("tts-1", "tts", provider.base_url, key)["id"]
    podcasts = podcasts_of(box)
    order = (podcasts.filled_notebook(), podcasts.profile(), podcasts.speakers("Ada", model=model))
    hold = provider.held()
    provider.faults.append(hold)
    ordered = podcasts.order(*order)
    assert hold.entered.wait(30)
    host = psutil.Process(box.status().pid)
    host.kill()
    host.wait(30)
    box.start()
    podcasts = podcasts_of(box)
    assert podcasts.until(ordered["job_id"])["status"] == "completed"
    created = podcasts.episode(ordered["episode_id"])
    assert podcasts.files() == {created["audio_file"].removeprefix("episodes/")}
    sound = podcasts.get(f"podcasts/episodes/{created['id']}/audio").content
    assert len(sound) == created["audio_bytes"] > 0
