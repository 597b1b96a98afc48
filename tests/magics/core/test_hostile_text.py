"""No command of any magic shows a control character or a bidi override of a service's text.

The services are a real sandbox, and for `%nb` also the simulated Open Notebook, which has more
commands. A proxy makes their responses hostile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import product
from typing import Any, ClassVar

import pytest
import requests
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import SET_MODELS, opened
from open_notebook import serving
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from labext.errors import LabextError
from labext.sandbox import Sandbox
from labext_magics.core import session
from labext_magics.core.dispatch import magic_named

pytestmark = pytest.mark.contract

HOSTILE = " <b>hostile</b>\x1b[2J\x1b]0;x\x07\x9b31m\u202etxt\u2066\u200e\u200f\u061c\x7f"
STEERING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

# Values that must be unchanged so that a client gets further than an error.
KEPT = re.compile(
    r"(?i).*(id|ids|status|state|type|types|kind|provider|name|backend|version|time|created|"
    r"updated|started|completed|_at|at|bases|token|url|cursor|startkey|format|model_name)"
)

# The lines of each command, for the objects of the fixture; `:` separates a cell magic's body.
LINES = {
    "lab connect": ["sandbox"],
    "lab show": ["pBAD30"],
    "lab export": ["pBAD30 --to out/p.gb --overwrite"],
    "lab logout": ["--yes"],
    "jobs tool": ["digest"],
    "jobs submit": [
        "digest --name more --set sequence=GAATTC --set enzymes=EcoRI --check",
        "digest",
    ],
    "jobs batch": ["more --type digest --from rows --set enzymes=EcoRI --check"],
    "jobs pipeline": ["p2 : stages: [{task: A, toolSettings: {peptide_build: {sequence: pipe}}}]"],
    "jobs run-pipeline": ["p1 --inputs {['ACD']} --background", "nothing --inputs {['ACD']}"],
    "jobs show": ["cut", "cut2"],
    "jobs plot": [
        "pairs --x sequence --y mfe",
        "pairs",
        "cut",
        "cut --file fragments.csv",
        "--from scores",
    ],
    "jobs watch": ["cut", "pairs"],
    "jobs results": ["cut --to out/cut", "pairs --to out/pairs --frame"],
    "jobs log": ["cut", "cut --follow --tail 5", "none"],
    "jobs outputs": ["cut", "none"],
    "jobs view": ["cut", "cut log.txt", "pairs"],
    "jobs stop": ["cut"],
    "jobs delete": ["cut --preview", "cut --yes", "none --yes"],
    "jobs upload": ["up.txt"],
    "jobs rm": ["up.txt --preview", "up.txt --yes", "none --yes"],
    "jobs usage": ["", "--statistic weighted_hours --scope user"],
    "jobs connect": ["sandbox"],
    "jobs logout": ["--yes"],
    "nb use": ["", "N", "none"],
    "nb new": ["N2"],
    "nb delete": ["{n} --preview", "{n} --yes", "none --yes"],
    "nb add": ["up.txt --title again"],
    "nb source": ["--title again : a text"],
    "nb note": ["text --title again"],
    "nb search": ["glucose --type text", "glucose --type vector --all"],
    "nb evaluate": ["q.csv", "q.csv --all --search-type text"],
    "nb export": ["out/all.md --bibliography out/all.bib", "out/all.html --overwrite"],
    "nb view": ["{s}", "{s} --page 1 --passage glucose", "none"],
    "nb ask": ['"Why is glucose added?"', '"Why?" --simple'],
    "nb chat": ['"Why is glucose added?" --new'],
    "nb transform": ['"Key findings" --source {s}'],
    "nb podcast": ["--name E2 --profile none", "--name E2 --profile brief --background"],
    "nb play": ["E"],
    "nb notebooks show": ["{n}", "none"],
    "nb notebooks new": ["N3"],
    "nb notebooks edit": ["{n} --description x"],
    "nb notebooks archive": ["{n}"],
    "nb notebooks unarchive": ["{n}"],
    "nb notebooks link": ["{n} {s}"],
    "nb notebooks unlink": ["{n} {s}"],
    "nb notebooks delete": ["{n} --preview", "{n} --yes"],
    "nb sources": ["", "--all"],
    "nb sources show": ["{s}", "{s} --text", "none"],
    "nb sources new": ["up.txt --title again"],
    "nb sources edit": ["{s} --topic x"],
    "nb sources delete": ["{s} --preview", "{s} --yes", "none --yes"],
    "nb sources download": ["{s} --check", "{s} --to out/source"],
    "nb sources insights": ["{s}"],
    "nb sources status": ["{s}"],
    "nb sources wait": ["{s}"],
    "nb sources retry": ["{s}"],
    "nb sources embed": ["{s}"],
    "nb sources chat": ['{s} "Which strain?" --new'],
    "nb sources link": ["{s}"],
    "nb sources unlink": ["{s}"],
    "nb insights show": ["{i}", "none"],
    "nb insights new": ['"Key findings" --source {s}'],
    "nb insights save": ["{i}"],
    "nb insights delete": ["{i} --preview", "{i} --yes"],
    "nb notes show": ["{t}", "none"],
    "nb notes new": ["text --title again"],
    "nb notes edit": ["{t} --title again"],
    "nb notes delete": ["{t} --preview", "{t} --yes"],
    "nb notes embed": ["{t}"],
    "nb sessions show": ["{c}", "none"],
    "nb sessions new": ["--title again"],
    "nb sessions edit": ["{c} --title again"],
    "nb sessions delete": ["{c} --preview", "{c} --yes"],
    "nb sessions context": ["{c}"],
    "nb source-chats": ["--source {s}"],
    "nb source-chats show": ["{sc} --source {s}", "none --source {s}"],
    "nb source-chats edit": ["{sc} --source {s} --title again"],
    "nb source-chats delete": ["{sc} --source {s} --preview", "{sc} --source {s} --yes"],
    "nb transformations show": ['"Key findings"', "none"],
    "nb transformations new": ["X --prompt p"],
    "nb transformations edit": ['"Key findings" --description x'],
    "nb transformations delete": ['"Key findings" --preview', '"Key findings" --yes'],
    "nb transformations prompt": ["", "--set x"],
    "nb episodes show": ["E", "E --transcript", "none"],
    "nb episodes wait": ["E"],
    "nb episodes retry": ["E"],
    "nb episodes download": ["E --to out/e"],
    "nb episodes delete": ["E --preview", "E --yes"],
    "nb profiles show": ["interview", "none"],
    "nb profiles new": ["short --speakers host,guest --segments 2"],
    "nb profiles edit": ["interview --segments 3"],
    "nb profiles duplicate": ["interview --name again"],
    "nb profiles delete": ["interview --preview", "interview --yes"],
    "nb models new": ["m --type llm --provider openai"],
    "nb models delete": ["extractive --preview", "extractive --yes"],
    "nb models test": ["extractive"],
    "nb models defaults": ["", "--set chat=extractive", "--clear chat"],
    "nb models discover": ["builtin", "none"],
    "nb models sync": ["builtin", ""],
    "nb models count": ["builtin"],
    "nb models by-provider": ["builtin"],
    "nb credentials show": ["own", "none"],
    "nb credentials new": ["openai --name again --base-url http://127.0.0.1:9/v1 --no-key"],
    "nb credentials edit": ["own --name own"],
    "nb credentials delete": ["own --preview", "own --yes"],
    "nb credentials test": ["own"],
    "nb credentials discover": ["own"],
    "nb credentials register": ["own --model m=llm", "own --all"],
    "nb models setup": ["own"],
    "nb credentials by-provider": ["openai"],
    "nb connect": ["sandbox"],
    "nb logout": ["--yes"],
    "nb settings": ["", "--set docling_ocr=no"],
    "nb commands show": ["{job}", "none"],
    "nb commands wait": ["{job}"],
    "nb commands cancel": ["{job} --preview", "{job} --yes"],
    "nb commands run": ["embed_note --set note_id={t}"],
    "nb embeddings rebuild": ["--background"],
    "nb embeddings status": ["{job}"],
}
AS_IT_IS = {
    *("lab login", "lab whoami", "lab status", "lab sequences", "lab sandbox status"),
    "jobs workers",
    *("jobs tools", "jobs resume", "jobs list", "jobs files", "jobs login", "jobs status"),
    *("nb notebooks", "nb insights", "nb notes", "nb sessions", "nb transformations"),
    *("nb episodes", "nb profiles", "nb models", "nb models auto-assign", "nb models providers"),
    *("nb credentials", "nb credentials status", "nb login", "nb status", "nb commands"),
    *("nb commands kinds",),
}
"""Commands without required arguments."""

_STARTS_OR_ENDS = "starts or ends the sandbox's host, and sends no request"
EXEMPT = {
    "lab sandbox start": _STARTS_OR_ENDS,
    "lab sandbox stop": _STARTS_OR_ENDS,
    "lab sandbox reset": _STARTS_OR_ENDS,
}
"""Commands that are not run here, with the reason."""

NOT_IN_THE_SANDBOX = {
    *("nb settings", "nb commands", "nb commands show", "nb commands wait", "nb commands cancel"),
    *("nb commands run", "nb commands kinds", "nb embeddings rebuild", "nb embeddings status"),
    *("nb source-chats", "nb source-chats show", "nb source-chats edit"),
    *("nb source-chats delete", "nb sources chat", "nb sources embed", "nb notes embed"),
    *("nb insights new", "nb insights delete"),
}
"""Commands that the sandbox rejects because it lacks the feature."""

NAMES_ON_OPEN_NOTEBOOK = {
    '"Key findings"': '"Simple Summary"',
    "interview": "solo_expert",
    "brief": "solo_expert",
    "host,guest": "solo_expert",
    "extractive": "fake-chat",
    "builtin": "openai_compatible",
}
"""Names of the simulated server for the sandbox's transformation, profile, model and provider."""

COMMANDS = sorted(
    (
        f"{name} {command.name}"
        for name in ("lab", "jobs", "nb")
        for command in magic_named(name).commands
    ),
    key=lambda title: title.endswith("logout"),  # the others need to be signed in
)


def test_every_command_is_run_or_exempt_with_a_reason() -> None:
    assert sorted([*LINES, *AS_IT_IS, *EXEMPT]) == sorted(COMMANDS)  # each in one list
    assert all(EXEMPT.values())
    assert {*COMMANDS} > NOT_IN_THE_SANDBOX


class Wire:
    """A proxy between the client and the service.

    `mode` is empty, `texts` (fields that later requests do not need), `all` or `errors`.
    """

    mode = ""

    def __init__(self, send: Callable[..., requests.Response]) -> None:
        self._send = send

    def send(self, adapter: HTTPAdapter, request: Any, **options: Any) -> requests.Response:
        if not self.mode:
            return self._send(adapter, request, **options)
        if request.method == "DELETE":  # nothing is sent
            return self._answer(self._get(adapter, request), 200, {"message": HOSTILE})
        response = self._send(adapter, request, **options)
        kind = response.headers.get("Content-Type", "")
        if "octet" in kind or "zip" in kind or "audio" in kind:
            return response
        body = response.raw.read(decode_content=True)
        if self.mode == "errors":
            error_body = {"error": HOSTILE, "detail": HOSTILE, "message": HOSTILE}
            return self._answer(response, 409, error_body)
        if "event-stream" in kind or body.startswith(b"data: "):
            return self._streamed(response, body)
        try:
            payload = json.loads(body)
        except ValueError:
            return self._with_content(response, response.status_code, body)
        return self._answer(response, response.status_code, self._hostile(payload))

    def _get(self, adapter: HTTPAdapter, request: Any) -> requests.Response:
        response = requests.Response()
        response.request, response.url = request, request.url
        response.headers["Content-Type"] = "application/json"
        return response

    def _streamed(self, response: requests.Response, body: bytes) -> requests.Response:
        lines = []
        for line in body.decode().split("\n"):
            if line.startswith("data: {"):
                line = f"data: {json.dumps(self._hostile(json.loads(line[6:])))}"
            lines.append(line)
        return self._with_content(response, response.status_code, "\n".join(lines).encode())

    def _hostile(self, value: Any, key: str = "") -> Any:
        if isinstance(value, str):
            preserved = self.mode == "texts" and KEPT.fullmatch(key)
            return value if preserved else value + HOSTILE
        if isinstance(value, list):
            return [self._hostile(child, key) for child in value]
        if isinstance(value, dict):
            return {name: self._hostile(child, name) for name, child in value.items()}
        return value

    def _answer(self, response: requests.Response, status: int, content: Any) -> requests.Response:
        response.headers["Content-Type"] = "application/json"
        return self._with_content(response, status, json.dumps(content).encode())

    def _with_content(
        self, response: requests.Response, status: int, body: bytes
    ) -> requests.Response:
        for name in ("Content-Encoding", "Transfer-Encoding", "Location"):
            response.headers.pop(name, None)
        response.headers["Content-Length"] = str(len(body))
        response.status_code = status
        headers = {"Content-Length": str(len(body))}
        response.raw = HTTPResponse(
            BytesIO(body), headers=headers, status=status, preload_content=False
        )
        return response


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with pytest.MonkeyPatch.context() as patch:
        between = Wire(HTTPAdapter.send)
        patch.setattr(HTTPAdapter, "send", lambda *args, **options: between.send(*args, **options))
        yield between


SETUP = """
%load_ext labext
%lab connect sandbox
%jobs connect sandbox
%nb connect sandbox
rows = [{"name": "a", "sequence": "GAAUUC"}, {"name": "b", "sequence": "GAAUUCGAAUUC"}]
%jobs upload up.txt
%jobs submit digest --name cut --set sequence=GAATTC --set enzymes=EcoRI --wait
%jobs batch pairs --type rna_fold --from rows --name-column name --wait
scores = %jobs list --batch pairs --scores
%nb use N --create
made = %nb add up.txt --title S --sync
s = made.id[0]
%nb note "glucose is added" --title T
answer = %nb chat "Why is glucose added?"
made = %nb credentials new openai --name own --base-url http://127.0.0.1:9/v1 --no-key
%nb profiles new brief --speakers host,guest --segments 1
made = %nb podcast --name E --profile brief --wait
%nb notebooks --out n
%nb notes --out t
%nb sessions --out c
%nb insights --out i
n, t, c, i = n.set_index("name").id["N"], t.id[0], c.id[0], i.id[0]
job, sc = "command:none", "none"
"""
SETUP_ON_OPEN_NOTEBOOK = f"""
%nb use N --create
made = %nb add up.txt --title S --sync
s = made.id[0]
%nb note "glucose is added" --title T
answer = %nb chat "Why is glucose added?"
%nb credentials new openai --name own --base-url http://127.0.0.1:9/v1 --no-key
{SET_MODELS.strip()}
made = %nb podcast --name E --profile solo_expert --wait
made = %nb insights new "Simple Summary" --source {{s}}
%nb notebooks --out n
%nb notes --out t
%nb sessions --out c
%nb insights --out i
answer = %nb sources chat {{s}} "Which strain?" --new
%nb source-chats --source {{s}} --out sc
n, t, c, i = n.set_index("name").id["N"], t.id[0], c.id[0], i.id[0]
made = %nb commands run embed_note --set note_id={{t}}
job, sc = made.job_id[0], sc.id[0]
"""
IDENTIFIERS = ("n", "s", "t", "c", "i", "job", "sc")


@pytest.fixture(scope="module")
def shell(
    box: Sandbox, wire: Wire, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[InteractiveShell]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "up.txt").write_text("Glucose represses the arabinose operon. " * 20)
    (folder / "q.csv").write_text("question,facts\nWhat does glucose repress?,operon\n")
    with pytest.MonkeyPatch.context() as patch, opened() as ip:
        patch.chdir(folder)
        patch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
        patch.setenv("CI", "1")
        for line in SETUP.strip().splitlines():
            ip.run_cell(line).raise_error()
        yield ip


@dataclass(frozen=True)
class Server:
    """A notebook service, and the identifiers of the records of the fixture."""

    address: str
    identifiers: dict[str, str]

    def line(self, text: str) -> str:
        """Return a line of `LINES` with the names that this server has."""
        if self.address != "sandbox":
            for name, other in NAMES_ON_OPEN_NOTEBOOK.items():
                text = text.replace(name, other)
        return text


def _identifiers(shell: InteractiveShell) -> dict[str, str]:
    return {name: shell.user_ns[name] for name in IDENTIFIERS}


@pytest.fixture(scope="module")
def sandbox(shell: InteractiveShell) -> Server:
    return Server("sandbox", _identifiers(shell))


@pytest.fixture(scope="module")
def open_notebook(shell: InteractiveShell, sandbox: Server) -> Iterator[Server]:
    assert sandbox.identifiers
    with serving() as replay:
        lines = SETUP_ON_OPEN_NOTEBOOK.strip().splitlines()
        for line in [f"%nb connect {replay.base_url}", *lines]:
            shell.run_cell(line).raise_error()
        yield Server(replay.base_url, _identifiers(shell))


class Kernel:
    """The attribute that makes a shell look like a kernel that executes a notebook."""

    _parent_header: ClassVar[dict[str, Any]] = {}


@pytest.fixture
def server(service: str, request: pytest.FixtureRequest) -> Server:
    """The notebook service of a test."""
    fixture = request.getfixturevalue("open_notebook" if service == "open notebook" else "sandbox")
    assert isinstance(fixture, Server)
    return fixture


@pytest.fixture
def front(
    kind: str,
    shell: InteractiveShell,
    wire: Wire,
    box: Sandbox,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[InteractiveShell]:
    """The shell, connected, as a terminal or as a notebook that is executed."""
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
    monkeypatch.setenv("CI", "1")
    # Watches poll immediately, and end at an unknown status.
    monkeypatch.setattr("labext.progress.interval", lambda _: 0.0)
    monkeypatch.setattr("labext.nb.polling.interval", lambda _: 0.0)
    monkeypatch.setattr("labext.progress.UNKNOWN_STATUS_PATIENCE", 0.0)
    monkeypatch.setattr("labext.nb.commands.RESULT_GRACE_SECONDS", 0.0)
    shell.user_ns.update(server.identifiers)
    wire.mode = ""
    for line in (
        "%lab connect sandbox",
        "%jobs connect sandbox",
        f"%nb connect {server.address}",
        "%nb use N",
    ):
        shell.run_cell(line).raise_error()
    used = session.session_of(shell).notebook
    assert used is not None
    session.session_of(shell).notebook = replace(used, name=used.name + HOSTILE)
    if kind == "notebook":
        monkeypatch.setattr(shell, "kernel", Kernel(), raising=False)
    yield shell
    wire.mode = ""


Shown = Callable[[str, str], dict[str, str]]


@pytest.fixture
def rendered(
    front: InteractiveShell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shown:
    """Run a command; return its displayed texts by kind of output."""
    in_use = session.session_of(front).notebook
    displayed: list[dict[str, Any]] = []
    monkeypatch.setattr(
        front.display_pub, "publish", lambda data, *_, **options: displayed.append(data)
    )

    def run(title: str, text: str) -> dict[str, str]:
        session.session_of(front).notebook = in_use
        displayed.clear()
        capsys.readouterr()
        name, _, command = title.partition(" ")
        line, _, body = f"{command} {text}".partition(" : ")
        error_text = ""
        try:
            if body:
                result = front.run_cell_magic(name, line, body)
            else:
                result = front.run_line_magic(name, line)
            if result is not None:
                displayed.append(front.display_formatter.format(result)[0])
        except LabextError as error:
            error_text = f"{error} {error.message} {error.next_step} {error.server} {error.path}"
        printed = capsys.readouterr()
        outputs = {"stdout": printed.out, "stderr": printed.err, "the error": error_text}
        for data in displayed:
            outputs |= {
                f"{kind} {len(outputs)}": str(rendering) for kind, rendering in data.items()
            }
        return outputs

    return run


def _wrong(rendered: dict[str, str]) -> Iterator[str]:
    for where, text in rendered.items():
        if match := STEERING.search(text):
            around = text[max(match.start() - 60, 0) : match.end() + 60]
            yield f"{match[0]!r} in {where}: {around!r}"
        if "html" in where and "<b>hostile" in text:
            yield f"unescaped HTML in {where}"


LEAST = {"lab": 3, "jobs": 8, "nb": 40, "open notebook": 50}
"""Commands that must display a text of the service, so that the test is effective."""


MODES = [("terminal", "texts"), ("notebook", "texts"), ("notebook", "all"), ("notebook", "errors")]


@pytest.mark.parametrize(
    ("service", "kind", "mode"),
    [
        (service, *mode)
        for service, mode in product(LEAST, MODES)
        # The commands of the sandbox are those of Open Notebook, which is tested in every mode.
        if service != "nb" or mode == ("notebook", "texts")
    ],
)
def test_no_command_shows_control_characters(
    rendered: Shown, wire: Wire, server: Server, service: str, mode: str
) -> None:
    wrong, showing, refused = [], set(), set()
    magic = "nb" if service == "open notebook" else service
    for title in COMMANDS:
        if not title.startswith(f"{magic} ") or title in EXEMPT:
            continue
        for text in map(server.line, LINES.get(title, [""])):
            if title == "nb connect":
                text = server.address
            wire.mode = mode
            outputs = rendered(title, text)
            wire.mode = ""
            wrong += [f"%{title} {text}: {problem}" for problem in _wrong(outputs)]
            showing |= {title for text in outputs.values() if "hostile" in text}
            refused |= {title} if "This notebook service " in outputs["the error"] else set()
    assert not wrong, "\n".join(wrong)
    assert len(showing) >= LEAST[service], sorted(showing)
    if service == "open notebook":
        assert not refused, "the simulated server has objects that the sandbox lacks"
    elif service == "nb" and mode == "texts":
        assert refused == NOT_IN_THE_SANDBOX
