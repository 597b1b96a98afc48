"""Views of the tool catalogue and of a tool's parameters."""

from __future__ import annotations

import pandas as pd

from labext.frames.views import frame_html, frame_text
from labext.jobs import frames
from labext.jobs.tools import Tool

LONG = "Degrees from -180 to 180, one a residue, " * 5 + "and no more <b>."
FOLD = Tool(
    {
        "name": "fold",
        "displayName": "Fold",
        "description": LONG,
        "paper": "https://doi.org/10.1000/1",
        "settings": [
            {"name": "sequence", "required": True, "type": "string", "description": LONG},
            {"name": "mode", "required": False, "default": "a", "options": ["a", "b"]},
        ],
    }
)


def test_description_is_shown_in_full() -> None:
    for frame in (frames.tools_frame([FOLD]), frames.parameters_frame(FOLD)):
        html = frame_html(frame)
        assert html is not None
        assert html.count(f'max-width:32em">{LONG.replace("<b>", "&lt;b&gt;")}</div></td>') == 1
        assert LONG in " ".join(frame_text(frame).split())
        assert max(map(len, frame_text(frame).splitlines())) <= 88


def test_text_view_has_fields_of_each_parameter() -> None:
    lines = frame_text(frames.parameters_frame(FOLD)).splitlines()
    assert lines[:2] == ["sequence", "    required; type string"]
    assert lines[-2:] == ["mode", "    type enum; default a; options a, b"]
    assert (
        frame_text(frames.tools_frame([FOLD]))
        .splitlines()[1]
        .startswith("    displayName Fold; requ")
    )


def test_tool_frames_are_plain_frames() -> None:
    frame = frames.parameters_frame(FOLD)
    assert type(frame) is pd.DataFrame
    assert frame.attrs["displayName"] == "Fold"
    part = frame.loc[frame["required"], ["name", "description"]]
    assert part["name"].tolist() == ["sequence"]
    assert frame_text(frames.tools_frame([])) == "No tools match."
    assert frame_text(frame.drop(columns="name")) == repr(frame.drop(columns="name"))


def test_missing_values_are_hidden() -> None:
    html = str(frame_html(frames.parameters_frame(FOLD)))
    assert "NaN" not in html
    assert "None" not in html


def test_missing_parameter_types_are_inferred() -> None:
    settings: list[dict[str, object]] = [
        {"name": "mode", "required": False, "default": "a", "options": ["a", "b"]},
        {"name": "circular", "required": False, "default": False},
        {"name": "weights", "required": False, "default": [1.0]},
        {"name": "cutoff", "required": False, "default": 0.5},
        {"name": "pdbFile", "required": True},
        {"name": "known", "required": True, "type": "sequence"},
        {"name": "other", "required": True},
    ]
    frame = frames.parameters_frame(Tool({"name": "t", "settings": settings}))
    types = dict(zip(frame["name"], frame["type"], strict=True))
    assert pd.isna(types.pop("other"))
    assert types == {
        "mode": "enum",
        "circular": "boolean",
        "weights": "list",
        "cutoff": "number",
        "pdbFile": "file",
        "known": "sequence",
    }
