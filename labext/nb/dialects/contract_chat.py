"""Chat, as the contract's server is asked for it (contract, Endpoints: Chat)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labext.errors import ServiceError
from labext.nb import records
from labext.nb.answers import Answer
from labext.nb.dialects import Request, Steps, contract_scope
from labext.nb.dialects.contract_citing import citations
from labext.nb.records import CONTEXT, MESSAGE, SESSION, Record, made
from labext.nb.scope import Prepared, Scope
from labext.transport import Operation, Repeat

LIST = Operation("list chat sessions", "GET", "chat/sessions", Repeat.ALWAYS, answer="json")
NEW = Operation(
    "begin a chat session",
    "POST",
    "chat/sessions",
    Repeat.UNSENT,
    answer="json",
    find_out="See `%nb sessions` before you begin it again: it may be there already.",
)
ONE = Operation(
    "look at a chat session", "GET", "chat/sessions/{session}", Repeat.ALWAYS, answer="json"
)
CHANGE = Operation(
    "change a chat session", "PUT", "chat/sessions/{session}", Repeat.ALWAYS, answer="json"
)
DELETE = Operation("delete a chat session", "DELETE", "chat/sessions/{session}", Repeat.DELETE)
EXECUTE = Operation(
    "send a chat message",
    "POST",
    "chat/execute",
    Repeat.UNSENT,  # a second time the message would stand in the session twice
    answer="json",
    find_out="See `%nb sessions show` before you send it again: the reply may be there already.",
)
CONTEXT_OF = Operation(
    "build a chat's context", "POST", "chat/context", Repeat.ALWAYS, answer="json"
)


class ChatCalls:
    """The seven operations of the chat."""

    def sessions(self, notebook: str | None = None) -> Steps[list[Record]]:
        """List the sessions of a notebook, or all."""
        answer = yield Request(LIST, params={"notebook_id": notebook})
        return records.things(SESSION, answer, "chat sessions")

    def session(self, session: str) -> Steps[Record]:
        """Look at one, with its messages."""
        answer = yield Request(ONE, {"session": session})
        told = records.mapping(answer, "the chat session")
        messages = records.several(told.get("messages") or [], "the session's messages")
        record = records.thing(SESSION, told, "the chat session")
        record["messages"] = [a_message(each) for each in messages]
        return record

    def new_session(
        self, notebook: str, title: str | None, model_override: str | None
    ) -> Steps[Record]:
        """Begin one."""
        named = {"title": title, "model_override": model_override}
        body = {"notebook_id": notebook}
        body |= {name: value for name, value in named.items() if value is not None}
        answer = yield Request(NEW, json=body)
        return records.thing(SESSION, answer, "the chat session")

    def change_session(self, session: str, changes: Mapping[str, Any]) -> Steps[Record]:
        """Change `title` or `model_override`; what is not among them stays."""
        answer = yield Request(CHANGE, {"session": session}, json=dict(changes))
        return records.thing(SESSION, answer, "the chat session")

    def delete_session(self, session: str) -> Steps[None]:
        """Delete one with its messages."""
        yield Request(DELETE, {"session": session})

    def prepared(self, session: str, scope: Scope) -> Steps[Prepared]:
        """Say what goes with a message; this server gathers it itself."""
        del session
        yield from ()
        return Prepared(contract_scope.named(scope))

    def execute(
        self, session: str, message: str, prepared: Prepared, model_override: str | None
    ) -> Steps[Answer]:
        """Send a message; return the model's reply, however long it takes."""
        body = {"session_id": session, "message": message, "context": dict(prepared.context)}
        if model_override is not None:
            body["model_override"] = model_override
        answer = yield Request(EXECUTE, json=body, patient=True)
        told = records.mapping(answer, "the chat").get("messages")
        messages = [a_message(each) for each in records.several(told, "the session's messages")]
        if not messages or messages[-1]["type"] != "ai":
            raise ServiceError(
                "The notebook service has answered without a reply of the model.",
                "See `%nb sessions show`, then ask again.",
            )
        last = messages[-1]
        return Answer(
            str(last["content"] or ""), citations(last["citations"]), message, last["model"]
        )

    def context(
        self, session: str | None, notebook: str | None, scope: Scope, config: Any
    ) -> Steps[Record]:
        """Build what a model would be given with a message."""
        named = {"session_id": session, "notebook_id": notebook, "context_config": config}
        body = contract_scope.named(scope)
        body |= {name: value for name, value in named.items() if value is not None}
        answer = yield Request(CONTEXT_OF, json=body)
        told = records.mapping(answer, "the context")
        return made(CONTEXT, {**told, **records.mapping(told.get("context"), "the context")})


def a_message(answer: Mapping[str, Any]) -> Record:
    """Return a message's record."""
    when = answer.get("created_at") or answer.get("timestamp")
    return made(MESSAGE, {"citations": [], **answer, "created_at": when})
