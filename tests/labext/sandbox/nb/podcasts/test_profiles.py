"""Profiles of speakers and of episodes: their rules, and the preinstalled ones."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.contract

KINDS = {
    "speaker-profiles": {"speakers": [{"name": "Ada"}]},
    "episode-profiles": {"default_briefing": "Short."},
}


def test_seeded_profiles_exist(podcasts):
    speakers = {item["name"]: item for item in podcasts.call("GET", "speaker-profiles")}
    assert {"host", "guest", "expert", "student"} <= {*speakers}
    assert all(person["voice_id"] is None for person in speakers["host"]["speakers"])
    episodes = {item["name"]: item for item in podcasts.call("GET", "episode-profiles")}
    assert {"interview", "lecture", "panel"} <= {*episodes}
    assert episodes["interview"]["speaker_profile_ids"] == [
        speakers[name]["id"] for name in ("host", "guest")
    ]


@pytest.mark.parametrize("path", KINDS)
def test_profile_is_found_by_name_and_identifier(podcasts, kit, path):
    body = {"name": kit.name(), "description": "One.", **KINDS[path]}
    created = podcasts.call("POST", path, body)
    assert created["id"].partition(":")[0] == path.removesuffix("-profiles").replace(
        "episode", "episode_profile"
    )
    for by_name in (created["name"], created["id"]):
        assert podcasts.call("GET", f"{path}/{by_name}") == created
    assert created in podcasts.call("GET", path)
    changed = podcasts.call("PUT", f"{path}/{created['id']}", {"description": "Two."})
    assert changed == created | {"description": "Two.", "updated_at": changed["updated_at"]}
    assert changed["updated_at"] > created["updated_at"]
    assert podcasts.call("PUT", f"{path}/{created['id']}", {}) == changed
    podcasts.call("DELETE", f"{path}/{created['id']}")
    assert created["name"] in podcasts.error(404, "GET", f"{path}/{created['name']}")


@pytest.mark.parametrize("path", KINDS)
def test_profile_names_are_unique_and_copies_numbered(podcasts, kit, path):
    first, second = (
        podcasts.call("POST", path, {"name": kit.name(), **KINDS[path]}) for _ in range(2)
    )
    body = {"name": first["name"], **KINDS[path]}
    assert "already" in podcasts.error(400, "POST", path, body)
    assert "already" in podcasts.error(
        400, "PUT", f"{path}/{second['id']}", {"name": first["name"]}
    )
    copies = [podcasts.call("POST", f"{path}/{first['id']}/duplicate") for _ in range(2)]
    assert [copy["name"].removeprefix(first["name"]) for copy in copies] == [" - Copy", " - Copy 2"]
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
        ("episode-profiles", {"outline_llm": "model:all-minilm-l6-v2"}, 422),
    ],
)
def test_invalid_profile_is_refused(podcasts, kit, path, body, status):
    podcasts.error(status, "POST", path, {"name": kit.name()} | body)


def test_null_clears_optional_fields(podcasts):
    created = podcasts.profile(
        language="French", max_tokens=100, outline_llm="model:extractive", default_briefing="Short."
    )
    body = dict.fromkeys(("language", "max_tokens", "outline_llm", "default_briefing", "name"))
    changed = podcasts.call("PUT", f"episode-profiles/{created}", body)
    used_fields = ("language", "max_tokens", "outline_llm")
    assert [changed[name] for name in used_fields] == [None, None, None]
    assert changed["default_briefing"] == "Short."


def test_speaker_profile_in_use_cannot_be_deleted(podcasts):
    speakers = podcasts.speakers("Ada")
    profile = podcasts.profile(speaker_profile_ids=[speakers])
    refusal = podcasts.error(400, "DELETE", f"speaker-profiles/{speakers}")
    assert podcasts.call("GET", f"episode-profiles/{profile}")["name"] in refusal
    podcasts.call("PUT", f"episode-profiles/{profile}", {"speaker_profile_ids": []})
    podcasts.call("DELETE", f"speaker-profiles/{speakers}")


def test_deleting_a_voice_model_clears_it_in_profiles(podcasts, admin, provider):
    model = admin.add_model("gone", "tts", provider.base_url, None)["id"]
    speakers = podcasts.speakers("Ada", model=model)
    admin.remove_model(model, yes=True)
    assert podcasts.call("GET", f"speaker-profiles/{speakers}")["voice_model"] is None
