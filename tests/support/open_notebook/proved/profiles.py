"""Proofs: the profiles of episodes and of speakers."""

from __future__ import annotations

from labext.nb.backends.contract.podcasts import EPISODE_PROFILES, SPEAKER_PROFILES
from labext.nb.records import EPISODE_PROFILE, SPEAKER_PROFILE
from open_notebook.proof import proof
from open_notebook.proved.ids import BUSINESS, MODEL_ID, SOLO, SOLO_SPEAKER, TECH_SPEAKERS, TTS

_UNTIMED = "created_at updated_at"

PROFILES = (
    proof(
        "profiles",
        lambda d: d.profiles(EPISODE_PROFILES),
        "episode_profiles.list",
        fields=EPISODE_PROFILE,
        missing=f"outline_llm transcript_llm language max_tokens {_UNTIMED}",
        values={"speaker_profile_ids": ["speaker_profile:i9k4208ntfbf6c0k4f1a"]},
    ),
    proof(
        "profile",
        lambda d: d.profile(EPISODE_PROFILES, SOLO),
        "episode_profiles.list",
        fields=EPISODE_PROFILE,
        missing=f"outline_llm transcript_llm language max_tokens {_UNTIMED}",
        values={"name": "solo_expert", "num_segments": 4},
    ),
    proof(
        "new_profile",
        lambda d: d.new_profile(
            EPISODE_PROFILES,
            {
                "name": "short",
                "description": "",
                "speaker_profile_ids": [SOLO_SPEAKER],
                "outline_llm": MODEL_ID,
                "transcript_llm": MODEL_ID,
                "default_briefing": "Be brief",
                "num_segments": 3,
            },
        ),
        "speaker_profiles.list",
        "episode_profiles.create",
        fields=EPISODE_PROFILE,
        missing=f"language max_tokens {_UNTIMED}",
        values={"speaker_profile_ids": [SOLO_SPEAKER], "num_segments": 3},
    ),
    # Omitted fields would be lost, so the others are sent unchanged.
    proof(
        "change_profile",
        lambda d: d.change_profile(
            EPISODE_PROFILES,
            SOLO,
            {"outline_llm": MODEL_ID, "transcript_llm": MODEL_ID, "num_segments": 3},
        ),
        "episode_profiles.list",
        "speaker_profiles.list",
        "episode_profiles.put.solo_expert",
        fields=EPISODE_PROFILE,
        missing=f"language max_tokens {_UNTIMED}",
        values={"num_segments": 3, "outline_llm": MODEL_ID},
        unrecorded="max_tokens",
        differing="speaker_config",
    ),
    proof(
        "delete_profile",
        lambda d: d.delete_profile(EPISODE_PROFILES, "episode_profile:ab9pn8ezevq039edo40u"),
        "episode_profiles.delete",
        result=None,
    ),
    proof(
        "copy_profile",
        lambda d: d.copy_profile(EPISODE_PROFILES, BUSINESS),
        "episode_profiles.duplicate",
        fields=EPISODE_PROFILE,
        missing=f"language max_tokens {_UNTIMED}",
        values={"name": "business_analysis - Copy"},
    ),
    proof(
        "profiles",
        lambda d: d.profiles(SPEAKER_PROFILES),
        "speaker_profiles.list",
        fields=SPEAKER_PROFILE,
        missing=f"voice_model {_UNTIMED}",
    ),
    proof(
        "profile",
        lambda d: d.profile(SPEAKER_PROFILES, SOLO_SPEAKER),
        "speaker_profiles.list",
        fields=SPEAKER_PROFILE,
        missing=f"voice_model {_UNTIMED}",
        values={"name": "solo_expert"},
    ),
    proof(
        "change_profile",
        lambda d: d.change_profile(SPEAKER_PROFILES, TECH_SPEAKERS, {"voice_model": TTS}),
        "speaker_profiles.list",
        "speaker_profiles.put.tech_experts",
        fields=SPEAKER_PROFILE,
        missing=_UNTIMED,
        values={"voice_model": TTS},
    ),
)
