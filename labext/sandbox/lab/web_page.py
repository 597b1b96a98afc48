"""Plain HTML pages of the platform: they say that they are a sandbox's, and load nothing."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from labext.sandbox.lab.store import Record

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

HTML = {"Content-Type": "text/html; charset=utf-8"}

LINE = 80
"""Bases of a line."""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }}
body {{ max-width: {width}; margin: 4rem auto; padding: 0 1rem; }}
select, input, button {{ font: inherit; padding: .4rem .6rem; max-width: 100%; }}
th, td {{ text-align: left; vertical-align: top; padding: .1rem 1rem .1rem 0; }}
pre {{ overflow-x: auto; }}
</style>
<main>
<h1>{title}</h1>
{content}
</main>
</html>
"""

_SANDBOX = "<p>This is a local laboratory platform for learning and testing.</p>"


def document(title: str, content: str, *, width: str = "30rem") -> str:
    """Return a page.

    Args:
        title: plain text.
        content: HTML.
        width: the greatest width of the text.
    """
    return _PAGE.format(title=escape(title), content=content, width=width)


def sequence(record: Record) -> bytes:
    """Return the page of a sequence."""
    schema = record["schema"]
    facts = {
        "ID": record["id"],
        "Length": f"{record['length']:,} bp, {'circular' if record['isCircular'] else 'linear'}",
        "Aliases": ", ".join(record["aliases"]),
        "Registry ID": record["entityRegistryId"],
        "Schema": None if schema is None else schema["name"],
        "Folder": record["folderId"],
        "Created": f"{record['createdAt']} by {record['creator']['name']}",
        "Modified": record["modifiedAt"],
        "Archived": None if record["archiveRecord"] is None else record["archiveRecord"]["reason"],
    }
    facts |= {name: cell["displayValue"] for name, cell in record["fields"].items()}
    facts |= {name: cell["value"] for name, cell in record["customFields"].items()}
    annotations = [
        (each["name"], each["type"], each["start"], each["end"], each["strand"])
        for each in record["annotations"]
    ]
    bases = record["bases"]
    lines = "\n".join(bases[start : start + LINE] for start in range(0, len(bases), LINE))
    content = [
        _SANDBOX,
        _table((), ((name, value) for name, value in facts.items() if value)),
        "<h2>Annotations</h2>",
        _table(("Name", "Type", "Start", "End", "Strand"), annotations),
        "<h2>Bases</h2>",
        f"<pre>{escape(lines)}</pre>",
        f"<p>The record as JSON: <code>{escape(record['apiURL'])}</code></p>",
    ]
    return document(record["name"], "\n".join(content), width="60rem").encode()


def refusal(sentence: str, status: int) -> bytes:
    """Return the page of a refusal."""
    content = f'<p role="alert">{escape(sentence)}</p>{_SANDBOX}'
    if status == 401:
        content += (
            "<p>Its pages take the credentials of its API: an API key as the user name, and an "
            "empty password.</p>"
        )
    return document("Local laboratory platform", content).encode()


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    header = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table>{f'<tr>{header}</tr>' if header else ''}{body}</table>"
