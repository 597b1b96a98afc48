"""Outline and dialogue by a model: prompts and parsed replies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai_server import completion, respond_with
from starlette.exceptions import HTTPException

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.limits import LIMITS
from labext.sandbox.nb.podcasts import llm_writer, writer
from labext.sandbox.nb.podcasts.script import EpisodePlan, Material, Segment, Speaker, Text, Turn
from labext.sandbox.nb.tables import DefaultModel, Model

ALEX = Speaker("Alex", "Led a programme for years.", "Asks one thing at a time.")
ROBIN = Speaker("Robin Hood", "A scientist of the field.", "Names numbers.")
CAST = (ALEX, ROBIN)
MATERIAL = Material("Induction", [Text("Bench notes", "Cells were induced with 0.2 % arabinose.")])
PLAN = [Segment("The switch", "how it works", "short"), Segment("The dose", "how much", "long")]


@pytest.fixture
def summariser(site: Site, add_model: Callable[..., Model]) -> Model:
    """The model of the slot summary, where a prompt has at most 1000 characters of material."""
    model = add_model("summariser")
    with site.database.write() as session:
        session.merge(DefaultModel(slot="summary", model_id=model.id))
        LIMITS.change(session, "model_characters", 1000)
    return model


def outlined(site: Site, model: Model, count: int = 2, **more: object) -> list[Segment]:
    plan = EpisodePlan(MATERIAL, CAST, "For beginners.", count, **more)
    return writer.write_outline(site, model, plan)


def written(
    site: Site, model: Model, on_progress: Callable[[int, int], None] = lambda *_: None
) -> list[Turn]:
    plan = EpisodePlan(MATERIAL, CAST, "For beginners.")
    return writer.write_dialogue(site, model, plan, PLAN, on_progress)


def expected_prompt(*turns: tuple[str, str]) -> str:
    return json.dumps({"transcript": [{"speaker": s, "dialogue": d} for s, d in turns]})


def test_outline_is_parsed_from_the_reply(site, talker, provider):
    provider.replies = lambda _body: (
        'Gladly!\n```json\n{"segments": [{"name": "**The switch**", "description": "how", '
        '"size": "Short"}, {"title": "The dose", "summary": "how much"}, {"name": "Third"}]}\n```'
    )
    assert outlined(site, talker) == [
        Segment("The switch", "how.", "short"),
        Segment("The dose", "how much.", "medium"),
    ]


def test_outline_prompt_contains_the_episode_plan(site, talker, provider):
    provider.replies = lambda _body: '{"segments": [{"name": "The switch"}]}'
    outlined(site, talker, language="German", max_tokens=700)
    (request,) = provider.requests
    names = ("For beginners.", "Alex", "Led a programme", "Asks one thing", "Names numbers")
    material = ("0.2 % arabinose", "Bench notes")
    for entry in (*names, *material, "German", "700", "2 segments"):
        assert entry in request.text
    assert "Induction" not in request.text  # a notebook's name is not a topic
    assert request.body["max_tokens"] == 700
    assert request.body["model"] == "talker"
    outlined(site, talker)
    assert "max_tokens" not in provider.requests[-1].body
    assert "German" not in provider.requests[-1].text


def test_dialogue_is_written_per_segment(site, talker, provider):
    replies = [
        expected_prompt(("ALEX", "Welcome. [laughs]"), ("robin", "It is **0.2 %** [1].")),
        "**Alex:** And the dose?\nNarrator: Silence.\nRobin Hood: Twice as much.",
    ]
    provider.replies = lambda _body: replies.pop(0)
    progress: list[tuple[int, int]] = []
    assert written(site, talker, lambda *counts: progress.append(counts)) == [
        Turn("Alex", "Welcome.", opens=True),
        Turn("Robin Hood", "It is 0.2 %."),
        Turn("Alex", "And the dose?", opens=True),
        Turn("Robin Hood", "Twice as much."),
    ]
    assert progress == [(0, 2), (1, 2), (2, 2)]
    first, second = (request.text for request in provider.requests)
    assert "greet the listeners" in first
    assert "sum up the main findings" not in first
    assert "sum up the main findings" in second
    assert "Robin Hood: It is 0.2 %." in second
    assert "0.2 % arabinose" in second
    assert "The dose" in second


def test_turns_name_the_sources_of_their_facts(site, talker, provider):
    turns = [
        {"speaker": "Alex", "dialogue": "Welcome.", "sources": []},
        {"speaker": "Robin", "dialogue": "Use 0.2 %.", "sources": ["bench notes", "Nature"]},
        {"speaker": "Robin", "dialogue": "That is all.", "source": "Bench notes"},
    ]
    provider.replies = lambda _body: json.dumps({"transcript": turns})
    alex, robin = written(site, talker)[:2]
    assert alex.sources == ()
    assert robin == Turn("Robin Hood", "Use 0.2 %. That is all.", sources=("Bench notes",))


def test_numbers_that_are_not_in_the_material_are_requested_once_more_then_removed(
    site, talker, provider
):
    replies = [
        expected_prompt(
            ("Alex", "Hello."), ("Robin", "It rises 1,200-fold with 0.2 % in 3 steps.")
        ),
        expected_prompt(("Alex", "Hello."), ("Robin", "It rises 500-fold. Use 0.2 %.")),
        expected_prompt(("Alex", "Bye."), ("Robin", "Bye.")),
    ]
    provider.replies = lambda _body: replies.pop(0)
    said = [turn.dialogue for turn in written(site, talker)]
    assert said == ["Hello.", "Use 0.2 %.", "Bye.", "Bye."]
    assert "which are not in the material: 1200." in provider.requests[1].text
    provider.replies = lambda _body: expected_prompt(
        ("Alex", "It was 1987."), ("Robin", "Or 1988.")
    )
    with pytest.raises(HTTPException, match="not in the material: 1987, 1988"):
        written(site, talker)


def test_numbers_of_a_dialogue_may_be_written_in_another_way(site, talker, provider):
    reply = expected_prompt(("Alex", "Hello."), ("Robin", "Use 0,20 % of it."))
    provider.replies = lambda _body: reply
    assert "Use 0,20 % of it." in [turn.dialogue for turn in written(site, talker)]
    assert not any("not in the material" in request.text for request in provider.requests)


def test_missing_speakers_are_requested_once_more(site, talker, provider):
    replies = [
        expected_prompt(("Alex", "Hello.")),
        expected_prompt(("Alex", "Bye.")),
        expected_prompt(("Alex", "Bye."), ("Robin", "Bye.")),
    ]
    provider.replies = lambda _body: replies.pop(0)
    assert {item.speaker for item in written(site, talker)} == {"Alex", "Robin Hood"}
    assert "no dialogue of Alex, Robin Hood" in provider.requests[-1].text


def test_dialogue_that_is_cut_off_or_invalid_is_requested_once_more(site, talker, provider):
    whole = expected_prompt(("Alex", "Hello."), ("Robin", "It does."), ("Alex", "Good night."))
    cut = respond_with(200, completion(whole[:-30], "length"))
    provider.replies = lambda _body: whole
    provider.faults = [cut]
    said = [turn.dialogue for turn in written(site, talker)]
    assert said[:3] == ["Hello.", "It does.", "Good night."]
    assert len(provider.requests) == 3
    assert "cut off at the limit of its length" in provider.requests[1].text

    provider.faults = [cut, cut]
    assert [turn.dialogue for turn in written(site, talker)][:3] == ["Hello.", "It does.", "Hello."]

    provider.faults = [respond_with(200, completion('{"transcript": [{"sp', "length"))] * 2
    with pytest.raises(HTTPException, match=r"cut off at the limit of its length\. .*max_tokens"):
        written(site, talker)


@pytest.mark.parametrize("reply", ["I can't do that.", "{}", '{"transcript": []}', "[1, 2"])
def test_unparsable_reply_is_502(site, talker, provider, reply):
    provider.replies = lambda _body: reply
    with pytest.raises(HTTPException) as failed:
        outlined(site, talker)
    assert failed.value.status_code == 502
    assert reply in failed.value.detail
    assert "no outline" in failed.value.detail
    assert len(provider.requests) == 2
    with pytest.raises(HTTPException, match="no dialogue"):
        written(site, talker)


def test_long_material_is_summarised_by_the_slot_model(site, talker, provider, summariser):
    long = Text("Long", "\n\n".join(f"Paragraph {n} is about the enzyme." * 5 for n in range(20)))
    material = Material("Induction", [long, MATERIAL.texts[0]])
    provider.replies = lambda body: (
        "In short." if body["model"] == "summariser" else '{"segments": [{"name": "A"}]}'
    )
    writer.write_outline(site, talker, EpisodePlan(material, CAST))
    *parts, last = provider.requests
    assert {part.body["model"] for part in parts} == {"summariser"}
    assert last.body["model"] == "talker"
    assert "In short." in last.text
    assert "0.2 % arabinose" in last.text


def test_many_short_notes_are_not_summarised(site, talker, provider, summariser):
    notes = [Text(f"N{n}", f"Plate {n} grew well on the first day. " * 20) for n in range(10)]
    provider.replies = lambda _body: '{"segments": [{"name": "A"}]}'
    writer.write_outline(site, talker, EpisodePlan(Material("Many", notes), CAST))
    (request,) = provider.requests
    assert request.body["model"] == "talker"
    assert all(f"Plate {n} grew" in request.text for n in range(10))


def test_segment_prompt_contains_relevant_material(site, talker, provider):
    with site.database.write() as session:
        LIMITS.change(session, "model_characters", 1500)
    texts = [Text(f"T{n}", f"Filler {n} of little use. " * 40) for n in range(6)]
    texts[4] = Text("T4", "The switch is how it works in detail. " * 20)
    provider.replies = lambda _body: expected_prompt(("Alex", "Hello."), ("Robin", "Hello."))
    plan = EpisodePlan(Material("Much", texts), CAST)
    writer.write_dialogue(site, talker, plan, PLAN[:1], lambda _done, _total: None)
    (request,) = provider.requests
    assert "The switch is how it works in detail." in request.text
    assert len(request.text) < 6000


@pytest.mark.parametrize("count", [40, 400])
def test_titles_count_towards_the_length_of_the_material(site, talker, provider, count):
    with site.database.write() as session:
        LIMITS.change(session, "model_characters", 3000)
    texts = [Text(f"Observation number {n} of the long series", "It grew.") for n in range(count)]
    plan = EpisodePlan(Material("Many", texts), CAST)
    provider.replies = lambda _body: '{"segments": [{"name": "A"}]}'
    writer.write_outline(site, talker, plan)
    provider.replies = lambda _body: expected_prompt(("Alex", "Hello."), ("Robin", "Hello."))
    writer.write_dialogue(site, talker, plan, PLAN[:1], lambda _done, _total: None)
    for request in provider.requests:
        _, _, material = request.text.partition("# The material\n\n")
        material, _, _ = material.partition("\n\n# ")
        assert material.startswith("## Observation number 0")
        assert len(material) <= 3000


@pytest.mark.parametrize(
    "reply",
    [
        '[{"speaker": "Alex", "dialogue": "One."}, {"speaker": "Robin Hood", "dialogue": "Two."}]',
        '{"transcript": [{"speaker": "Alex", "dialogue": "One."}, {"speaker": "Robin", "text": '
        '"Two."}, {"speaker": "Alex", "dialogue": "Thr',
        '{"a": {"b": [{"name": "alex", "line": "One."}, {"Speaker": "ROBIN", "Text": "Two."}]}}',
        "Alex: One.\n\n- **Robin Hood**: Two.\nMy thoughts: none.",
        '{"a": [{"speaker": "Álex", "text": "One.",}, {"speaker": "Hood", "text": "Two."},],}',
        '{"speaker": "Speaker 1", "text": "One."}\n{"speaker": "Speaker 2", "text": "Two."}',
    ],
)
def test_turns_are_parsed_from_any_format(reply):
    assert llm_writer.parse_turns(reply, CAST) == [Turn("Alex", "One."), Turn("Robin Hood", "Two.")]


@pytest.mark.parametrize("start", ["", "- "])
def test_endless_blanks_of_a_model_are_parsed_soon(start):
    started_at = time.process_time()
    assert llm_writer.parse_turns(f"{start}{' ' * 10_000}x", CAST) == []
    assert time.process_time() - started_at < 1


@pytest.mark.parametrize("form", ["json", "lines"])
def test_long_turn_is_spoken_whole(form):
    text = " ".join(f"Sentence **{'abc'[n % 3]}** is as long as others." for n in range(3000))
    reply = f"Alex: {text}" if form == "lines" else expected_prompt(("Alex", text))
    (turn,) = llm_writer.parse_turns(reply, CAST)
    assert turn.dialogue == text.replace("*", "")


def test_outline_is_parsed_from_lines():
    reply = "Here it is:\n1. **The switch**: how it works\n2) The dose\n"
    assert llm_writer.parse_segments(reply, 5) == [
        Segment("The switch", "how it works."), Segment("The dose", ""),
    ]  # fmt: skip


_FIELDS = st.sampled_from(["speaker", "dialogue", "name", "segments", "size"])
_JSON = st.recursive(
    st.text(max_size=5) | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner),
    max_leaves=8,
)


@given(st.text(max_size=200), _JSON)
def test_arbitrary_reply_has_only_known_speakers(text, value):
    for reply in (text, json.dumps(value), f"{text}{json.dumps(value)}"):
        turns = llm_writer.parse_turns(reply, CAST)
        assert {turn.speaker for turn in turns} <= {"Alex", "Robin Hood"}
        assert all(turn.dialogue for turn in turns)
        assert all(segment.name for segment in llm_writer.parse_segments(reply, 3))
