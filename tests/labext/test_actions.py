"""Actions: data in errors, rendered in the syntax of the interface in use."""

from __future__ import annotations

import ast
import inspect
import pickle
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from labext import actions
from labext.actions import KINDS, Action, parameter, use_style
from labext.errors import ConflictError, LabextError, NotFoundError
from labext.jobs import JobsClient
from labext.lab import LabClient
from labext.nb import NotebookClient
from labext_magics.core import grammar, line
from labext_magics.core.actions import LINES, MAGIC_STYLE, magic_line
from labext_magics.core.dispatch import magic_named
from labext_magics.core.namespace import Namespace
from labext_widgets.progress.background import Background

ROOT = Path(actions.__file__).parents[1]
SOURCES = [ROOT / "labext", ROOT / "magics", ROOT / "widgets" / "labext_widgets"]
CHOICES = {
    "service": "lab",
    "secret": "api_key",
    "method": "key",
    "slot": "embedding",
    "type": "llm",
    "provider": "openai",
}
"""Values of the arguments that take certain words only."""

AWKWARD = ["cut", "two words", "-5", "a#b", 'the "best"', "it's", "{x}", "a;", "ends in \\"]


def examples(text: str) -> Iterator[Action]:
    """Each kind with all its arguments."""
    for name, kind in KINDS.items():
        yield Action(name, {key: CHOICES.get(key, text) for key in kind.parameters})


@pytest.mark.parametrize("kind", KINDS)
def test_python_form_calls_an_existing_method(kind: str) -> None:
    full = next(action for action in examples('the "best"') if action.kind == kind)
    for action in (full, Action(kind)):
        for statement in ast.parse(actions.python_call(action)).body:
            assert isinstance(statement, ast.Expr)
            call = statement.value
            assert isinstance(call, ast.Call)
            inspect.signature(_resolve(call.func)).bind(
                *[ast.literal_eval(argument) for argument in call.args],
                **{str(word.arg): ast.literal_eval(word.value) for word in call.keywords},
            )


def _resolve(node: ast.expr) -> Any:
    """Return the object of an expression such as `nb.models.list` or `labext.sandbox.Sandbox()`."""
    if isinstance(node, ast.Call):
        return _resolve(node.func)()
    if isinstance(node, ast.Name):
        clients: dict[str, Any] = {"jobs": JobsClient, "lab": LabClient, "nb": NotebookClient}
        if node.id not in clients:
            return import_module(node.id)
        return clients[node.id]("https://127.0.0.1:1/api")
    assert isinstance(node, ast.Attribute)
    owner = _resolve(node.value)
    return getattr(owner, node.attr)


def test_every_kind_has_a_magic_form() -> None:
    assert LINES.keys() == KINDS.keys()


@pytest.mark.parametrize("text", AWKWARD)
def test_magic_form_parses_and_keeps_the_values(text: str) -> None:
    for action in examples(text):
        written = magic_line(action)
        name, _, rest = written.lstrip("%").partition(" ")
        body = written.startswith("%%")
        parsed = grammar.parse(magic_named(name), line.tokenize(rest), Namespace({}), has_body=body)
        assert parsed.command is not None, written
        assert "$" not in written
        assert "[" not in written


@pytest.mark.parametrize("kind", KINDS)
def test_magic_form_parses_with_placeholders(kind: str) -> None:
    action = Action(kind, {key: CHOICES[key] for key in KINDS[kind].parameters if key in CHOICES})
    name, _, rest = magic_line(action).lstrip("%").partition(" ")
    assert grammar.parse(magic_named(name), line.tokenize(rest), Namespace({})).command


def test_every_call_of_a_constructor_fits_it() -> None:
    for path in (path for folder in SOURCES for path in folder.rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "Action." in text else ():
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "Action" and node.func.attr in KINDS:
                named = {word.arg: "x" for word in node.keywords if word.arg}
                KINDS[node.func.attr](*["x"] * len(node.args), **named)


def test_message_is_python_outside_a_magic() -> None:
    error = ConflictError("It is there.", "Delete it: {action}.", action=Action.delete_job("cut"))
    assert str(error) == 'It is there. Delete it: `jobs.delete("cut")`.'
    assert error.action == Action.delete_job("cut")
    assert f"{Action.list_models()} {Action.list_models('llm')}" == (
        '`nb.models.list()` `nb.models.list(type="llm")`'
    )
    assert f"{Action.set_model('embedding')}" == '`nb.models.set_defaults({"embedding": "NAME"})`'
    assert parameter("name_column", "NAME") == '`name_column="NAME"`'
    assert parameter("skip_invalid") == "`skip_invalid=True`"


def test_message_is_a_line_within_a_magic() -> None:
    with use_style(MAGIC_STYLE):
        error = NotFoundError("There is none.", action=Action.list_jobs())
        assert str(error) == "There is none. See `%jobs list`."
        assert f"{Action.delete_job('two words')}" == '`%jobs delete "two words" --yes`'
        assert parameter("name_column", "NAME") == "`--name-column NAME`"
        assert parameter("skip_invalid") == "`--skip-invalid`"
    assert f"{Action.list_jobs()}" == "`jobs.jobs()`"


def test_watch_in_the_background_keeps_the_style() -> None:
    rendered: list[str] = []
    with use_style(MAGIC_STYLE):
        watch = Background(iter([]), None, "")
    for name in ("watch", "stop"):
        watch._start_thread(name, lambda: rendered.append(str(Action.list_jobs())))
    watch.join(10)
    assert rendered == ["`%jobs list`"] * 2


def test_error_keeps_its_action() -> None:
    action = Action.set_model("embedding")
    error = LabextError("No model is set.", action=action)
    for same in (
        error.about("Search"),
        error.with_hint("Then search again."),
        pickle.loads(pickle.dumps(error)),
    ):
        assert same.action == action
        assert "Run `nb.models.set_defaults(" in str(same)
    assert error.with_next_step("Wait.").action is None


def test_missing_arguments_are_filled() -> None:
    assert Action.set_model().with_arguments(slot="chat", more="x") == Action.set_model("chat")
    assert Action.set_model("tts").with_arguments(slot="chat") == Action.set_model("tts")


def test_action_from_a_response_is_checked() -> None:
    action = Action.set_model("embedding", "m")
    assert Action.from_json(action.to_json()) == action
    for value in (
        None,
        "list_jobs",
        {"kind": 3},
        {"kind": "from_json"},
        {"kind": "format_disk"},
        {"kind": "set_model", "slot": ["embedding"]},
        Action.delete_job("cut").to_json(),
    ):
        assert Action.from_json(value) is None
    hostile = Action.from_json(
        {"kind": "set_key", "credential": "a\x1b[31m\nb api_key=s3cr3tvalue99", "x": 1}
    )
    assert hostile.arguments.keys() == {"credential"}
    assert not {"\x1b", "\n"} & {*str(hostile)}
    assert "s3cr3t" not in str(hostile)
