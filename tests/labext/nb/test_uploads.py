"""Requests are validated before anything is sent: files, models, credentials, profiles."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest

from labext.errors import InputError, NotFoundError, ServiceError
from labext.nb import NotebookClient, uploads
from labext.nb.backends import RequestExecutor
from labext.nb.backends.contract import ContractBackend
from labext.nb.models import validate_slot
from labext.nb.podcasts import validate_speakers
from labext.nb.questions import read_questions

FIELDS: dict[str, Any] = {"notebook": None, "title": None, "topic": None, "process_async": True}


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    path = tmp_path / "paper.pdf"
    path.write_bytes(b"%PDF")
    return path


def test_invalid_file_states_the_reason(paper, tmp_path):
    assert uploads.validate_file(str(paper)) == paper
    with pytest.raises(InputError, match="is a folder"):
        uploads.validate_file(tmp_path)
    (tmp_path / "out" / "cut").mkdir(parents=True)
    (tmp_path / "out" / ".hidden.md").touch()
    for names, patterns in (
        ((), ["**/*"]),
        (["cut/a.csv"], ["**/*.csv"]),
        (["b.md", "c.gb"], ["*.gb", "*.md"]),
    ):
        for name in names:
            (tmp_path / "out" / name).touch()
        with pytest.raises(InputError) as caught:
            uploads.validate_file(tmp_path / "out")
        expected = ", ".join(f'"{tmp_path / "out" / pattern}"' for pattern in patterns)
        assert caught.value.next_step == f"Add its files: {expected}."
    with pytest.raises(InputError, match=r'did you mean "paper\.pdf"'):
        uploads.validate_file(tmp_path / "papre.pdf")
    with pytest.raises(InputError, match="There is no file"):
        uploads.validate_file(tmp_path / "none" / "at all.pdf")
    with pytest.raises(InputError, match="There is no file"):
        uploads.validate_file(tmp_path / ("n" * 300))
    (tmp_path / "gel.png").symlink_to("nowhere.png")
    with pytest.raises(InputError, match=r"There is no file .*gel\.png\."):
        uploads.validate_file(tmp_path / "gel.png")
    (tmp_path / "empty.pdf").touch()
    with pytest.raises(InputError, match="is empty"):
        uploads.validate_file(tmp_path / "empty.pdf")


@pytest.mark.parametrize("read", [uploads.validate_file, read_questions])
def test_path_in_the_home_of_an_unknown_user_is_an_error(read):
    with pytest.raises(InputError, match="is not a path"):
        read("~no such user/paper.csv")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file_is_an_error(paper):
    paper.chmod(0)
    with pytest.raises(InputError, match="can't be read"):
        uploads.validate_file(paper)


@pytest.mark.parametrize("url", ["https://example.org/page", " http://example.org "])
def test_http_urls_are_accepted(url):
    assert uploads.is_url(url)
    assert uploads.validate_url(url) == url.strip()


@pytest.mark.parametrize(
    "url", ["", "example.org", "ftp://example.org", "https://", "file:///x", "http://["]
)
def test_other_urls_are_rejected(url):
    with pytest.raises(InputError, match="is not a URL"):
        uploads.validate_url(url)


@pytest.mark.parametrize(
    ("stored_name", "name"),
    [
        ("paper.pdf", "paper.pdf"),
        ("/data/uploads/paper.pdf", "paper.pdf"),
        ("..\\..\\paper.pdf", "paper.pdf"),
        ("../../etc/passwd", "passwd"),
    ],
)
def test_original_file_name_has_no_folder(stored_name, name):
    assert uploads.original_file_name({"file_name": stored_name}) == name


@pytest.mark.parametrize("stored_name", [None, "", "..", "/", "a/.."])
def test_source_without_a_file_has_no_original(stored_name):
    with pytest.raises(NotFoundError, match="Bench notes"):
        uploads.original_file_name(
            {"file_name": stored_name, "title": "Bench notes", "id": "source:1"}
        )


class TestAddSeveral:
    """Files and URLs, in this order."""

    @pytest.fixture
    def requests(self, wire: RequestExecutor) -> list[Any]:
        requests: list[Any] = []

        def send(request: Any, on_bytes: Any = None) -> Any:
            requests.append(request)
            if on_bytes is not None:
                on_bytes(4, 4)
            if request.json and "refused" in request.json["url"]:
                raise InputError("Too large.", "Add a smaller one.", status=413)
            if request.json and "missing" in request.json["url"]:
                raise NotFoundError("No such notebook.", "Look.", status=404)
            if request.json and "broken" in request.json["url"]:
                raise ServiceError("It failed.", "Look.")
            return {"id": f"source:{len(requests)}", "title": "t"}

        wire.send = send
        return requests

    def add_several(self, wire: RequestExecutor, items: Any, on_bytes: Any = None) -> list[Any]:
        steps = uploads.add_several(wire, ContractBackend(), items, FIELDS, on_bytes)
        return [record for _, record in steps]

    def test_files_and_urls_are_sent_in_order(self, wire, requests, paper):
        progress: list[Any] = []
        items = [paper, "https://example.org/page", paper]
        records = self.add_several(wire, items, lambda *counts: progress.append(counts))
        assert [record["id"] for record in records] == ["source:1", "source:2", "source:3"]
        assert [bool(request.files) for request in requests] == [True, False, True]
        assert progress == [("paper.pdf", 4, 4)] * 2

    def test_titles_of_tables_with_the_same_name_have_their_folders(self, wire, requests, tmp_path):
        names = ["out/a/cut.csv", "out/b/c/cut.csv", "out/cut.csv", "a.csv", "x/a.md", "y/a.md"]
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("length\n1200")
        self.add_several(wire, [tmp_path / name for name in names])
        titles = [request.form.get("title") for request in requests]
        assert titles == ["a/cut.csv", "b/c/cut.csv", "cut.csv", None, None, None]

    def test_items_are_validated_and_each_returned_once(self, paper, tmp_path):
        url = "https://example.org/page"
        items = uploads.validate_items([str(paper), f" {url}", paper, url])
        assert items == [paper, url]
        assert uploads.validate_items(str(paper)) == [paper]
        with pytest.raises(InputError, match="There is no file"):
            uploads.validate_items([paper, tmp_path / "none.pdf"])

    def test_failure_names_the_item_and_counts_those_added(self, wire, requests, paper):
        with pytest.raises(ServiceError) as caught:
            self.add_several(wire, [paper, "https://example.org/broken", paper])
        assert caught.value.message == (
            "https://example.org/broken (1 of 3 were added before it): It failed."
        )
        assert str(caught.value) == f"{caught.value.message} Look."
        assert len(requests) == 2

    def test_rejected_item_does_not_stop_the_others(self, wire, requests, paper):
        items = ["https://example.org/refused", paper]
        records: list[Any] = []
        with pytest.raises(InputError) as caught:
            records.extend(uploads.add_several(wire, ContractBackend(), items, FIELDS))
        assert caught.value.message == (
            "1 of 2 were added. Rejected: https://example.org/refused: Too large."
        )
        assert caught.value.next_step == "Add a smaller one."
        assert len(requests) == 2
        rejected: dict[Any, InputError] = {}
        steps = uploads.add_several(
            wire, ContractBackend(), items, FIELDS, on_rejected=rejected.__setitem__
        )
        assert len(list(steps)) == 1
        assert list(rejected) == items[:1]

    def test_rejection_not_caused_by_the_item_stops(self, wire, requests):
        with pytest.raises(NotFoundError, match="missing: No such notebook"):
            self.add_several(wire, ["https://example.org/missing", "https://example.org/page"])
        assert all("missing" in request.json["url"] for request in requests)


KEY = "a-key-like-no-other-1729"


class EchoService:
    """A service that echoes records as stored, and lists those in `listed`."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.listed: dict[str, Any] = {}
        self.failure: str | None = None

    def send(self, request: Any, on_bytes: Any = None) -> Any:
        if request.op.method == "GET":
            return self.listed.get(request.op.path, [])
        if self.failure is not None:
            raise ServiceError(self.failure, "Check it.")
        self.sent.append(request.json)
        return {"id": "thing:1", **(request.json or {})}


@pytest.fixture
def service() -> EchoService:
    return EchoService()


@pytest.fixture
def nb(service: EchoService, monkeypatch: pytest.MonkeyPatch) -> NotebookClient:
    client = NotebookClient("http://127.0.0.1:1/api", rate=None, backend="contract")
    monkeypatch.setattr(client._executor, "send", service.send)
    return client


@pytest.mark.parametrize("limit", [0, True, "5", 2.5])
def test_invalid_limit_is_refused_by_every_method(service, nb, limit):
    for act in (
        nb.search,
        nb.ask,
        nb.ask_stream,
        lambda _, limit: nb.sources.list(limit=limit),
        lambda _, limit: nb.commands.list(limit=limit),
    ):
        with pytest.raises(InputError, match=f"The limit is {limit!r}"):
            act("Why?", limit=limit)
    with pytest.raises(InputError, match="The offset is '1'"):
        nb.sources.list(offset="1")
    assert service.sent == []


def test_unknown_option_is_named_with_the_similar_one(service, nb):
    for act in (nb.search, nb.ask, nb.ask_stream):
        with pytest.raises(TypeError, match=r"^unexpected .*'notes_ids' \(did you mean .note_ids"):
            act("Why?", notes_ids=["a"])
    with pytest.raises(TypeError, match=r"^unexpected .*'model_override'"):
        nb.search("glucose", model_override="gpt-4o")
    with pytest.raises(TypeError, match=r"^unexpected .*'limit'"):
        nb.chat.execute("session", "Why?", limit=3)
    with pytest.raises(TypeError, match=r"^unexpected .*'segments' \(did you mean .num_segments"):
        nb.episode_profiles.create("short", segments=2)
    assert service.sent == []


@pytest.mark.parametrize(
    ("text", "problem"), [("", "is empty"), (" \n", "is empty"), (math.nan, 'is not text: "nan"')]
)
def test_blank_text_or_value_that_is_no_text_is_not_sent(service, nb, text, problem):
    for noun, send in {
        "text": nb.sources.add_text,
        "question": nb.ask,
        "message": lambda message: nb.chat.execute("chat_session:1", message),
    }.items():
        with pytest.raises(InputError, match=f"The {noun} {problem}"):
            send(text)
    with pytest.raises(InputError, match=f"The message {problem}"):
        nb.source_chats.send("source:1", "chat_session:1", text)
    with pytest.raises(InputError, match=f"The text {problem}"):
        nb.transformations.execute("transformation:1", text)
    assert service.sent == []


class TestKeys:
    def test_key_is_stripped(self, service, nb):
        nb.credentials.create("openai", "lab", f" {KEY}\n", "http://127.0.0.1:1/v1")
        assert service.sent == [
            {
                "provider": "openai",
                "name": "lab",
                "api_key": KEY,
                "base_url": "http://127.0.0.1:1/v1",
            }
        ]

    @pytest.mark.parametrize("key", ["", "  \n", 7, b"bytes"])
    def test_empty_key_is_rejected(self, service, nb, key):
        with pytest.raises(InputError, match="The key is empty"):
            nb.credentials.create("openai", "lab", key)
        assert service.sent == []

    def test_empty_value_clears_a_field(self, service, nb):
        nb.credentials.update("credential:1", api_key="", base_url="")
        nb.credentials.update("credential:1", name="home")
        assert service.sent == [{"api_key": None, "base_url": None}, {"name": "home"}]
        with pytest.raises(InputError, match="No changes to the credential"):
            nb.credentials.update("credential:1")
        nb.chat.update("chat_session:1", model_override="")
        assert service.sent[2:] == [{"model_override": None}]

    def test_stored_key_stays_with_the_server_of_an_endpoint(self, service, nb):
        stored = {"id": "credential:1", "name": "lab", "provider": "azure", "has_api_key": True}
        service.listed["credentials/{credential}"] = stored | {"endpoint": "https://az.example/"}
        options = {"endpoint_llm": "https://az.example/llm"}
        nb.credentials.update("credential:1", options=options)
        assert service.sent == [options]
        with pytest.raises(InputError, match="another server"):
            nb.credentials.update("credential:1", options={"endpoint_tts": "https://x.example"})

    @pytest.mark.parametrize("before", ["https://models.example/v1", None])
    def test_stored_key_is_never_sent_to_another_server(self, service, nb, before):
        stored = {"id": "credential:1", "name": "lab", "provider": "openai", "has_api_key": True}
        service.listed["credentials/{credential}"] = stored | {"base_url": before}
        for other in (
            "https://other.example/v1",
            "http://models.example/v1",
            "https://models.example:8/",
        ):
            with pytest.raises(InputError, match="another server") as caught:
                nb.credentials.update("credential:1", base_url=other)
            assert "api_key=" in caught.value.next_step
        assert service.sent == []
        nb.credentials.update("credential:1", base_url=other, api_key=KEY)
        nb.credentials.update("credential:1", base_url=other, api_key="")
        nb.credentials.update("credential:1", base_url=before and f"{before}/more", name="home")
        assert len(service.sent) == 3

    def test_url_of_a_credential_without_a_key_can_change(self, service, nb):
        stored = {"id": "credential:1", "name": "lab", "provider": "ollama", "has_api_key": False}
        service.listed["credentials/{credential}"] = stored
        nb.credentials.update("credential:1", base_url="http://localhost:1/v1")
        assert service.sent == [{"base_url": "http://localhost:1/v1"}]


class TestSlots:
    @pytest.mark.parametrize("slot", ["text_to_speech", "Text-to-Speech", " text_to_speech "])
    def test_slot_name_is_normalized(self, slot):
        assert validate_slot(slot) == "text_to_speech"

    def test_unknown_slot_suggests_the_known_ones(self):
        with pytest.raises(InputError, match='did you mean "embedding"') as caught:
            validate_slot("embeding")
        assert "chat, transformation, embedding" in caught.value.next_step

    def test_slot_takes_the_model_of_its_type(self, service, nb):
        models = [
            {"id": f"model:{type}", "name": "all", "provider": "ollama", "type": type}
            for type in ("llm", "tts")
        ]
        service.listed["models"] = models[1:]  # as `?model_type=tts` answers
        slots = nb.models.set_defaults({"text-to-speech": "all", "chat": None})
        assert service.sent == [{"text_to_speech": "model:tts", "chat": None}]
        assert slots["text_to_speech"] is not None
        assert slots["text_to_speech"]["name"] == "all"
        assert slots["podcast"] is None

    def test_deleted_model_remains_visible_in_its_slot(self, service, nb):
        slots = nb.models.set_defaults({"chat": "model:gone"})
        assert slots["chat"] == {"id": "model:gone"} | dict.fromkeys(
            ["name", "provider", "type", "credential", "created_at", "updated_at"]
        )

    def test_empty_requests_are_not_sent(self, service, nb):
        with pytest.raises(InputError, match="No slot"):
            nb.models.set_defaults({})
        with pytest.raises(NotFoundError, match="no model"):
            nb.models.set_defaults({"chat": "nobody"})
        with pytest.raises(InputError, match="No models were given"):
            nb.credentials.register_models("credential:1", [])
        assert service.sent == []


class TestSpeakers:
    def test_single_speaker_is_accepted(self):
        assert validate_speakers({"name": "Ada"}) == [{"name": "Ada"}]

    @pytest.mark.parametrize(
        ("speakers", "message"),
        [
            ([], "No speakers"),
            ([{}], "no name"),
            ([{"name": " "}], "no name"),
            (["Ada"], "no name"),
            ([{"name": "Ada", "voice": "x"}], "did you mean"),
        ],
    )
    def test_invalid_speaker_is_rejected(self, speakers, message):
        with pytest.raises(InputError, match=message) as caught:
            validate_speakers(speakers)
        assert caught.value.next_step
