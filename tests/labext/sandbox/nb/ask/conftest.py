"""A running notebook service with a small corpus, and a provider that records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import nb_service
import openai_server
import pytest
import requests

from labext.sandbox import Sandbox
from labext.sandbox.nb.administration import NotebookAdministration, open_administration
from labext.sandbox.nb.search import index
from labext.sandbox.nb.tables import COMPLETED, Insight, Note, Notebook, NotebookSource, Source
from labext.sandbox.nb.text.passages import split_passages

KEY = "correct-horse-battery-staple"

TEXTS = {
    "source:paper": (
        "Tight control of pBAD30",
        "The araBAD promoter of plasmid pBAD30 is activated by the AraC protein in the presence of "
        "L-arabinose. Glucose lowers the level of cyclic AMP in the cell, so that CAP no longer "
        "binds upstream of the promoter; this catabolite repression keeps leaky expression low. "
        "For this reason glucose is added to the uninduced culture at 0.2 %.\n\nCells of strain "
        "DH10B were grown at 37 °C. They were induced with 0.2 % arabinose for four hours.",
    ),
    "source:protocol": (
        "Miniprep protocol",
        "Pellet 5 mL of overnight culture at 4000 g. Lyse with 250 µL of buffer P2; do not vortex, "
        "because genomic DNA would shear. Elution in warm water improves recovery. The mice are "
        "fed by the night shift.",
    ),
    "note:plan": ("Plan", "Vary the arabinose concentration first. Ask Dana about the freezer."),
    "note:other": ("Elsewhere", "In the other notebook arabinose is bought from Carl in Leipzig."),
}
NOTEBOOK, OTHER = "notebook:induction", "notebook:other"


class Api(nb_service.Api):
    """A client with the requests of questions and chats."""

    def simple(self, question: str, **more: Any) -> Any:
        return self.call("POST", "search/ask/simple", {"question": question, **more})

    def stream(self, question: str, **more: Any) -> list[Any]:
        with self.opened(question, **more) as response:
            return list(events(response))

    @contextmanager
    def opened(self, question: str, **more: Any) -> Iterator[requests.Response]:
        """Return an answer whose events are read as they arrive."""
        body = {"question": question, **more}
        with self.request("POST", "search/ask", body, stream=True) as response:
            assert response.status_code == 200, response.text
            assert response.headers["Content-Type"].startswith("text/event-stream")
            yield response

    def chat(self, **more: Any) -> str:
        """Create a session and return its identifier."""
        return self.call("POST", "chat/sessions", {"notebook_id": NOTEBOOK, **more})["id"]

    def say(self, session: str, message: str, **more: Any) -> Any:
        """Send a message and return all messages of the session."""
        body = {"session_id": session, "message": message, **more}
        return self.call("POST", "chat/execute", body)["messages"]


def events(response: requests.Response) -> Iterator[Any]:
    """Parse the events of a stream: lines of data, each followed by a blank line."""
    data = None
    for line in response.iter_lines(chunk_size=1, decode_unicode=True):
        if line:
            assert data is None
            assert line.startswith("data: ")
            data = json.loads(line.removeprefix("data: "))
        elif data is not None:
            yield data
            data = None
    assert data is None


@dataclass
class Models:
    """Models of the provider, and the slots; all are reset at the end of the test."""

    admin: NotebookAdministration
    provider: openai_server.OpenAI
    added: list[str] = field(default_factory=list)
    slots: dict[str, str | None] = field(default_factory=dict)

    def add(self, name: str = "talker", kind: str = "llm", key: str | None = KEY) -> str:
        """A model of the provider; its identifier."""
        created = self.admin.add_model(name, kind, self.provider.base_url, key)
        self.added.append(created["id"])
        return created["id"]

    def default(self, slot: str, model: str | None) -> None:
        names = {
            slot: model["id"] for model in self.admin.models() for slot in model["default_for"]
        }
        self.slots.setdefault(slot, names.get(slot))
        self.admin.set_default(slot, model)

    def undo(self) -> None:
        for slot, model in self.slots.items():
            self.admin.set_default(slot, model)
        for model in self.added:
            if model in {model["id"] for model in self.admin.models()}:
                self.admin.remove_model(model, yes=True)


class Kit:
    """The helpers of this folder, which tests get as a fixture."""

    TEXTS, NOTEBOOK, OTHER, KEY = TEXTS, NOTEBOOK, OTHER, KEY
    events = staticmethod(events)

    @staticmethod
    def passages(request: openai_server.ReceivedRequest) -> set[str]:
        """Return the sources and notes of the passages in a request to a model."""
        return {name for name in TEXTS if f"[{name}#" in request.text}


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running sandbox with only the notebook service, and a small corpus."""
    with nb_service.running(tmp_path_factory) as sandbox:
        with open_administration(sandbox.data_dir) as admin:
            _fill(admin)
        yield sandbox


@pytest.fixture(scope="session")
def api(box: Sandbox) -> Api:
    return Api(box.nb.base_url, box.nb.password)


@pytest.fixture(scope="session")
def admin(box: Sandbox) -> Iterator[NotebookAdministration]:
    with open_administration(box.data_dir) as result:
        yield result


@pytest.fixture
def provider() -> Iterator[openai_server.OpenAI]:
    with openai_server.serving(KEY) as server:
        yield server


@pytest.fixture
def served(admin: NotebookAdministration, provider: openai_server.OpenAI) -> Iterator[Models]:
    result = Models(admin, provider)
    yield result
    result.undo()


def _fill(admin: NotebookAdministration) -> None:
    """Two notebooks: one with two sources and a note, the other with a note."""
    with admin.database.write() as session:
        session.add_all([Notebook(id=NOTEBOOK, name="Induction"), Notebook(id=OTHER, name="Other")])
        session.flush()
        for identifier, (title, text) in TEXTS.items():
            named = {"id": identifier, "title": title}
            if identifier.startswith("source:"):
                session.add(Source(**named, kind="text", full_text=text, status=COMPLETED))
                session.flush()
                session.add(NotebookSource(notebook_id=NOTEBOOK, source_id=identifier))
            else:
                notebook = NOTEBOOK if identifier == "note:plan" else OTHER
                session.add(Note(**named, notebook_id=notebook, content=text, kind="human"))
            index.index_passages(session, identifier, title, split_passages([(None, text)]))
        summary = {"kind": "Summary", "content": "Short."}
        session.add(Insight(id="source_insight:1", source_id="source:paper", **summary))
