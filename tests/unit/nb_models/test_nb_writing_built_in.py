"""Outline and dialogue by the built-in model: of the sources' own words, and made to be heard."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from labext.sandbox.nb.models import registry
from labext.sandbox.nb.podcasts import phrases, writing
from labext.sandbox.nb.podcasts.facts import facts
from labext.sandbox.nb.podcasts.script import Material, Segment, Speaker, Text, Turn
from labext.sandbox.nb.podcasts.speakable import speakable
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site

EXTRACTIVE = Model(id=registry.EXTRACTIVE, name="extractive", kind="llm", provider="built-in")
CAST = (
    Speaker("Alex", "", "Curious; asks one thing at a time."),
    Speaker("Robin", "A scientist of the field."),
    Speaker("Morgan", "An expert."),
    Speaker("Sam", "A student."),
)

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
SWITCHING = Material("Switching", [SWITCH])
CUTTING = Material("Cutting", [ENZYMES])


def made(
    site: Site,
    material: Material,
    speakers: tuple[Speaker, ...] = CAST[:2],
    count: int = 3,
    briefing: str = "",
) -> list[Turn]:
    segments = writing.outline(site, EXTRACTIVE, material, briefing, count, speakers)
    return writing.dialogue(
        site, EXTRACTIVE, material, briefing, segments, speakers, lambda _done, _total: None
    )


def sayings() -> list[str]:
    pools = [*phrases.ASKED.values(), *phrases.OPENED.values(), *phrases.LED.values()]
    pools += [phrases.HEARD, phrases.NOTICED, phrases.ANSWERED, phrases.HANDED, phrases.BEGUN]
    pools += [phrases.CHANGED, phrases.SOURCED, phrases.LAST, phrases.LAST_ALONE]
    return [re.escape(each).replace(r"\{topic\}", ".+?").replace(r"\{who\}", ".+?")
            for pool in pools for each in pool]  # fmt: skip


def said_between(turns: list[Turn], material: Material) -> str:
    """What is said that is no fact of the material, which stands there word for word."""
    told = " ".join(turn.dialogue for turn in turns)
    for fact in sorted((f for text in facts(material) for f in text), key=lambda f: -len(f.text)):
        told = told.replace(fact.text, " ")
    return told


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_everybody_speaks_and_nobody_else(site: Site, number: int):
    turns = made(site, INDUCTION, CAST[:number])
    assert {turn.speaker for turn in turns} == {each.name for each in CAST[:number]}


@pytest.mark.parametrize("number", [1, 2, 4])
def test_what_is_no_fact_is_a_saying_or_a_name(site: Site, number: int):
    rest = said_between(made(site, INDUCTION, CAST[:number]), INDUCTION)
    rest = re.sub(
        r"(?:I am|With me|What we have in front|Today we talk|Thank|My thanks)[^.]*\.", "", rest
    )
    rest = re.sub(r"Welcome\.|Hello[\w, ]*\.|Good to be here\.", "", rest)
    for saying in sorted(sayings(), key=len, reverse=True):
        rest = re.sub(saying, "", rest)
    assert not rest.strip()


def test_every_fact_stands_in_a_source_word_for_word(site: Site):
    plain = re.sub(r"\*\*| \[3\]| \(Guzman et al\., 1995\)", "", SWITCH.text + " " + ENZYMES.text)
    found = [fact.text for text in facts(INDUCTION) for fact in text]
    assert len(found) >= 10
    told = " ".join(turn.dialogue for turn in made(site, INDUCTION))
    for each in found:
        assert each in " ".join(plain.split())
        assert told.count(each) <= 1
    assert sum(each in told for each in found) >= 8


def test_what_is_not_to_be_heard_is_not_said(site: Site):
    told = " ".join(turn.dialogue for turn in made(site, INDUCTION))
    for left_out in ("[3]", "**", "#", "|", "http", "et al", "760", "journal"):
        assert left_out not in told


def test_different_notebooks_have_different_dialogues(site: Site):
    one, other = made(site, SWITCHING), made(site, CUTTING)
    assert one == made(site, SWITCHING)
    assert not {turn.dialogue for turn in one[2:-1]} & {turn.dialogue for turn in other[2:-1]}
    assert "AraC" not in " ".join(turn.dialogue for turn in other)


def test_no_phrase_is_said_twice(site: Site):
    long = Text("Long", " ".join(
        f"Enzyme Abc{n} needs {n} mM of compound number{n} in buffer{n} and acts on site{n}."
        for n in range(60)
    ))  # fmt: skip
    turns = made(site, Material("Long", [long, SWITCH]), count=8)
    sentences = Counter(
        each for turn in turns for each in re.split(r"(?<=[.?!]) ", turn.dialogue) if each
    )
    assert len(turns) > 40
    assert {each: n for each, n in sentences.items() if n > 1} == {}


def test_the_length_follows_the_segments_and_the_material(site: Site):
    long = Text("Long", "\n\n".join(
        f"# Part {p}\n\n" + " ".join(
            f"Protein P{p}x{n} binds ligand L{n} of pathway{p} in tissue{n} and liver{p}{n}."
            for n in range(12)) for p in range(6)))  # fmt: skip
    lengths = [len(made(site, Material("Long", [long]), count=count)) for count in (1, 3, 6)]
    assert lengths == sorted(lengths)
    assert lengths[2] > 2 * lengths[0]
    assert len(made(site, CUTTING, count=6)) < lengths[2]


def test_an_outline_names_the_materials_own_parts(site: Site):
    segments = writing.outline(site, EXTRACTIVE, INDUCTION, "", 3, CAST[:2])
    assert [each.name for each in segments] == ["The switch", "The dose", "Restriction enzymes"]
    (one,) = writing.outline(site, EXTRACTIVE, INDUCTION, "", 1, CAST[:2])
    assert one.name == "The switch and The dose", "it begins with the first"
    bench = Material("Bench", [ENZYMES, Text("", "some words")])
    (one,) = writing.outline(site, EXTRACTIVE, bench, "", 1, CAST[:2])
    assert one.name == "Restriction enzymes", "and not of a note that comes last"


def test_an_outline_of_another_model_is_followed(site: Site):
    segments = [Segment("Sticky ends", "what EcoRI leaves"), Segment("Arabinose", "glucose")]
    turns = writing.dialogue(
        site, EXTRACTIVE, INDUCTION, "", segments, CAST[:2], lambda _done, _total: None
    )
    told = " ".join(turn.dialogue for turn in turns)
    assert told.index("Sticky ends") < told.index("sticky and find") < told.index("“Arabinose”")


def test_results_that_differ_in_a_name_and_a_figure_are_all_told(site: Site):
    strains = {"BL21": "0.4", "DH5α": "0.9", "TOP10": "1.3", "araC": "0.7"}
    grown = {
        name: f"The strain {name} grew to an optical density of {density} overnight at 37 °C."
        for name, density in strains.items()
    }
    notes = [Text(f"Note {name}", text) for name, text in grown.items()]
    again = Text("The same again", f"{grown['BL21'].removesuffix('.')} in rich medium.")
    turns = made(site, Material("Strains", [*notes, again]))
    told = " ".join(turn.dialogue for turn in turns)
    assert [told.count(text) for text in grown.values()] == [1, 1, 1, 1]
    assert "rich medium" not in told
    assert "grew?" not in told


def test_nothing_is_asked_as_if_something_had_been_said(site: Site):
    back = {each for pool in phrases.ASKED.values() for each in pool}
    back -= {each for pool in phrases.OPENED.values() for each in pool}
    for number in range(20):
        turns = made(site, Material(f"Induction {number}", [SWITCH, ENZYMES]))
        for turn in (turn for turn in turns if turn.opens):
            assert not any(turn.dialogue.endswith(each) for each in back if "{" not in each)


def test_the_briefing_chooses_among_many_facts(site: Site):
    many = [f"Sample {n} of batch{n} was stored in freezer{n} by colleague{n}." for n in range(40)]
    many[23] = "Sample 23 glowed under ultraviolet light after a night in darkness."
    material = Material("Samples", [Text("Log", " ".join(many))])
    told = made(site, material, count=1, briefing="What is said about ultraviolet light?")
    assert many[23] in " ".join(turn.dialogue for turn in told)


def test_notes_in_a_few_words_are_enough(site: Site):
    turns = made(site, Material("Plan", [Text("", "- vary arabinose\n- ask Dana")]), CAST)
    assert {turn.speaker for turn in turns} == {each.name for each in CAST}
    assert "vary arabinose" in " ".join(turn.dialogue for turn in turns)


@pytest.mark.parametrize("word", ["because it", "since glucose", "despite what", "never while it"])
def test_whatever_kind_of_fact_is_the_first_is_asked_for(site: Site, word: str):
    facts = [f"Arabinose opens promoter {n} {word} binds regulator {n} tightly." for n in range(4)]
    turns = made(site, Material("First", [Text("Notes", " ".join(facts))]), CAST)
    assert "Arabinose opens promoter 0" in " ".join(turn.dialogue for turn in turns)


def test_nothing_to_say_and_another_language_are_refused(site: Site):
    with pytest.raises(HTTPException, match="no sentence that can be spoken"):
        made(site, Material("Empty", [Text("x", "https://example.org/a")]))
    for language in (None, "en", "English", "en-GB", " English (US) "):
        writing.check(EXTRACTIVE, language)
    with pytest.raises(HTTPException, match="in English alone"):
        writing.check(EXTRACTIVE, "German")


@settings(max_examples=25)
@given(st.text(max_size=200), st.integers(1, 20), st.integers(1, 4))
def test_whatever_the_text_is_what_is_said_can_be_spoken(text: str, count: int, number: int):
    material = Material("Any", [Text("A title", text), ENZYMES])
    speakers = CAST[:number]
    segments = writing.outline(None, EXTRACTIVE, material, "", count, speakers)  # type: ignore[arg-type]
    assert 1 <= len(segments) <= count
    turns = writing.dialogue(
        None,
        EXTRACTIVE,
        material,
        "",
        segments,
        speakers,
        lambda _done, _total: None,  # type: ignore[arg-type]
    )
    assert {turn.speaker for turn in turns} == {each.name for each in speakers}
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
def test_text_is_made_to_be_spoken(text: str, spoken: str):
    assert speakable(text) == spoken
