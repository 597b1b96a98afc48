"""`labext sandbox lab …`: output, refusals, and changes that a client sees."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import lab_service
import pytest

from labext import config
from labext.errors import AccessError, SignInError
from labext.lab import LabClient
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

STUDENT = "student@sandbox.local"
TEACHER = "teacher@sandbox.local"
NOUNS = (
    "users", "keys", "apps", "secrets", "permissions", "redirects", "grants", "organizations",
    "teams", "projects", "folders", "sequences", "ip", "provider", "audit", "limits",
)  # fmt: skip


@pytest.fixture
def lab(command: Callable[[str], Any]) -> Any:
    return command("lab")


class Api(lab_service.Api):
    """The platform, called with plain requests."""

    def __init__(self, box: Sandbox) -> None:
        super().__init__(box)
        self._box = box

    def status(self, *, key: str = "", token: str = "", tenant: str = "campus") -> int:
        """Return the status of a list request."""
        api = lab_service.Api(self._box, tenant)
        authorization = lab_service.basic(key) if key else f"Bearer {token}"
        return api.get("dna-sequences", authorization, pageSize=1).status_code

    def signs_in(self, email: str, secret: str) -> bool:
        """Return whether the identity provider accepts the secret of a user."""
        configuration = self.url(self._box.lab.oidc_configuration_url).json()
        form = {
            "grant_type": "password",
            "client_id": self._box.lab.oidc_client_id,
            "scope": "openid",
            "username": email,
            "password": secret,
        }
        return self.session.post(configuration["token_endpoint"], data=form, timeout=30).ok

    def count(self, key: str, **query: Any) -> int:
        response = self.get("dna-sequences", lab_service.basic(key), pageSize=1, **query)
        assert response.ok, response.text
        return int(response.headers["Result-Count"])

    def app_token(self, app: dict[str, str]) -> dict[str, Any]:
        """Return the status and the body of the token endpoint's response."""
        response = self.token(app["client_id"], app["client_secret"])
        return {"status": response.status_code} | response.json()


@pytest.fixture
def api(box: Sandbox) -> Api:
    return Api(box)


@pytest.fixture
def person(lab: Any) -> Iterator[str]:
    """A user for one test."""
    email = "ada@course.example"
    lab.json("users", "add", email, "--name", "Ada")
    yield email
    lab("users", "remove", email, "--yes")


@pytest.fixture
def key(lab: Any, person: str) -> str:
    return str(lab.json("keys", "add", person)["api_key"])


@pytest.fixture
def app(lab: Any) -> Iterator[dict[str, str]]:
    """An app for one test, which may see the vectors."""
    new_app = lab.json("apps", "add", "robot")
    lab.json("grants", "add", "--app", "robot", "--folder", "Vectors")
    yield new_app
    lab("apps", "remove", "robot", "--yes")


@pytest.mark.parametrize("noun", NOUNS)
def test_every_noun_lists_as_a_table_and_as_json(lab, noun):
    table, records = lab.output(noun, "list"), lab.json(noun, "list")
    if isinstance(records, list):
        assert len(table.splitlines()) == max(1, len(records) + bool(records))
    assert records or noun in ("ip", "audit")
    if noun != "limits":
        lab.json(noun, "list", "--tenant", "clinic")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["users", "add", "nobody"], "not an e-mail address"),
        (["users", "add", "a@b.c", "--name", " "], "can't be the name"),
        (["users", "suspend", "studnt@sandbox.local"], f"Did you mean {STUDENT}?"),
        (["users", "remove", TEACHER], "1 key and 1 grant"),
        (["users", "suspend", "\udcff@b.c"], "not valid UTF-8"),
        (["keys", "add", STUDENT], "--profile NAME"),
        (["keys", "add", STUDENT, "--profile", "sandbox"], "reserved for the sandbox"),
        (["keys", "add", STUDENT, "--profile", "mine"], "no keyring"),
        (["keys", "add", STUDENT, "--name", "first", "--json"], "already"),
        (["keys", "remove", STUDENT, "frst"], "Did you mean first?"),
        (["keys", "remove", STUDENT, "first"], "--yes"),
        (["apps", "add", "notebook", "--json"], "already"),
        (["apps", "archive", "notebok"], "Did you mean notebook?"),
        (["apps", "remove", "notebook"], "can be undone"),
        (["secrets", "remove", "notebook", "first"], "tokens"),
        (["permissions", "add", "notebook", "sequences:write"], "sequences:read"),
        (["permissions", "add", "notebook", "sequences:read"], "already"),
        (["redirects", "add", "notebook", "http://app.example/"], "is not a valid redirect URI"),
        (["grants", "add", "--user", STUDENT, "--folder", "Vectrs"], "Did you mean Vectors?"),
        (["grants", "add", "--app", "notebook", "--project", "Barcodes"], "already"),
        (["grants", "remove", "--app", "notebook", "--folder", "Vectors"], "has no grant"),
        (["teams", "add", "Cloning course"], "already"),
        (["projects", "add", "X", "--organization", "Chemistry"], "There is no organization"),
        (["organizations", "add", ""], "the name of an organization"),
        (["organizations", "remove", "Biology"], "1 team, 3 projects, 6 folders"),
        (["ip", "add", "300.1.1.1"], "not a range of IP addresses"),
        (["ip", "remove", "10.0.0.0/8"], "There is no range"),
        (["provider", "set", "http://idp.example/x"], "https://"),
        (["provider", "set", "https://idp.example/x", "--audience", "a"], "openid-configuration"),
        (["provider", "set", "https://idp.example/.well-known/openid-configuration"], "--audience"),
        (["audit", "list", "--limit", "0"], "from 1 to"),
        (["audit", "list", "--status", "99999999999999999999"], "not an HTTP status"),
        (["id-token", STUDENT, "--seconds", "99999999999"], "at most a year"),
        (["sequences", "import", "/nowhere.fa", "--folder", "Vectors"], "nowhere.fa"),
    ],
)
def test_error_is_one_line_with_the_next_step(lab, words, message):
    assert message in lab.error(*words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "--folder", "Vectors"], "one of --user, --app"),
        (["add", "--user", STUDENT, "--app", "notebook", "--folder", "Vectors"], "only one of"),
        (["add", "--user", STUDENT], "one of --organization, --team, --project, --folder"),
        (["remove", "--user", STUDENT, "--folder", "a", "--team", "b"], "only one of"),
        (["list", "--user", STUDENT, "--app", "notebook"], "only one of --user, --app"),
    ],
)
def test_grant_needs_one_holder_and_one_place(lab, words, message, capsys):
    before = lab.json("grants", "list")
    with pytest.raises(SystemExit) as ended:
        lab("grants", *words)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert lab.json("grants", "list") == before


def test_class_is_imported_with_keys_and_a_grant(lab, api, tmp_path):
    people = [f"student{number}@import.example" for number in range(30)]
    (tmp_path / "class.csv").write_text("\n".join(["email", *people]))
    keys = tmp_path / "keys.csv"
    line = ["users", "import", str(tmp_path / "class.csv"), "--folder", "Vectors"]
    started = time.monotonic()
    output = lab.output(*line, "--keys", str(keys))
    assert time.monotonic() - started < 10
    assert f"30 users of class.csv created; their keys are in {keys}." in output
    key = keys.read_text().splitlines()[-1].rpartition(",")[2]
    assert api.count(key)
    assert "already" in lab.error(*line)
    for email in people:
        lab("users", "remove", email, "--yes")


def test_stored_key_is_hidden_and_signs_in(lab, ring, person):
    output = lab.output("keys", "add", person, "--profile", "ada", "--name", "kept")
    [key] = ring.secrets.values()
    assert "%lab connect ada" in output
    assert key not in output + lab.output("keys", "list")
    with LabClient.from_connection(config.connection("lab", "ada")) as client:
        assert client.whoami().email == person
    lab.output("keys", "remove", person, "kept", "--yes")
    with (
        LabClient.from_connection(config.connection("lab", "ada")) as client,
        pytest.raises(SignInError),
    ):
        client.whoami()


def test_stored_app_signs_in_and_sees_its_grants(lab, ring):
    output = lab.output("apps", "add", "kept robot", "--profile", "robot")
    assert not any(value in output for user, value in ring.secrets.items() if "secret" in user[1])
    try:
        connection = config.connection("lab", "robot")
        with LabClient.from_connection(connection) as client, pytest.raises(AccessError):
            client.sequences(limit=1)
        lab.output("grants", "add", "--app", "kept robot", "--folder", "Vectors")
        with LabClient.from_connection(connection) as client:
            assert "pBAD30" in set(client.sequences().name)
    finally:
        lab.output("apps", "remove", "kept robot", "--yes")


def test_profile_of_the_other_tenant_reaches_it(lab, ring, box):
    lab.output("keys", "add", "clinician@sandbox.local", "--tenant", "clinic", "--profile", "there")
    with LabClient.from_connection(config.connection("lab", "there")) as client:
        assert client.base_url.startswith(box.lab.tenants["clinic"])
        assert client.whoami().email == "clinician@sandbox.local"
    lab.output("keys", "remove", "clinician@sandbox.local", "key1", "--tenant", "clinic", "--yes")


def test_suspended_user_loses_access(lab, api, person, key):
    assert api.status(key=key) == 200
    lab.output("users", "suspend", person)
    assert api.status(key=key) == 403
    lab.output("users", "activate", person)
    assert api.status(key=key) == 200
    assert api.status(key=key, tenant="clinic") == 401
    lab.output("users", "remove", person, "--yes")
    assert api.status(key=key) == 401


def test_secret_rotation_allows_an_overlap(lab, api, app):
    old = api.app_token(app)["access_token"]
    newer = lab.json("secrets", "add", "robot")
    assert newer["client_id"] == app["client_id"]
    new = api.app_token(newer)["access_token"]
    assert [api.status(token=secret) for secret in (old, new)] == [200, 200]
    lab.output("secrets", "remove", "robot", "secret1", "--yes")
    assert [api.status(token=secret) for secret in (old, new)] == [401, 200]
    assert api.app_token(app)["status"] == 401
    assert api.app_token(newer)["status"] == 200


def test_archived_app_loses_access(lab, api, app):
    token = api.app_token(app)["access_token"]
    lab.output("apps", "archive", "robot")
    assert (api.status(token=token), api.app_token(app)["error"]) == (403, "unauthorized_client")
    lab.output("apps", "unarchive", "robot")
    assert (api.status(token=token), api.app_token(app)["status"]) == (200, 200)


def test_app_needs_the_permission(lab, api, app):
    token = api.app_token(app)["access_token"]
    lab.output("permissions", "remove", "robot", "sequences:read")
    assert api.status(token=token) == 403
    assert "There is no permission" in lab.error("permissions", "remove", "robot", "sequences:read")
    lab.output("permissions", "add", app["id"], "sequences:read")
    assert api.status(token=token) == 200


@pytest.mark.parametrize(
    ("kind", "name", "sequences"),
    [
        ("organization", "Biology", 113),
        ("team", "Cloning course", 6),
        ("project", "Barcodes", 101),
        ("folder", "lib_BNXEMk8K", 4),
    ],
)
def test_grant_gives_access_to_its_place(lab, api, person, key, kind, name, sequences):
    assert api.count(key) == 0
    lab.output("grants", "add", "--user", person, f"--{kind}", name)
    [grant] = lab.json("grants", "list", "--user", person)
    assert (grant["user"], grant["kind"]) == (person, kind)
    # archived ones are listed only on request
    every = {"archiveReason": "ANY_ARCHIVED_OR_NOT_ARCHIVED"}
    assert api.count(key, **every) == sequences
    lab.output("grants", "remove", "--user", person, f"--{kind}", name)
    assert api.count(key) == 0
    assert lab.json("grants", "list", "--user", person) == []


def test_place_is_created_filled_listed_and_removed(lab, api, person, key, tmp_path):
    file = tmp_path / "two.fa"
    file.write_text(">one\nACGT\n>two\nGGGCCC\n")
    line = ["sequences", "import", str(file), "--tenant", "clinic", "--folder"]
    assert "`--creator EMAIL`" in lab.error(*line, "Reference sequences")
    lab.output("organizations", "add", "Physics")
    try:
        assert "2 organizations" in lab.error("teams", "add", "Optics")
        team = lab.json("teams", "add", "Optics", "--organization", "Physics")
        project = lab.json("projects", "add", "Lasers", "--team", team["id"])
        assert (project["organization"], project["team"]) == ("Physics", "Optics")
        folder = lab.json("folders", "add", "Vectors", "--project", "Lasers")
        assert folder["id"] in lab.error("grants", "add", "--user", person, "--folder", "Vectors")
        imported_rows = lab.json(
            "sequences", "import", str(file), "--folder", folder["id"], "--creator", person
        )
        assert [imported_row["length"] for imported_row in imported_rows] == [4, 6]
        lab.output("grants", "add", "--user", person, "--team", "Optics")
        assert api.count(key) == 2
        assert "4 sequences" not in lab.error("organizations", "remove", "Physics")
    finally:
        removed = lab.json("organizations", "remove", "Physics", "--yes")
    names = ("teams", "projects", "folders", "sequences", "grants")
    assert [removed[name] for name in names] == [1, 1, 1, 2, 1]
    assert api.count(key) == 0
    assert {row["name"] for row in lab.json("organizations", "list")} == {"Biology"}


def test_import_states_which_features_it_leaves_out(lab, tmp_path):
    file = tmp_path / "map.gb"
    feature = "     promoter        %s\n"
    file.write_text(
        "LOCUS       map                       12 bp    DNA     linear   SYN 01-JAN-2026\n"
        f"FEATURES             Location/Qualifiers\n{feature % '3..8'}{feature % '9..2'}"
        "ORIGIN\n        1 gattacagat ta\n//\n"
    )
    lab.output("folders", "add", "Linear maps", "--project", "Cloning course")
    try:
        text = lab.output("sequences", "import", str(file), "--folder", "Linear maps")
        assert "12 bases. 1 feature without a valid position was left out." in text
    finally:
        lab.output("folders", "remove", "Linear maps", "--yes")


def test_addresses_outside_the_ip_ranges_are_refused(lab, api, key):
    try:
        assert lab.json("ip", "add", "203.0.113.7/24") == {"network": "203.0.113.0/24"}
        assert api.status(key=key) == 403
        assert api.status(key="wrong") == 401
        lab.output("ip", "add", "127.0.0.1")
        assert api.status(key=key) == 200
        assert "already" in lab.error("ip", "add", "127.0.0.1/32")
    finally:
        for network in [row["network"] for row in lab.json("ip", "list")]:
            output = lab.output("ip", "remove", network)
    assert "all addresses are allowed" in output
    assert api.status(key=key) == 200


def test_audit_log_lists_identity_and_status(lab, api, person, key, app):
    api.status(key=key)
    api.status(token=api.app_token(app)["access_token"])
    api.get("nowhere", lab_service.basic(key))
    entries = lab.json("audit", "list", "--user", person)
    assert [entry["status"] for entry in entries[:2]] == [404, 200]
    assert entries[1]["credential"] == "key key1"
    assert lab.json("audit", "list", "--user", person, "--limit", "1") == entries[:1]
    assert {row["app"] for row in lab.json("audit", "list", "--app", "robot")} == {"robot"}
    assert {row["status"] for row in lab.json("audit", "list", "--status", "404")} == {404}
    times = [row["time"] for row in lab.json("audit", "list")]
    assert times == sorted(times, reverse=True)


def test_id_token_is_printed_alone_and_signs_in(lab, api, person):
    out = lab.output("id-token", person)
    assert out.count("\n") == 1
    assert api.status(token=out.strip()) == 200
    created = lab.json("id-token", person, "--seconds", "-60")
    assert (created["email"], created["seconds"], created["user"]) == (person, -60, True)
    assert api.status(token=created["id_token"]) == 401
    unknown_user = lab.json("id-token", "nobody@course.example")
    assert unknown_user["user"] is False
    assert api.status(token=unknown_user["id_token"]) == 401
    foreign = lab.json("id-token", person, "--audience", "elsewhere")["id_token"]
    assert api.status(token=foreign) == 401
    reasons = {row["reason"] for row in lab.json("audit", "list", "--status", "401")}
    assert len(reasons) >= 3
    assert not any(token in str(reasons) for token in (created["id_token"], foreign))


def test_sign_in_secret_is_printed_and_renewed(lab, api, box):
    email = "keeper@course.example"
    lab.output("users", "add", email)
    first = lab.output("users", "secret", email)
    assert first.count("\n") == 1
    assert len(first.strip()) >= 32
    assert lab.json("users", "secret", email) == {
        "email": email,
        "tenant": "campus",
        "secret": first.strip(),
    }
    assert api.signs_in(email, first.strip())
    second = lab.output("users", "secret", email, "--renew")
    assert second != first
    assert not api.signs_in(email, first.strip())
    assert api.signs_in(email, second.strip())
    files = {*(box.data_dir / "secrets").glob("lab_oidc_user_*")}
    lab.output("users", "remove", email, "--yes")
    (removed,) = files - {*(box.data_dir / "secrets").glob("lab_oidc_user_*")}
    assert not removed.exists()
    assert not api.signs_in(email, second.strip())
    assert "user of campus" in lab.error("users", "secret", email)
    clinic = ("users", "secret", "clinician@sandbox.local", "--tenant", "clinic")
    assert "not an enterprise account" in lab.error(*clinic)


def test_tenant_accepts_only_id_tokens_of_its_provider(lab, api, person):
    before = lab.json("provider", "list")
    token = lab.output("id-token", person).strip()
    try:
        lab.output("provider", "remove")
        assert api.status(token=token) == 401
    finally:
        lab.output("provider", "set")
    assert lab.json("provider", "list") == before
    assert api.status(token=token) == 200
    assert api.status(token=token, tenant="clinic") == 401
    keys = lab.json("provider", "rotate")
    assert [key_row["in_use"] for key_row in keys] == [True] + [False] * (len(keys) - 1)
    assert api.status(token=token) == 200
    assert api.status(token=lab.output("id-token", person).strip()) == 200


def test_stopped_sandbox_can_be_administered(lab, tmp_path):
    where = tmp_path / "own"
    service = ["labext.sandbox.lab.app:service"]
    try:
        Sandbox(where, rate="off", sequences=120, services=service).start()
        sandbox = Sandbox(where, rate="off", services=service)
        sandbox.stop()
        new_key = lab.json("keys", "add", TEACHER, data_dir=where)
        assert "not running" in lab.error("keys", "add", TEACHER, "--profile", "t", data_dir=where)
        url = "https://idp.example/.well-known/openid-configuration"
        lab.output("provider", "set", url, "--audience", "ours", data_dir=where)
        token = lab.output("id-token", TEACHER, data_dir=where).strip()
        folders = lab.json("sequences", "list", data_dir=where)
        assert sum(folder["sequences"] for folder in folders) == 120
        sandbox.start()
        api = Api(sandbox)
        assert api.status(key=new_key["api_key"]) == 200
        assert lab.json("provider", "list", data_dir=where)["configuration_url"] == url
        assert api.status(token=token) == 401
    finally:
        sandbox.stop()
