"""The catalogue and a tool's parameters, as they are shown."""

from __future__ import annotations

import pandas as pd

from labext.jobs import toolframes
from labext.jobs.schema import Tool
from labext.views import html_of, text_of

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


def test_a_description_is_shown_whole() -> None:
    for frame in (toolframes.catalogue([FOLD]), toolframes.parameters(FOLD)):
        html = html_of(frame)
        assert html is not None
        assert html.count(f'max-width:32em">{LONG.replace("<b>", "&lt;b&gt;")}</div></td>') == 1
        assert LONG in " ".join(text_of(frame).split())
        assert max(map(len, text_of(frame).splitlines())) <= 88


def test_a_terminal_has_the_fields_of_each() -> None:
    lines = text_of(toolframes.parameters(FOLD)).splitlines()
    assert lines[:2] == ["sequence", "    required; type string"]
    assert lines[-2:] == ["mode", "    type enum; default a; options a, b"]
    assert (
        text_of(toolframes.catalogue([FOLD]))
        .splitlines()[1]
        .startswith("    displayName Fold; requ")
    )


def test_tools_are_a_plain_frame() -> None:
    frame = toolframes.parameters(FOLD)
    assert type(frame) is pd.DataFrame
    assert frame.attrs["displayName"] == "Fold"
    part = frame.loc[frame["required"], ["name", "description"]]
    assert part["name"].tolist() == ["sequence"]
    assert text_of(toolframes.catalogue([])) == "There are no such tools."
    assert text_of(frame.drop(columns="name")) == repr(frame.drop(columns="name"))


def test_what_a_setting_lacks_is_not_shown() -> None:
    html = str(html_of(toolframes.parameters(FOLD)))
    assert "NaN" not in html
    assert "None" not in html


def test_types_that_the_service_leaves_out_are_named() -> None:
    settings: list[dict[str, object]] = [
        {"name": "mode", "required": False, "default": "a", "options": ["a", "b"]},
        {"name": "circular", "required": False, "default": False},
        {"name": "weights", "required": False, "default": [1.0]},
        {"name": "cutoff", "required": False, "default": 0.5},
        {"name": "pdbFile", "required": True},
        {"name": "known", "required": True, "type": "sequence"},
        {"name": "other", "required": True},
    ]
    frame = toolframes.parameters(Tool({"name": "t", "settings": settings}))
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
