"""Profiles of speakers and of episodes: their rules, and what is there from the start."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.contract

KINDS = {
    "speaker-profiles": {"speakers": [{"name": "Ada"}]},
    "episode-profiles": {"default_briefing": "Short."},
}


def test_profiles_are_there_from_the_start(podcasts):
    speakers = {each["name"]: each for each in podcasts.told("GET", "speaker-profiles")}
    assert {"host", "guest", "expert", "student"} <= {*speakers}
    assert all(person["voice_id"] is None for person in speakers["host"]["speakers"])
    episodes = {each["name"]: each for each in podcasts.told("GET", "episode-profiles")}
    assert {"interview", "lecture", "panel"} <= {*episodes}
    assert episodes["interview"]["speaker_profile_ids"] == [
        speakers[name]["id"] for name in ("host", "guest")
    ]


@pytest.mark.parametrize("path", KINDS)
def test_a_profile_is_found_by_name_and_identifier(podcasts, kit, path):
    body = {"name": kit.name(), "description": "One.", **KINDS[path]}
    made = podcasts.told("POST", path, body)
    assert made["id"].partition(":")[0] == path.removesuffix("-profiles").replace(
        "episode", "episode_profile"
    )
    for named in (made["name"], made["id"]):
        assert podcasts.told("GET", f"{path}/{named}") == made
    assert made in podcasts.told("GET", path)
    changed = podcasts.told("PUT", f"{path}/{made['id']}", {"description": "Two."})
    assert changed == made | {"description": "Two.", "updated_at": changed["updated_at"]}
    assert changed["updated_at"] > made["updated_at"]
    assert podcasts.told("PUT", f"{path}/{made['id']}", {}) == changed
    podcasts.told("DELETE", f"{path}/{made['id']}")
    assert made["name"] in podcasts.refused(404, "GET", f"{path}/{made['name']}")


@pytest.mark.parametrize("path", KINDS)
def test_no_two_of_a_kind_have_one_name(podcasts, kit, path):
    first, second = (
        podcasts.told("POST", path, {"name": kit.name(), **KINDS[path]}) for _ in range(2)
    )
    body = {"name": first["name"], **KINDS[path]}
    assert "already" in podcasts.refused(400, "POST", path, body)
    assert "already" in podcasts.refused(
        400, "PUT", f"{path}/{second['id']}", {"name": first["name"]}
    )
    copies = [podcasts.told("POST", f"{path}/{first['id']}/duplicate") for _ in range(2)]
    assert [each["name"].removeprefix(first["name"]) for each in copies] == [
        " - Copy",
        " - Copy 2",
    ]
    for copy in copies:
        same = {"id", "name", "created_at", "updated_at"}
        assert {k: v for k, v in copy.items() if k not in same} == {
            k: v for k, v in first.items() if k not in same
        }


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("speaker-profiles", {"speakers": []}, 400),
        ("speaker-profiles", {"speakers": [{"name": n} for n in "abcde"]}, 400),
        ("speaker-profiles", {"speakers": [{"name": "Ada"}, {"name": "ada"}]}, 400),
        ("speaker-profiles", {"speakers": [{"name": "Ada"}], "name": "a/b"}, 400),
        ("speaker-profiles", {"speakers": [{"name": "Ada"}], "voice_model": "model:no"}, 404),
        ("speaker-profiles", {"speakers": [{"name": "A"}], "voice_model": "model:extractive"}, 422),
        ("episode-profiles", {"num_segments": 0}, 400),
        ("episode-profiles", {"num_segments": 21}, 400),
        ("episode-profiles", {"max_tokens": 0}, 400),
        ("episode-profiles", {"speaker_profile_ids": ["nobody-there"]}, 404),
        ("episode-profiles", {"speaker_profile_ids": ["host", "host"]}, 400),
        ("episode-profiles", {"outline_llm": "model:wordllama"}, 422),
    ],
)
def test_what_can_be_no_profile_is_refused(podcasts, kit, path, body, status):
    podcasts.refused(status, "POST", path, {"name": kit.name()} | body)


def test_null_takes_away_what_may_be_missing(podcasts):
    made = podcasts.profile(
        language="French", max_tokens=100, outline_llm="model:extractive", default_briefing="Short."
    )
    body = dict.fromkeys(("language", "max_tokens", "outline_llm", "default_briefing", "name"))
    changed = podcasts.told("PUT", f"episode-profiles/{made}", body)
    taken = ("language", "max_tokens", "outline_llm")
    assert [changed[name] for name in taken] == [None, None, None]
    assert changed["default_briefing"] == "Short."


def test_a_speaker_profile_in_use_stays(podcasts):
    speakers = podcasts.speakers("Ada")
    profile = podcasts.profile(speaker_profile_ids=[speakers])
    refusal = podcasts.refused(400, "DELETE", f"speaker-profiles/{speakers}")
    assert podcasts.told("GET", f"episode-profiles/{profile}")["name"] in refusal
    podcasts.told("PUT", f"episode-profiles/{profile}", {"speaker_profile_ids": []})
    podcasts.told("DELETE", f"speaker-profiles/{speakers}")


def test_a_deleted_voice_model_leaves_the_slots(podcasts, admin, provider):
    model = admin.add_model("gone", "tts", provider.base_url, None)["id"]
    speakers = podcasts.speakers("Ada", model=model)
    admin.remove_model(model, yes=True)
    assert podcasts.told("GET", f"speaker-profiles/{speakers}")["voice_model"] is None
