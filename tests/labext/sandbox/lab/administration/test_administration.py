"""Administration of the platform: creating, finding, isolating and removing."""

from __future__ import annotations

import contextlib
import csv
from ipaddress import ip_network

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from labext.errors import (
    ConflictError,
    InputError,
    LabextError,
    NotFoundError,
    SetupError,
    StorageError,
)
from labext.sandbox.core.signing import hash_key, new_key
from labext.sandbox.lab.administration.tenants import PLACE_KINDS
from labext.sandbox.lab.tables import ApiKey, Base, Secret, Token

STUDENT = "student@sandbox.local"
same_fixtures = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20
)


def rows(admin) -> dict[str, int]:
    """Return the number of rows of each table."""
    with admin.database.read() as session:
        return {
            name: session.scalar(select(func.count()).select_from(table)) or 0
            for name, table in Base.metadata.tables.items()
        }


def test_email_is_case_insensitive(admin):
    user = admin.add_user("Ada.Lovelace@Course.example")
    assert (user["email"], user["name"]) == ("ada.lovelace@course.example", "Ada Lovelace")
    with pytest.raises(ConflictError):
        admin.add_user("ADA.LOVELACE@course.example")
    assert admin.set_suspended("Ada.Lovelace@course.EXAMPLE", True)["suspended"]
    admin.of("clinic").add_user("ada.lovelace@course.example")


def test_handles_are_unique_within_a_tenant(admin):
    handles = [admin.add_user(f"student@{place}.example")["handle"] for place in "ab"]
    everybody = [user["handle"] for user in admin.users()]
    assert len(set(everybody)) == len(everybody)
    assert all(handle.startswith("student") for handle in handles)


@pytest.mark.parametrize(
    "content",
    [
        b"email,name\nada@c.example,Ada Lovelace\nBOB@c.example,\n",
        b"\xef\xbb\xbfName;Email;Id\r\nAda Lovelace; ada@c.example;1\r\n\r\n;bob@c.example;2\r\n",
        "email,name\nada@c.example,Ada Lovelace\nbob@c.example,\n".encode("utf-16"),
    ],
)
def test_users_of_a_table_are_created_with_keys_and_a_grant(admin, tmp_path, content):
    (tmp_path / "class.csv").write_bytes(content)
    keys = tmp_path / "keys.csv"
    users = admin.import_users(tmp_path / "class.csv", ("folder", "Vectors"), keys)
    assert [(user["email"], user["name"]) for user in users] == [
        ("ada@c.example", "Ada Lovelace"),
        ("bob@c.example", "Bob"),
    ]
    assert all((user["keys"], user["grants"]) == (1, 1) for user in users)
    assert keys.stat().st_mode & 0o777 == 0o600
    with keys.open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["email"] for row in written] == ["ada@c.example", "bob@c.example"]
    with admin.read() as (session, _):
        hashes = set(session.scalars(select(ApiKey.hash)))
    assert {hash_key(row["key"]) for row in written} <= hashes


def test_users_of_a_table_may_have_neither_keys_nor_grants(admin, tmp_path):
    (tmp_path / "class.csv").write_text("email\nada@c.example\n")
    [user] = admin.import_users(tmp_path / "class.csv")
    assert (user["keys"], user["grants"]) == (0, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no column email"),
        ("name\nAda\n", "no column email"),
        ("email,name\n", "has no rows"),
        ("email\nada@c.example\nbob\n", '"bob" is not an e-mail address'),
        ("email\nada@c.example\nADA@c.example\n", "lists ada@c.example more than once"),
        (f"email\nada@c.example\n{STUDENT}\n", f"1 of the 2 addresses in .* already: {STUDENT}"),
        ("email\n\0\n", "is not a text file"),
        (None, "can't be read"),
    ],
)
def test_invalid_table_of_users_creates_none(admin, tmp_path, content, message):
    if content is not None:
        (tmp_path / "class.csv").write_text(content)
    before = rows(admin)
    with pytest.raises(LabextError, match=message) as refused:
        admin.import_users(tmp_path / "class.csv", ("folder", "Vectors"), tmp_path / "keys.csv")
    assert refused.value.next_step
    assert rows(admin) == before
    assert not (tmp_path / "keys.csv").exists()


@pytest.mark.parametrize(
    ("keys", "place", "error"),
    [
        ("class.csv", "Vectors", ConflictError),
        ("missing/keys.csv", "Vectors", StorageError),
        ("keys.csv", "Vektors", NotFoundError),
    ],
)
def test_users_are_created_only_with_their_keys_and_grants(admin, tmp_path, keys, place, error):
    (tmp_path / "class.csv").write_text("email\nada@c.example\n")
    before = rows(admin)
    with pytest.raises(error):
        admin.import_users(tmp_path / "class.csv", ("folder", place), tmp_path / keys)
    assert rows(admin) == before
    assert [path.name for path in tmp_path.glob("*.csv")] == ["class.csv"]


def test_objects_of_another_tenant_are_not_found(admin):
    for call in (
        lambda: admin.of("clinic").set_suspended(STUDENT, True),
        lambda: admin.of("clinic").credentials("key", STUDENT),
        lambda: admin.of("clinic").set_archived("notebook", True),
        lambda: admin.of("clinic").remove_place("folder", "Vectors", yes=True),
        lambda: admin.of("clinic").add_grant(("app", "analyser"), "folder", "Vectors"),
        lambda: admin.add_grant(("user", STUDENT), "project", "Plague"),
        lambda: admin.of("klinic").users(),
    ):
        before = rows(admin)
        with pytest.raises(NotFoundError):
            call()
        assert rows(admin) == before


@pytest.mark.parametrize("noun", PLACE_KINDS)
def test_removal_reports_the_deleted_records(admin, noun):
    tables = {
        "teams": "lab_teams",
        "projects": "lab_projects",
        "folders": "lab_folders",
        "sequences": "lab_sequences",
        "grants": "lab_grants",
    }
    for place in admin.places(noun):
        if noun == "folder" and not place["sequences"]:
            continue
        before = rows(admin)
        with pytest.raises(InputError, match="yes=True"):
            admin.remove_place(noun, place["id"], yes=False)
        assert rows(admin) == before
        removed = admin.remove_place(noun, place["id"], yes=True)
        after = rows(admin)
        deleted = {name: before[table] - after[table] for name, table in tables.items()}
        itself = {f"{noun}s": 1} if noun != "organization" else {}
        counted = {name: removed.get(name, 0) for name in tables}
        if noun in ("team", "folder"):  # these do not contain their own kind
            counted |= itself
        if noun == "project":
            counted |= itself
        assert counted == deleted
        changed = {name for name in after if after[name] != before[name]}
        assert changed <= {*tables.values(), "lab_organizations", "lab_search_values"}


def test_empty_folder_is_removed_without_confirmation(admin):
    folder = admin.add_folder("Scratch", "Barcodes")
    assert admin.remove_place("folder", "Scratch", yes=False)["id"] == folder["id"]


def test_ambiguous_place_name_needs_an_identifier(admin):
    folder = admin.add_folder("Primers", "Barcodes")
    other_folder = admin.add_folder("Primers", "Cold response")
    with pytest.raises(ConflictError) as caught:
        admin.add_grant(("user", STUDENT), "folder", "Primers")
    assert folder["id"] in str(caught.value)
    assert other_folder["id"] in str(caught.value)
    grant = admin.add_grant(("user", STUDENT), "folder", other_folder["id"])
    assert grant["id"] == other_folder["id"]
    with pytest.raises(ConflictError):
        admin.add_folder("Primers", "Barcodes")


def test_organization_is_required_if_there_are_several(admin):
    assert admin.add_team("Night shift")["organization"] == "Biology"
    admin.add_organization("Physics")
    with pytest.raises(ConflictError, match="2 organizations"):
        admin.add_project("Lasers")
    project = admin.add_project("Lasers", "Physics")
    assert (project["organization"], project["team"]) == ("Physics", None)


def test_projects_survive_the_removal_of_their_team(admin):
    before = admin.places("project")
    admin.remove_place("team", "Cloning course", yes=True)
    after = admin.places("project")
    assert [row["id"] for row in after] == [row["id"] for row in before]
    assert {row["team"] for row in after} == {None}


def test_credential_names_are_unique_per_owner(admin):
    for owner in (STUDENT, "teacher@sandbox.local"):
        credential = admin.add_credential("key", owner, f"sk_{owner}")
        assert credential == {"user": owner, "name": "key1"}
    assert admin.add_credential("secret", "notebook", "cs")["name"] == "secret1"
    assert "sk_" not in str(admin.credentials("key"))


def test_deleted_object_cannot_be_deleted_again(admin):
    admin.remove_credential("key", STUDENT, "first", yes=True)
    with pytest.raises(NotFoundError):
        admin.remove_credential("key", STUDENT, "first", yes=True)
    [left] = admin.credentials("key", STUDENT)
    assert left["deleted"] is not None
    assert admin.users()[1]["keys"] == 0


@pytest.mark.parametrize(
    ("owner", "mentioned"), [(STUDENT, True), ("teacher@sandbox.local", False)]
)
def test_removal_mentions_the_connection_file_for_the_sample_user_only(admin, owner, mentioned):
    admin.add_credential("key", owner, "sk_other")
    for remove in (
        lambda: admin.remove_user(owner, yes=False),
        lambda: admin.remove_credential("key", owner, "key1", yes=False),
    ):
        with pytest.raises(InputError) as caught:
            remove()
        assert ("connection.json" in str(caught.value)) is mentioned


def test_removed_app_loses_its_tokens(admin):
    with admin.database.write() as session:
        secret = session.scalars(select(Secret).limit(1)).one()
        session.add(Token(secret_id=secret.id, hash="h", expires=9e9))
    before = rows(admin)
    removed = admin.remove_app("notebook", yes=True)
    after = rows(admin)
    assert (removed["secrets"], removed["grants"]) == (1, 2)
    assert before["lab_tokens"] - after["lab_tokens"] == 1
    assert before["lab_grants"] - after["lab_grants"] == 2


def test_app_name_takes_precedence_over_client_id(admin):
    app = admin.add_app("robot", "client_robot", "cs")
    admin.add_app(app["id"], "client_other", "cs2")
    assert admin.app("client_robot")["name"] == "robot"
    assert admin.app(app["id"])["client_id"] == "client_other"


@pytest.mark.parametrize(
    ("uri", "may"),
    [
        ("https://app.example/back?a=1", True),
        ("http://localhost:9999/", True),
        ("http://[::1]:1/", True),
        ("http://app.example/", False),
        ("https:///back", False),
        ("https://app.example:99999/", False),
        ("https://app.example/#part", False),
        ("https://app.example/a b", False),
        ("data:text/html,x", False),
        ("", False),
        ("https://app.example/" + "a" * 3000, False),
    ],
)
def test_unsafe_redirect_uri_is_refused(admin, uri, may):
    if may:
        assert uri in admin.set_item("notebook", "redirect URI", uri, True)["redirect_uris"]
    else:
        with pytest.raises(InputError):
            admin.set_item("notebook", "redirect URI", uri, True)


@same_fixtures
@given(st.ip_addresses(), st.integers(0, 128))
def test_ip_range_is_stored_in_canonical_form(admin, address, prefix):
    text = f"{address}/{min(prefix, address.max_prefixlen)}"
    network = admin.add_range(text)["network"]
    assert ip_network(network, strict=True) == ip_network(text, strict=False)
    with pytest.raises(ConflictError):
        admin.add_range(f" {network} ")
    assert admin.remove_range(text) == {"removed": network, "left": 0}


@same_fixtures
@given(st.text(max_size=60))
def test_arbitrary_arguments_raise_only_command_errors(admin, text):
    for call in (
        lambda: admin.add_user(text),
        lambda: admin.add_user(f"{text}@b.example", text),
        lambda: admin.add_app(text, new_key(), new_key()),
        lambda: admin.add_folder(text, "Barcodes"),
        lambda: admin.remove_place("project", text, yes=False),
        lambda: admin.add_range(text),
        lambda: admin.set_item("notebook", "redirect URI", text, True),
        lambda: admin.set_provider(text, text),
        lambda: admin.id_token(text),
        lambda: admin.add_credential("key", STUDENT, new_key(), text),
        lambda: admin.audit_log(user=text, app=text),
    ):
        before = rows(admin)
        with contextlib.suppress(LabextError):
            call()
            continue
        assert rows(admin) == before


def test_provider_and_ranges_need_an_enterprise_tenant(admin):
    for call in (
        lambda: admin.of("clinic").add_range("10.0.0.0/8"),
        lambda: admin.of("clinic").set_provider(None, None),
        lambda: admin.of("clinic").set_provider(admin.own_provider(), None),
    ):
        with pytest.raises(InputError, match='tenant="campus"'):
            call()
    assert admin.of("clinic").ranges() == []
    assert admin.of("clinic").provider()["configuration_url"] is None


def test_sandbox_that_never_started_is_reported(admin):
    empty = type(admin)(
        type(admin.site)(**{**vars(admin.site), "origins": {"lab-oidc": ""}}), running=False
    )
    with pytest.raises(SetupError, match="never started"):
        empty.id_token(STUDENT)
    with admin.database.write() as session:
        session.execute(Base.metadata.tables["lab_tenants"].delete())
    with pytest.raises(SetupError, match="never started"):
        admin.users()
