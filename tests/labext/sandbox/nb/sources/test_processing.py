"""What becomes of sources: read or failed with a reason, retried, searched, fetched."""

from __future__ import annotations

import pytest
from labext_test_documents import pdf

pytestmark = pytest.mark.contract

KEY_FINDINGS = "Key findings"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("secret.pdf", pdf(["x"], encrypted=True), "encrypted"),
        ("empty.txt", b"", "empty"),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 99, "picture"),
    ],
)
def test_what_can_not_be_read_fails_with_a_reason(sources, name, content, told):
    made = sources.file(content, name)
    assert made["status"] == "failed"
    assert told in made["error"]
    status = sources.status(made["id"])
    assert (status["status"], status["error"]) == ("failed", made["error"])
    assert made["full_text"] is None
    assert made["passages"] == 0
    assert made["title"] == name
    assert sources.api.get(f"sources/{made['id']}/download").content == content


def test_only_what_failed_is_retried(sources, site, sentence):
    site.status = 404
    with sources.private():
        made = sources.link(site.url)
        assert made["status"] == "failed"
        assert "404" in made["error"]
        site.status = 200
        again = sources.api.told("POST", f"sources/{made['id']}/retry")
        assert (again["id"], again["status"], again["error"]) == (made["id"], "new", None)
        assert sources.until(made["id"])["status"] == "completed"
    found = sources.one(made["id"])
    assert (found["title"], found["kind"]) == ("Induction", "link")
    assert found["full_text"] == "Cells were induced with arabinose."
    assert found["asset"] == {"file_path": None, "url": site.url}
    assert "completed" in sentence(sources.api.post(f"sources/{made['id']}/retry"))
    assert sources.api.get(f"sources/{made['id']}/download").status_code == 404


def test_pages_of_this_machine_are_not_fetched_unless_that_is_allowed(sources, site):
    made = sources.link(site.url)
    assert made["status"] == "failed"
    assert "allow-private" in made["error"]
    assert not site.asked.acquire(blocking=False)


def test_a_page_that_never_answers_is_given_up(sources, site):
    site.go.clear()
    with sources.private(), sources.limit("page_seconds", 1):
        made = sources.link(site.url)
    assert made["status"] == "failed"
    assert "within 1 second" in made["error"]


def test_a_page_over_the_limit_is_given_up(sources, site):
    with sources.private(), sources.limit("page_bytes", 10):
        made = sources.link(site.url)
    assert made["status"] == "failed"
    assert "10 bytes" in made["error"]


def test_a_source_that_takes_too_long_is_stopped(sources, site):
    site.go.clear()
    with sources.private(), sources.limit("source_seconds", 1):
        made = sources.link(site.url)
    assert made["status"] == "failed"
    assert "time limit" in made["error"]
    assert "etry" in made["error"]


def test_source_over_its_memory_limit_fails_and_the_next_is_processed(sources):
    page = "\n".join(["the arabinose promoter of plasmid pBAD30"] * 100_000)
    with sources.limit("source_memory", 300 << 20):
        made = sources.file(pdf([page]), "big.pdf")
        assert made["status"] == "failed"
        assert made["error"] == (
            "The memory limit of 300 MiB was reached. Add it in parts, or allow more: "
            "`labext sandbox nb limits set source_memory`."
        )
        assert sources.text("Cells were induced with arabinose.")["status"] == "completed"


def test_how_far_it_is_can_be_seen(sources, site):
    site.go.clear()
    with sources.private():
        made = sources.api.told("POST", "sources", json={"url": site.url})
        assert site.asked.acquire(timeout=30)
        while (status := sources.until(made["id"], "running"))["stage"] == "starting":
            assert status["completed_at"] is None
        assert status["stage"] == "fetching the page"
        assert "retried" in sources.api.post(f"sources/{made['id']}/retry").json()["detail"]
        site.go.set()
        done = sources.until(made["id"])
    assert (done["status"], done["stage"]) == ("completed", "")


def test_a_source_has_its_key_sentences(sources):
    text = (
        "Glucose represses the arabinose promoter. Without glucose the arabinose promoter leaks. "
        "The weather was fine that day."
    )
    made = sources.text(text)
    (insight,) = sources.api.told("GET", f"sources/{made['id']}/insights")
    assert insight["insight_type"] == KEY_FINDINGS
    assert insight["source_id"] == made["id"]
    assert made["insights_count"] == 1
    for line in insight["content"].splitlines():
        assert line.removeprefix("- “").removesuffix("”") in text


def found(sources, query: str, **more: object) -> list[str]:
    body = {"query": query, **more}
    return [each["parent_id"] for each in sources.api.told("POST", "search", json=body)["results"]]


def test_a_source_is_found_with_its_page(sources):
    made = sources.file(pdf(["Nothing here.", "The quokkazyme was purified."]), "paper.pdf")
    (hit,) = sources.api.told("POST", "search", json={"query": "quokkazyme"})["results"]
    assert (hit["parent_id"], hit["page"]) == (made["id"], 2)
    assert hit["matches"][0] in made["full_text"]
    assert not made["embedded"]


def test_another_title_finds_it_at_once(sources):
    made = sources.text("Some text.", title="Wombatase")
    assert found(sources, "wombatase") == [made["id"]]
    changed = sources.api.told("PUT", f"sources/{made['id']}", json={"title": "Numbatase"})
    assert (changed["title"], changed["topic"]) == ("Numbatase", "")
    changed = sources.api.told("PUT", f"sources/{made['id']}", json={"topic": "enzymes"})
    assert (changed["title"], changed["topic"]) == ("Numbatase", "enzymes")
    assert (found(sources, "wombatase"), found(sources, "numbatase")) == ([], [made["id"]])


def test_with_an_embedding_model_it_is_found_by_its_meaning(sources):
    sources.embed_by("model:wordllama")
    try:
        made = sources.text("The physician cured the patient with medicine.")
        assert made["embedded"]
        assert made["id"] in found(sources, "doctor heals the sick", search_type="vector")
    finally:
        sources.embed_by(None)
