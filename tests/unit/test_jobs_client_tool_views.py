"""The catalogue and a tool's parameters, as they are shown."""

from __future__ import annotations

import pandas as pd

from labext.jobs import toolframes
from labext.jobs.schema import Tool

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
        html = frame._repr_html_()
        assert html is not None
        assert f'text-align:left">{LONG.replace("<b>", "&lt;b&gt;")}</div></td>' in html
        assert html.count("<div style=") == html.count("</div></td>") == len(frame)
        assert LONG in " ".join(repr(frame).split())
        assert max(map(len, repr(frame).splitlines())) <= 88


def test_a_terminal_has_the_fields_of_each() -> None:
    lines = repr(toolframes.parameters(FOLD)).splitlines()
    assert lines[:2] == ["sequence", "    required; type string"]
    assert lines[-2:] == ["mode", "    default a; options a, b"]
    assert (
        repr(toolframes.catalogue([FOLD])).splitlines()[1].startswith("    displayName Fold; requ")
    )


def test_it_is_a_frame_as_any_other() -> None:
    frame = toolframes.parameters(FOLD)
    part = frame.loc[frame["required"], ["name", "description"]]
    assert type(part) is pd.DataFrame
    assert part["name"].tolist() == ["sequence"]
    assert "Empty DataFrame" in repr(toolframes.catalogue([]))
    assert "required" in repr(frame.drop(columns="name"))
