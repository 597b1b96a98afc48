"""Reads pages of the web: what they say, without menus, advertisements and scripts."""

from __future__ import annotations

import codecs
import re
from typing import Any

from labext.sandbox.nb.ingestion import texts
from labext.sandbox.nb.ingestion.reading import File, Reading, Tell
from labext.sandbox.nb.ingestion.reasons import Unreadable

_CHARSET = re.compile(
    rb"""(?i)<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)=["']?([\w-]{2,40})"""
)

_HIDDEN = ("noscript", "template", "head", "svg", "select", "button")


def read(file: File, _tell: Tell) -> Reading:
    """Read a page of the web."""
    content = file.content()
    tree = _tree(_text(content, file.charset))
    if tree is None:
        raise Unreadable("The page has nothing in it that could be read.")
    title = _title(tree)
    return Reading([(None, _said(tree))], title)


def _text(content: bytes, charset: str | None) -> str:
    """The page's source: in the charset that the server told, or the page itself."""
    if charset is None and not content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE)):
        declared = _CHARSET.search(content[:4096])
        charset = None if declared is None else declared[1].decode()
        if charset is not None and charset.lower().startswith("utf-16"):
            charset = None  # it could not be read as what it says that it is
    return texts.decoded(content, charset)


def _tree(text: str) -> Any:
    """The page as a tree; None where there is none."""
    from lxml import etree, html  # type: ignore[import-untyped]

    parser = html.HTMLParser(remove_comments=True, remove_pis=True)
    source = re.sub(r"^\s*<\?xml[^>]*\?>", "", texts.clean(text))
    try:
        return html.document_fromstring(source, parser=parser)
    except (etree.LxmlError, ValueError, AssertionError):
        return None


def _title(tree: Any) -> str | None:
    for path in ('//meta[@property="og:title"]/@content', "//title", "//h1"):
        for found in tree.xpath(path):
            text = found if isinstance(found, str) else found.text_content()
            if title := texts.title(str(text)):
                return title
    return None


def _said(tree: Any) -> str:
    """The page's own text: what trafilatura takes for it, or else all that is shown."""
    import trafilatura
    from lxml import etree

    try:
        text = trafilatura.extract(
            tree, include_comments=False, include_tables=True, favor_recall=True
        )
    except (etree.LxmlError, ValueError, RecursionError, AttributeError, TypeError, KeyError):
        text = None
    if text and text.strip():
        return str(text)
    return _shown(tree)


def _shown(tree: Any) -> str:
    """All text but that of scripts and forms."""
    from lxml_html_clean import Cleaner

    Cleaner(style=True, kill_tags=_HIDDEN, safe_attrs_only=False)(tree)
    lines = (" ".join(text.split()) for text in tree.itertext())
    return "\n".join(filter(None, lines))
