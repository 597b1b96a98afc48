"""Plain text in other formats: JSON, program code and attached e-mails."""

from __future__ import annotations

import json
from email.message import EmailMessage

import pytest


def test_texts_in_json_have_no_escapes(read):
    content = json.dumps({"note": "5 µM,\nGröße", "path": "C:\\new"}).encode()
    assert read(content, "notes.json").text == '{"note": "5 µM,\nGröße", "path": "C:\\new"}'
    assert read(rb'{"a": "\x"}', "broken.json").text == r'{"a": "\x"}'


@pytest.mark.parametrize("name", ["plot.py", "Plot.R", "config.yaml"])
def test_comment_of_a_program_is_no_title(read, name):
    assert read(b"# -*- coding: utf-8 -*-\nx: 1\n", name).title is None


def test_e_mails_attached_to_an_e_mail_are_read(read):
    outer, inner = EmailMessage(), EmailMessage()
    inner["Subject"] = "Primers"
    inner.set_content("Order pX9.")
    outer["Subject"] = "Fwd: Primers"
    outer.set_content("See below.")
    outer.add_attachment(inner)
    mail = read(bytes(outer), "a.eml")
    assert mail.text == "Subject: Fwd: Primers\n\nSee below.\n\nSubject: Primers\n\nOrder pX9."
    assert mail.title == "Fwd: Primers"
