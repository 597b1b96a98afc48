"""Values on a line and in a cell body are cast to the types of the tool."""

from __future__ import annotations

from typing import Any

import pytest

from labext.errors import InputError
from labext.jobs import Tool
from labext_magics.core import cell_body
from labext_magics.core.cell_body import cast_settings, merge_pairs
from labext_magics.core.namespace import Namespace
from labext_magics.core.value_types import SETTING, Raw

TOOL = Tool(
    {
        "name": "t",
        "settings": [
            {"name": "sequence", "required": True, "type": "string"},
            {"name": "count", "required": False, "type": "integer"},
            {"name": "ratio", "required": False, "type": "number"},
            {"name": "circular", "required": False, "default": False},
            {"name": "angles", "required": False, "type": "list[number]"},
            {"name": "extra", "required": False, "type": "object"},
            {"name": "untyped", "required": False},
            {"name": "mode", "required": False, "options": ["on", "off", 3]},
        ],
    }
)


def on_the_line(name: str, text: str) -> Any:
    settings = SETTING.convert(Raw(f"{name}={text}"), Namespace({}))
    return cast_settings(TOOL, settings)[name]


def in_a_body(name: str, text: str) -> Any:
    return cast_settings(TOOL, cell_body.parse_body(f"{name}: {text}"))[name]


@pytest.mark.parametrize("read", [on_the_line, in_a_body])
@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("sequence", "1e5", "1e5"),
        ("sequence", "NO", "NO"),
        ("sequence", "007", "007"),
        ("sequence", "true", "true"),
        ("sequence", "CC#N", "CC#N"),
        ("sequence", r"C/C=C\C", r"C/C=C\C"),
        ("count", "3", 3),
        ("count", "3.0", 3),
        ("ratio", "1e-3", 0.001),
        ("circular", "yes", True),
        ("circular", "no", False),
        ("mode", "on", "on"),
        ("mode", "3", 3),
        ("untyped", "NO", "NO"),
        ("untyped", "1e5", "1e5"),
        ("count", "many", "many"),
        ("unheard", "of", "of"),
    ],
)
def test_word_is_converted_to_the_parameter_type(
    read: Any, name: str, text: str, value: object
) -> None:
    result = read(name, text)
    assert result == value
    assert type(result) is type(value)


def test_lists_and_objects() -> None:
    assert on_the_line("angles", "-57,-47.5") == [-57, -47.5]
    assert on_the_line("angles", "[1, 2]") == [1, 2]
    assert in_a_body("angles", "[-57, -47.5]") == [-57, -47.5]
    assert on_the_line("extra", '{"a": 1}') == {"a": 1}
    assert in_a_body("extra", "{a: 1, b: [true, NO]}") == {"a": 1, "b": [True, "NO"]}
    assert in_a_body("untyped", "3") == 3
    assert in_a_body("untyped", "'3'") == "3"
    for name, text in {"angles": "1,x", "extra": "{half"}.items():
        with pytest.raises(InputError, match=name):
            on_the_line(name, text)


def test_objects_are_passed_on() -> None:
    frame = object()
    assert cast_settings(TOOL, {"untyped": frame, "count": "3"}) == {"untyped": frame, "count": "3"}


def test_duplicate_setting_is_refused() -> None:
    assert merge_pairs([{"a": 1}, {"b": 2}]) == {"a": 1, "b": 2}
    with pytest.raises(InputError, match="`a` is set twice"):
        merge_pairs([{"a": 1}, {"a": 2}])
