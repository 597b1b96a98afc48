"""Episodes without a language model: quotations of the sources, adapted for speech."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from labext.sandbox.nb.podcasts import writer
from labext.sandbox.nb.podcasts.script import Material, Segment, Speaker, Text, Turn, strip_markup
from labext.sandbox.nb.providers import registry
from labext.sandbox.nb.tables import Model

EXTRACTIVE = Model(id=registry.EXTRACTIVE, name="extractive", kind="llm", provider="built-in")
CAST = tuple(Speaker(name) for name in ("Alex", "Robin", "Morgan", "Sam"))

SWITCH = Text(
    "switch.pdf",
    "# The switch\n\nOne protein, AraC, both represses and activates the araBAD promoter. Without "
    "arabinose an AraC dimer bends the DNA into a loop [3]. The loop keeps **RNA polymerase** away "
    "from the gene. Glucose lowers cyclic AMP (Guzman et al., 1995), because a cell that grows on "
    "it makes little of it.\n\n# The dose\n\nA concentration of 0.2 % arabinose is usual for a "
    "strong induction. Between 0.0002 % and 0.02 % the signal rises thirtyfold in most strains. "
    "However, mixed cultures spoil every average over the tube. Lower the temperature to 25 °C "
    "where the product aggregates.\n\n| dose | signal |\n|---|---|\n| 0.2 % | 760 |\n\n"
    "# References\n\nGuzman L. wrote a long article about the promoter in a journal.",
)
ENZYMES = Text(
    "Restriction enzymes",
    "EcoRI cuts the palindrome between two bases of each strand. The ends that it leaves are "
    "sticky and find each other again. Star activity appears in buffers with much glycerol, "
    "because the enzyme becomes less exact. Heat at 65 °C for 20 minutes stops the reaction. "
    "Methylated DNA is protected against many of these enzymes. See https://example.org/rebase "
    "for a list of them.",
)
INDUCTION = Material("Induction", [SWITCH, ENZYMES])


def ignore(_done: int, _total: int) -> None:
    """Ignore progress."""


def script(
    material: Material, speakers: tuple[Speaker, ...] = CAST[:2], count: int = 3, briefing: str = ""
) -> list[Turn]:
    return writer.template_script(
        material, briefing, writer.template_outline(material, count), speakers, ignore
    )


def quoted(turns: list[Turn]) -> list[str]:
    return [match for turn in turns[1:] for match in re.findall(r"“([^”]*[.!?])”", turn.dialogue)]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_all_speakers_and_no_others_speak(number: int) -> None:
    for material in (INDUCTION, Material("Plan", [Text("", "- vary arabinose\n- ask Dana")])):
        turns = script(material, CAST[:number])
        assert {turn.speaker for turn in turns} == {item.name for item in CAST[:number]}


def test_quotations_are_literal_and_unique() -> None:
    plain = re.sub(r"\*\*| \[3\]| \(Guzman et al\., 1995\)", "", SWITCH.text + " " + ENZYMES.text)
    quotes = quoted(script(INDUCTION))
    assert len(quotes) == len(set(quotes)) >= 8
    assert all(quote in " ".join(plain.split()) for quote in quotes)


def test_quotations_are_read_by_alternating_speakers() -> None:
    readers = [turn.speaker for turn in script(INDUCTION) if turn.dialogue.endswith("”")]
    assert readers == (["Alex", "Robin"] * len(readers))[: len(readers)]


def test_the_source_is_named_before_its_first_quotation_of_a_segment() -> None:
    turns = script(INDUCTION)
    openings = [turn.dialogue.partition(":")[0] for turn in turns if turn.opens][:-1]
    assert openings == ["From “switch”", "From “switch”", "From “Restriction enzymes”"]
    sources = {turn.sources for turn in turns if "“" in turn.dialogue.partition(":")[2]}
    assert sources == {("switch.pdf",), ("Restriction enzymes",)}


def test_the_introduction_names_the_sources_and_not_the_notebook() -> None:
    (first, *_) = script(INDUCTION)
    assert first.speaker == "Alex"
    assert "Induction" not in first.dialogue
    assert "“switch” and “Restriction enzymes”" in first.dialogue
    many = Material("Many", [Text(f"Title {n}", SWITCH.text) for n in range(5)])
    assert "“Title 2” and 2 more" in script(many)[0].dialogue
    assert "It is “Restriction enzymes”." in script(Material("One", [ENZYMES]))[0].dialogue


def test_markup_citations_and_tables_are_not_spoken() -> None:
    expected = " ".join(turn.dialogue for turn in script(INDUCTION, count=20))
    for left_out in ("[3]", "**", "#", "|", "http", "et al", "760", "journal"):
        assert left_out not in expected


def test_table_of_a_pdf_that_looks_like_a_sentence_is_not_spoken() -> None:
    table = "Arabinose Signal none 4 0.0002 % 18 0.002 % 140 0.02 % 520 0.2 % 760"
    samples = "Take samples of 1 ml at 0, 1, 2 and 4 hours from every flask."
    text = f"{table} Above this dose the fluorescence gains only little. {samples}"
    assert quoted(script(Material("Dose", [Text("dose.pdf", text)]))) == [samples]


def test_segments_are_the_sections_of_the_material() -> None:
    segments = writer.template_outline(INDUCTION, 3)
    names = [segment.name for segment in segments]
    assert names == ["The switch", "The dose", "Restriction enzymes"]
    assert segments[0].description == "Quotations from switch"
    (segment,) = writer.template_outline(INDUCTION, 1)
    assert segment.name == "The switch"
    assert segment.description == "Quotations from switch, Restriction enzymes"


def test_segments_with_the_same_name_are_numbered() -> None:
    text = "\n\n".join(
        f"# {heading}\n\n"
        + " ".join(f"Protein P{part}{n} binds ligand L{n} in tissue." for n in range(6))
        for part, heading in enumerate(["Results", "Methods", "Results"])
    )
    names = [
        item.name for item in writer.template_outline(Material("Long", [Text("Long", text)]), 3)
    ]
    assert names == ["Results", "Methods", "Results, part 2"]


def test_segment_size_sets_the_number_of_quotations() -> None:
    text = " ".join(f"Protein P{n} binds ligand L{n} of pathway{n} in tissue." for n in range(40))
    material = Material("Long", [Text("Long", text)])
    for size, count in writer.SEGMENT_SENTENCES.items():
        turns = writer.template_script(material, "", [Segment("All", "", size)], CAST[:2], ignore)
        assert len(quoted(turns)) == count


def test_briefing_selects_sentences() -> None:
    many = [f"Sample {n} of batch{n} was stored in freezer{n} by colleague{n}." for n in range(40)]
    many[23] = "Sample 23 glowed under ultraviolet light after a night in darkness."
    material = Material("Samples", [Text("Log", " ".join(many))])
    assert many[23] in quoted(script(material, count=1, briefing="ultraviolet light"))


def test_progress_counts_segments() -> None:
    calls: list[tuple[int, int]] = []
    outline = writer.template_outline(INDUCTION, 3)
    writer.template_script(INDUCTION, "", outline, CAST[:2], lambda *count: calls.append(count))
    assert calls == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_data_in_one_line_are_not_quoted() -> None:
    data = json.dumps([{"_id": number, "_state": "grown"} for number in range(3000)])
    material = Material("Data", [Text("states.json", data), ENZYMES])
    started_at = time.process_time()
    assert not any("state" in quote for quote in quoted(script(material)))
    assert time.process_time() - started_at < 3  # would take a minute


def test_empty_material_and_other_languages_are_refused() -> None:
    with pytest.raises(HTTPException, match="no sentence that can be spoken"):
        script(Material("Empty", [Text("x", "https://example.org/a")]))
    for language in (None, "en", "English", "en-GB", " English (US) "):
        writer.check_language(EXTRACTIVE, language)
    with pytest.raises(HTTPException, match="only writes English"):
        writer.check_language(EXTRACTIVE, "German")


@given(st.text(max_size=200), st.integers(1, 20), st.integers(1, 4))
def test_arbitrary_text_gives_speakable_turns(text: str, count: int, number: int) -> None:
    material = Material("Any", [Text("A title", text), ENZYMES])
    assert 1 <= len(writer.template_outline(material, count)) <= count
    turns = script(material, CAST[:number], count)
    assert {turn.speaker for turn in turns} == {item.name for item in CAST[:number]}
    for turn in turns:
        assert turn.dialogue.strip()
        assert "\n" not in turn.dialogue


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("**Glucose** represses it [1, 2] (Guzman et al., 1995).", "Glucose represses it."),
        ("See [the page](https://example.org/a?b=1).", "See the page."),
        ("# Head\n- item one\n- item `two`", "Head. item one. item two."),
        ("| a | b |\n|---|---|\nText after. (Fig. 2a)", "Text after."),
        ("Hello *laughs* [laughs] (chuckles) there 😀!", "Hello there!"),
        ("A &amp; B [source:abc#1] <b>bold</b>", "A & B bold."),
        ("pBAD_30 at 37 °C", "pBAD_30 at 37 °C."),
        ("https://example.org/", ""),
    ],
)
def test_speakable_removes_markup(text: str, spoken: str) -> None:
    assert strip_markup(text) == spoken
