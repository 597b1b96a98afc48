"""Reader of Word documents.

The elements of both forms of Office Open XML, transitional and strict, are found by their local
names.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from labext.sandbox.nb.ingestion import reading
from labext.sandbox.nb.ingestion.formulas import office_part
from labext.sandbox.nb.ingestion.markup_readers import parse_xml, xml_name
from labext.sandbox.nb.ingestion.office_readers import open_package
from labext.sandbox.nb.ingestion.reading import Document, OnStage, SourceFile

_HEADING_STYLE = re.compile(r"heading ([1-6])")
_MAX_SPAN = 62
"""Maximum further columns of a cell; tables of Word have at most 63."""

_HIDDEN = frozenset(
    {"del", "delText", "Fallback", "instrText", "moveFrom", "pPr", "rPr", "sdtPr", "txbxContent"}
)
"""Elements without text to read here: deletions, codes, properties, and text boxes, which follow
their paragraph."""

_MARKS = {"br": "\n", "cr": "\n", "noBreakHyphen": "-", "tab": "\t"}
_MAX_LEVELS = 9
_LIST_KINDS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}
_SYMBOL_FONT = dict(
    zip(
        range(0x41, 0x7B), "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True
    )
) | {0xA3: "≤", 0xAE: "→", 0xB0: "°", 0xB1: "±", 0xB3: "≥", 0xB4: "×"}
"""Characters of the font Symbol, by which Word used to write Greek letters."""


def read_word(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read a Word document: paragraphs, tables, text boxes and notes."""
    with open_package(file, "Word document") as archive:
        package = _related_parts(archive, "")
        path = package["officeDocument"]
        parts = _related_parts(archive, path)
        reader = _WordReader(archive, parts)
        document = parse_xml(archive.read(path))
        reading.mark_exponents(document)
        blocks = [*reader.blocks(document)]
        title = None
        if (properties := package.get("core-properties")) in archive.namelist():
            found = parse_xml(archive.read(properties)).iter("{*}title")
            title = next((reading.clean_title(element.text) for element in found), None)
    headings = [text for level, text in blocks if level and text]
    text = "\n\n".join(f"{'#' * level} {text}" if level else text for level, text in blocks if text)
    return Document([(None, text)], title or next(iter(headings), None))


def _related_parts(archive: zipfile.ZipFile, path: str) -> dict[str, str]:
    """Return the paths of the parts that a part refers to, by the last word of their types."""
    folder, name = posixpath.split(path)
    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    if relations not in archive.namelist():
        return {}
    parts = {}
    for relation in parse_xml(archive.read(relations)).iter("{*}Relationship"):
        target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", "")))
        parts[relation.get("Type", "").rpartition("/")[2]] = target.lstrip("/")
    return parts


def _attribute(element: Any, name: str) -> str:
    """Return an attribute by its local name; empty if there is none."""
    return next(
        (value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), ""
    )


def _value(element: Any, path: str) -> str:
    """Return the `val` of the element at a path; empty if there is none."""
    found = element.find(path)
    return "" if found is None else _attribute(found, "val")


class _WordReader:
    """Reads the blocks of a document, with its styles and notes."""

    def __init__(self, archive: zipfile.ZipFile, parts: Mapping[str, str]) -> None:
        self._lists = _Lists(_children(archive, parts.get("numbering")))
        self._styles: dict[str, Any] = {}
        self._notes: dict[tuple[str, str], Any] = {}
        for style in _children(archive, parts.get("styles")):
            self._styles[_attribute(style, "styleId")] = style
        for kind in ("footnote", "endnote"):
            for note in _children(archive, parts.get(f"{kind}s")):
                self._notes[f"{kind}Reference", _attribute(note, "id")] = note

    def blocks(self, parent: Any) -> Iterator[tuple[int | None, str]]:
        """Yield paragraphs with their heading level (or None), and tables with a line per row."""
        for element in parent:
            name = xml_name(element)
            if name == "p":
                mark = self._list_mark(element)
                text = "".join(self._texts(element)).strip()
                yield self._heading_level(element), f"{mark}{text}" if text else ""
                for box in _parts_of(element, "txbxContent"):
                    yield from self.blocks(box)
            elif name == "tbl":
                rows = [*_parts_of(element, "tr")]
                yield None, reading.format_table(map(self._cells, rows))
            elif name not in _HIDDEN:
                yield from self.blocks(element)

    def _cells(self, row: Any) -> list[str]:
        if row.find("{*}trPr/{*}del") is not None:
            return []
        cells = []
        for cell in _parts_of(row, "tc"):
            cells.append(" ".join(text for _level, text in self.blocks(cell) if text))
            cells += [""] * min(int(_value(cell, "{*}tcPr/{*}gridSpan") or "1") - 1, _MAX_SPAN)
        return cells

    def _texts(self, element: Any) -> Iterator[str]:
        """Yield the text of a paragraph, with its notes and formulas, in parts."""
        for child in element:
            name = xml_name(child)
            hidden = child.find("{*}rPr/{*}vanish")
            is_hidden = hidden is not None and _attribute(hidden, "val") not in ("0", "false")
            if name in _HIDDEN or is_hidden:
                continue
            if name == "t":
                yield child.text or ""
            elif name in _MARKS:
                yield _MARKS[name]
            elif name == "sym":
                yield _symbol(child)
            elif name in ("footnoteReference", "endnoteReference"):
                yield self._note(name, _attribute(child, "id"))
            else:
                yield office_part(child, "".join(self._texts(child)))

    def _note(self, kind: str, identifier: str) -> str:
        note = self._notes.pop((kind, identifier), ())  # each once, also if it refers to itself
        text = " ".join(text for _level, text in self.blocks(note) if text)
        return f" [{text}]" if text else ""

    def _styles_of(self, paragraph: Any) -> Iterator[Any]:
        """Yield the style of a paragraph and those that it is based on."""
        style = self._styles.get(_value(paragraph, "{*}pPr/{*}pStyle"))
        for _ in range(len(self._styles)):  # a style may be based on itself
            if style is None:
                break
            yield style
            style = self._styles.get(_value(style, "{*}basedOn"))

    def _heading_level(self, paragraph: Any) -> int | None:
        outline = _value(paragraph, "{*}pPr/{*}outlineLvl")
        for number, style in enumerate(self._styles_of(paragraph)):
            name = _value(style, "{*}name").lower()
            if number == 0 and name == "title":
                return 1
            if outline:
                break
            if heading := _HEADING_STYLE.fullmatch(name):
                return int(heading[1])
            outline = _value(style, "{*}pPr/{*}outlineLvl")
        level = int(outline) + 1 if outline.isdecimal() else 0
        return level if 0 < level <= reading.MAX_HEADING_LEVEL else None

    def _list_mark(self, paragraph: Any) -> str:
        """Return the number of a list item, or a hyphen; empty for other paragraphs."""
        level = ""
        for element in (paragraph, *self._styles_of(paragraph)):
            level = level or _value(element, "{*}pPr/{*}numPr/{*}ilvl")
            if number := _value(element, "{*}pPr/{*}numPr/{*}numId"):
                return self._lists.next_mark(number, int(level or "0"))
        return ""


class _Lists:
    """Counts the items of lists by their definitions in `numbering.xml`."""

    def __init__(self, definitions: Any) -> None:
        self._levels: dict[str, list[Any]] = {}
        self._lists: dict[str, tuple[str, Any]] = {}
        self._counts: dict[str, list[int]] = {}
        for element in definitions:
            if xml_name(element) == "abstractNum":
                self._levels[_attribute(element, "abstractNumId")] = element.findall("{*}lvl")
            elif xml_name(element) == "num":
                definition = _value(element, "{*}abstractNumId"), element
                self._lists[_attribute(element, "numId")] = definition

    def next_mark(self, list_id: str, level: int) -> str:
        """Return the mark of the next item of a list; empty if the list is not defined."""
        abstract, definition = self._lists.get(list_id, ("", None))
        levels = self._levels.get(abstract, [])
        if level >= len(levels):
            return ""
        kind = _value(levels[level], "{*}numFmt")
        if kind in ("bullet", "none"):
            return "- " if kind == "bullet" else ""
        # Programs may refer to levels that they do not define.
        starts = [int(_value(item, "{*}start") or "1") for item in levels] + [1] * _MAX_LEVELS
        kinds = [_LIST_KINDS.get(_value(item, "{*}numFmt"), "1") for item in levels]
        kinds += ["1"] * _MAX_LEVELS
        counts = self._counts.setdefault(abstract, [start - 1 for start in starts])
        for override in definition.findall("{*}lvlOverride[{*}startOverride]"):
            restarted = int(_attribute(override, "ilvl"))
            counts[restarted] = int(_value(override, "{*}startOverride")) - 1
            definition.remove(override)  # the list restarts once
        counts[level] += 1
        counts[level + 1 :] = [start - 1 for start in starts[level + 1 :]]

        def number(place: re.Match[str]) -> str:
            index = int(place[1]) - 1
            return reading.format_list_number(max(counts[index], starts[index]), kinds[index])

        mark = re.sub(r"%([1-9])", number, _value(levels[level], "{*}lvlText"))
        return f"{mark} " if mark.strip() else ""


def _children(archive: zipfile.ZipFile, path: str | None) -> Any:
    return parse_xml(archive.read(path)) if path in archive.namelist() else ()


def _parts_of(element: Any, kind: str) -> Iterator[Any]:
    """Yield the rows of a table, the cells of a row or the contents of a paragraph's text boxes.

    Also those in content controls, but no copies of text boxes for old programs.
    """
    for child in element:
        name = xml_name(child)
        if name == kind:
            yield child
        elif name not in _HIDDEN and name not in ("tbl", "tc"):
            yield from _parts_of(child, kind)


def _symbol(element: Any) -> str:
    code = int(_attribute(element, "char") or "0", 16) & 0xFF
    return _SYMBOL_FONT.get(code, "") if _attribute(element, "font") == "Symbol" else ""
