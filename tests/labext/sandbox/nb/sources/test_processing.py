"""Processing of sources: completed, failed with a reason, retried, searched, downloaded."""

from __future__ import annotations

import pytest
from labext_test_documents import partly_scanned_pdf, pdf
from nb_service import detail
from waiting import wait_until

pytestmark = pytest.mark.contract

KEY_FINDINGS = "Key findings"


def test_unreadable_source_fails_with_a_reason(sources):
    content = pdf(["x"], encrypted=True)
    created = sources.file(content, "secret.pdf")
    assert created["status"] == "failed"
    assert "encrypted" in created["error"]
    status = sources.status(created["id"])
    assert (status["status"], status["error"]) == ("failed", created["error"])
    assert created["full_text"] is None
    assert created["passages"] == 0
    assert created["title"] == "secret.pdf"
    assert sources.get(f"sources/{created['id']}/download").content == content


def test_only_failed_sources_are_retried(sources, site):
    site.status = 404
    with sources.private():
        created = sources.link(site.url)
        assert created["status"] == "failed"
        assert "404" in created["error"]
        site.status = 200
        again = sources.call("POST", f"sources/{created['id']}/retry")
        assert (again["id"], again["status"], again["error"]) == (created["id"], "new", None)
        assert sources.until(created["id"])["status"] == "completed"
    result = sources.one(created["id"])
    assert (result["title"], result["kind"]) == ("Induction", "link")
    assert result["full_text"] == "Cells were induced with arabinose."
    assert result["asset"] == {"file_path": None, "url": site.url}
    assert "completed" in detail(sources.post(f"sources/{created['id']}/retry"))
    assert sources.get(f"sources/{created['id']}/download").status_code == 404


def test_source_with_recognized_text_has_a_remark(sources):
    created = sources.file(partly_scanned_pdf(), "scan.pdf")
    assert created["status"] == "completed"
    status = sources.status(created["id"])
    assert "1 of its 3 pages" in status["remark"]
    assert status["message"].endswith(status["remark"])
    listed = {source["id"]: source["remark"] for source in sources.call("GET", "sources")}
    assert listed[created["id"]] == status["remark"]
    assert sources.call("POST", f"sources/{created['id']}/retry")["status"] == "new"


@pytest.mark.parametrize(
    "body", [b"", b"<title>App</title><div id=root></div><script>a()</script>"]
)
def test_page_without_text_suggests_a_browser(sources, site, body):
    site.body = body
    with sources.private():
        created = sources.link(site.url)
    assert created["error"].startswith("The page contains no text; it may need a sign-in")


def test_private_pages_are_not_fetched_by_default(sources, site):
    created = sources.link(site.url)
    assert created["status"] == "failed"
    assert "To allow it: `labext sandbox nb fetch allow-private" in created["error"]
    assert not site.requested.acquire(blocking=False)


@pytest.mark.parametrize(
    ("limit", "value", "expected"),
    [
        ("page_seconds", 1, "within 1 second"),
        ("source_seconds", 1, "time limit"),
        ("page_bytes", 10, "10 bytes"),
    ],
)
def test_page_over_a_limit_fails(sources, site, limit, value, expected):
    if limit != "page_bytes":
        site.go.clear()
    with sources.private(), sources.limit(limit, value):
        created = sources.link(site.url)
    assert created["status"] == "failed"
    assert expected in created["error"]


def test_source_over_its_memory_limit_fails_and_the_next_is_processed(sources):
    page = "\n".join(["the arabinose promoter of plasmid pBAD30"] * 100_000)
    with sources.limit("source_memory", 300 << 20):
        created = sources.file(pdf([page]), "big.pdf")
        assert created["status"] == "failed"
        assert created["error"] == (
            "The memory limit of 300 MiB was reached. Add it in parts, or allow more: "
            "`labext sandbox nb limits set source_memory VALUE "
            f"--data-dir {sources.folder.parent}`."
        )
        assert sources.text("Cells were induced with arabinose.")["status"] == "completed"


def test_status_reports_the_stage(sources, site):
    site.go.clear()
    with sources.private():
        created = sources.call("POST", "sources", json={"url": site.url})
        assert site.requested.acquire(timeout=30)
        while (status := sources.until(created["id"], "running"))["stage"] == "starting":
            assert status["completed_at"] is None
        assert status["stage"] == "fetching the page"
        assert "retried" in sources.post(f"sources/{created['id']}/retry").json()["detail"]
        site.go.set()
        done = sources.until(created["id"])
    assert (done["status"], done["stage"]) == ("completed", "")


def test_source_has_an_insight_of_key_sentences(sources):
    text = (
        "Glucose represses the arabinose promoter. Without glucose the arabinose promoter leaks. "
        "The weather was fine that day."
    )
    created = sources.text(text)
    (insight,) = sources.call("GET", f"sources/{created['id']}/insights")
    assert insight["insight_type"] == KEY_FINDINGS
    assert insight["source_id"] == created["id"]
    assert created["insights_count"] == 1
    for line in insight["content"].splitlines():
        assert line.removeprefix("- “").removesuffix("”") in text


def search(sources, query: str) -> list[str]:
    body = {"query": query}
    return [result["parent_id"] for result in sources.call("POST", "search", json=body)["results"]]


def test_search_hit_has_the_page(sources):
    created = sources.file(pdf(["Nothing here.", "The quokkazyme was purified."]), "paper.pdf")
    (hit,) = sources.call("POST", "search", json={"query": "quokkazyme"})["results"]
    assert (hit["parent_id"], hit["page"]) == (created["id"], 2)
    assert hit["matches"][0] in created["full_text"]
    assert not created["embedded"]


def test_updated_title_is_searchable_at_once(sources):
    created = sources.text("Some text.", title="Wombatase")
    assert search(sources, "wombatase") == [created["id"]]
    changed = sources.call("PUT", f"sources/{created['id']}", json={"title": "Numbatase"})
    assert (changed["title"], changed["topic"]) == ("Numbatase", "")
    changed = sources.call("PUT", f"sources/{created['id']}", json={"topic": "enzymes"})
    assert (changed["title"], changed["topic"]) == ("Numbatase", "enzymes")
    assert (search(sources, "wombatase"), search(sources, "numbatase")) == ([], [created["id"]])


def test_vectors_of_many_passages_follow_in_the_background(sources):
    sources.embed_by("model:all-minilm-l6-v2")
    try:
        pages = [f"Plasmid {number} has an origin." for number in range(33)]
        created = sources.file(pdf(pages), "plasmids.pdf")
        assert created["status"] == "completed"
        assert not created["embedded"]
        assert sources.text("A short text.")["embedded"]
        wait_until(lambda: sources.one(created["id"])["embedded"], 60)
    finally:
        sources.embed_by(None)
