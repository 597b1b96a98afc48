"""Plain text in other formats: JSON and program code."""

from __future__ import annotations

import json

import pytest


def test_texts_in_json_have_no_escapes(read):
    content = json.dumps({"note": "5 µM,\nGröße", "path": "C:\\new"}).encode()
    assert read(content, "notes.json").text == '{"note": "5 µM,\nGröße", "path": "C:\\new"}'
    assert read(rb'{"a": "\x"}', "broken.json").text == r'{"a": "\x"}'


@pytest.mark.parametrize("name", ["plot.py", "Plot.R", "config.yaml"])
def test_comment_of_a_program_is_no_title(read, name):
    assert read(b"# -*- coding: utf-8 -*-\nx: 1\n", name).title is None
