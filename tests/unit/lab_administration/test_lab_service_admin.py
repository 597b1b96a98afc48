"""The platform's administration: what it makes, finds, keeps apart and takes away."""

from __future__ import annotations

import contextlib
from ipaddress import ip_network

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from labext.errors import ConflictError, InputError, LabextError, NotFoundError, SetupError
from labext.sandbox.keys import new_key
from labext.sandbox.lab.administration import (
    apps,
    credentials,
    grants,
    log,
    network,
    people,
    places,
    providers,
)
from labext.sandbox.lab.administration.credentials import KEYS, SECRETS
from labext.sandbox.lab.administration.finding import KINDS
from labext.sandbox.lab.administration.grants import Holder
from labext.sandbox.lab.store import Base, Secret, Token

STUDENT = "student@sandbox.local"
same_fixtures = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20
)


def rows(admin) -> dict[str, int]:
    """How many rows each table has."""
    with admin.database.read() as session:
        return {
            name: session.scalar(select(func.count()).select_from(table)) or 0
            for name, table in Base.metadata.tables.items()
        }


def test_an_address_is_the_same_in_either_case(admin):
    made = people.add_user(admin, "campus", "Ada.Lovelace@Course.example")
    assert (made["email"], made["name"]) == ("ada.lovelace@course.example", "Ada Lovelace")
    with pytest.raises(ConflictError):
        people.add_user(admin, "campus", "ADA.LOVELACE@course.example")
    assert people.set_suspended(admin, "campus", "Ada.Lovelace@course.EXAMPLE", True)["suspended"]
    people.add_user(admin, "clinic", "ada.lovelace@course.example")


def test_handles_are_unique_within_a_tenant(admin):
    handles = [
        people.add_user(admin, "campus", f"student@{place}.example")["handle"] for place in "ab"
    ]
    everybody = [user["handle"] for user in people.users(admin, "campus")]
    assert len(set(everybody)) == len(everybody)
    assert all(handle.startswith("student") for handle in handles)


def test_what_is_anothers_is_not_found(admin):
    for call in (
        lambda: people.set_suspended(admin, "clinic", STUDENT, True),
        lambda: credentials.listed(admin, KEYS, "clinic", STUDENT),
        lambda: apps.set_archived(admin, "clinic", "notebook", True),
        lambda: places.remove(admin, "clinic", "folder", "Vectors", yes=True),
        lambda: grants.add_grant(admin, "clinic", Holder(app="analyser"), "folder", "Vectors"),
        lambda: grants.add_grant(admin, "campus", Holder(STUDENT), "project", "Plague"),
        lambda: people.users(admin, "klinic"),
    ):
        before = rows(admin)
        with pytest.raises(NotFoundError):
            call()
        assert rows(admin) == before


@pytest.mark.parametrize("noun", KINDS)
def test_a_removal_says_what_goes_and_nothing_else_goes(admin, noun):
    tables = {
        "teams": "lab_teams",
        "projects": "lab_projects",
        "folders": "lab_folders",
        "sequences": "lab_sequences",
        "grants": "lab_grants",
    }
    for place in places.listed(admin, "campus", noun):
        if noun == "folder" and not place["sequences"]:
            continue
        before = rows(admin)
        with pytest.raises(InputError, match="--yes"):
            places.remove(admin, "campus", noun, place["id"], yes=False)
        assert rows(admin) == before
        gone = places.remove(admin, "campus", noun, place["id"], yes=True)
        after = rows(admin)
        lost = {name: before[table] - after[table] for name, table in tables.items()}
        itself = {f"{noun}s": 1} if noun != "organization" else {}
        counted = {name: gone.get(name, 0) for name in tables}
        if noun in ("team", "folder"):  # a kind that is not in itself
            counted |= itself
        if noun == "project":
            counted |= itself
        assert counted == lost
        changed = {name for name in after if after[name] != before[name]}
        assert changed <= {*tables.values(), "lab_organizations", "lab_search_values"}


def test_an_empty_folder_goes_without_more_ado(admin):
    made = places.add_folder(admin, "campus", "Scratch", "Barcodes")
    assert places.remove(admin, "campus", "folder", "Scratch", yes=False)["id"] == made["id"]


def test_places_of_one_name_are_told_apart_by_their_identifiers(admin):
    here = places.add_folder(admin, "campus", "Primers", "Barcodes")
    there = places.add_folder(admin, "campus", "Primers", "Cold response")
    with pytest.raises(ConflictError) as refused:
        grants.add_grant(admin, "campus", Holder(STUDENT), "folder", "Primers")
    assert here["id"] in str(refused.value)
    assert there["id"] in str(refused.value)
    made = grants.add_grant(admin, "campus", Holder(STUDENT), "folder", there["id"])
    assert made["id"] == there["id"]
    with pytest.raises(ConflictError):
        places.add_folder(admin, "campus", "Primers", "Barcodes")


def test_the_organization_is_named_where_there_are_several(admin):
    assert places.add_team(admin, "campus", "Night shift")["organization"] == "Biology"
    places.add_organization(admin, "campus", "Physics")
    with pytest.raises(ConflictError, match="2 organizations"):
        places.add_project(admin, "campus", "Lasers")
    made = places.add_project(admin, "campus", "Lasers", "Physics")
    assert (made["organization"], made["team"]) == ("Physics", None)


def test_a_teams_projects_outlive_it(admin):
    before = places.listed(admin, "campus", "project")
    places.remove(admin, "campus", "team", "Cloning course", yes=True)
    after = places.listed(admin, "campus", "project")
    assert [each["id"] for each in after] == [each["id"] for each in before]
    assert {each["team"] for each in after} == {None}


def test_whom_a_grant_is_of_is_said_once(admin):
    for holder in (Holder(), Holder(STUDENT, "notebook")):
        with pytest.raises(InputError, match="--user"):
            grants.add_grant(admin, "campus", holder, "folder", "Vectors")


def test_credentials_of_different_owners_may_have_one_name(admin):
    for owner in (STUDENT, "teacher@sandbox.local"):
        made = credentials.add(admin, KEYS, "campus", owner, f"sk_{owner}")
        assert made == {"user": owner, "name": "key1"}
    assert credentials.add(admin, SECRETS, "campus", "notebook", "cs")["name"] == "secret1"
    assert "sk_" not in str(credentials.listed(admin, KEYS, "campus"))


def test_what_was_deleted_can_not_be_deleted_again(admin):
    credentials.remove(admin, KEYS, "campus", STUDENT, "first", yes=True)
    with pytest.raises(NotFoundError):
        credentials.remove(admin, KEYS, "campus", STUDENT, "first", yes=True)
    [left] = credentials.listed(admin, KEYS, "campus", STUDENT)
    assert left["deleted"] is not None
    assert people.users(admin, "campus")[1]["keys"] == 0


def test_an_app_goes_with_its_tokens(admin):
    with admin.database.write() as session:
        secret = session.scalars(select(Secret).limit(1)).one()
        session.add(Token(secret_id=secret.id, hash="h", expires=9e9))
    before = rows(admin)
    gone = apps.remove_app(admin, "campus", "notebook", yes=True)
    after = rows(admin)
    assert (gone["secrets"], gone["grants"]) == (1, 2)
    assert before["lab_tokens"] - after["lab_tokens"] == 1
    assert before["lab_grants"] - after["lab_grants"] == 2


def test_an_app_is_found_by_its_name_first(admin):
    made = apps.add_app(admin, "campus", "robot", "client_robot", "cs")
    apps.add_app(admin, "campus", made["id"], "client_other", "cs2")
    assert apps.app(admin, "campus", "client_robot")["name"] == "robot"
    assert apps.app(admin, "campus", made["id"])["client_id"] == "client_other"


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
def test_only_a_safe_address_is_registered(admin, uri, may):
    if may:
        assert (
            uri
            in apps.set_item(admin, "campus", "notebook", "redirect URI", uri, True)[
                "redirect_uris"
            ]
        )
    else:
        with pytest.raises(InputError):
            apps.set_item(admin, "campus", "notebook", "redirect URI", uri, True)


@same_fixtures
@given(st.ip_addresses(), st.integers(0, 128))
def test_a_range_is_kept_as_it_is_written_properly(admin, address, prefix):
    text = f"{address}/{min(prefix, address.max_prefixlen)}"
    kept = network.add_range(admin, "campus", text)["network"]
    assert ip_network(kept, strict=True) == ip_network(text, strict=False)
    with pytest.raises(ConflictError):
        network.add_range(admin, "campus", f" {kept} ")
    assert network.remove_range(admin, "campus", text) == {"removed": kept, "left": 0}


@same_fixtures
@given(st.text(max_size=60))
def test_whatever_is_typed_is_done_or_refused(admin, text):
    for call in (
        lambda: people.add_user(admin, "campus", text),
        lambda: people.add_user(admin, "campus", f"{text}@b.example", text),
        lambda: apps.add_app(admin, "campus", text, new_key(), new_key()),
        lambda: places.add_folder(admin, "campus", text, "Barcodes"),
        lambda: places.remove(admin, "campus", "project", text, yes=False),
        lambda: network.add_range(admin, "campus", text),
        lambda: apps.set_item(admin, "campus", "notebook", "redirect URI", text, True),
        lambda: providers.set_provider(admin, "campus", text, text),
        lambda: providers.id_token(admin, text),
        lambda: credentials.add(admin, KEYS, "campus", STUDENT, new_key(), text),
        lambda: log.entries(admin, "campus", user=text, app=text),
    ):
        before = rows(admin)
        with contextlib.suppress(LabextError):
            call()
            continue
        assert rows(admin) == before


def test_only_an_enterprise_account_has_a_provider_and_ranges(admin):
    for call in (
        lambda: network.add_range(admin, "clinic", "10.0.0.0/8"),
        lambda: providers.set_provider(admin, "clinic", None, None),
        lambda: providers.set_provider(admin, "clinic", providers.own(admin), None),
    ):
        with pytest.raises(InputError, match="--tenant campus"):
            call()
    assert network.ranges(admin, "clinic") == []
    assert providers.provider(admin, "clinic")["configuration_url"] is None


def test_a_platform_that_never_started_says_so(admin):
    empty = type(admin)(
        type(admin.site)(**{**vars(admin.site), "origins": {"lab-oidc": ""}}), running=False
    )
    with pytest.raises(SetupError, match="never started"):
        providers.id_token(empty, STUDENT)
    with admin.database.write() as session:
        session.execute(Base.metadata.tables["lab_tenants"].delete())
    with pytest.raises(SetupError, match="never started"):
        people.users(admin, "campus")
