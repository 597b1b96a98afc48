"""Seeded data: created once, equal in every sandbox, separate for each tenant."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import delete, select

from labext.sandbox.core.signing import hash_key
from labext.sandbox.lab import access_control, seed
from labext.sandbox.lab.access_control import Caller
from labext.sandbox.lab.endpoints import CAMPUS, CLINIC, PROVIDER_ENDPOINT
from labext.sandbox.lab.oidc.service import DEFAULT_AUDIENCE
from labext.sandbox.lab.seed import TENANT_PLANS
from labext.sandbox.lab.sequences import importing
from labext.sandbox.lab.tables import ApiKey, App, Base, Folder, Grant, Secret, Tenant, User

COURSE = {"Vectors", "Digests", "Fragments and mutants"}
SEEN = {
    "student": {*COURSE, "Cold-regulated genes", "Cactus rpl16 introns"},
    "teacher": {*COURSE, "Cold-regulated genes", "Cactus rpl16 introns", "Orchid ITS regions"},
    "suspended": COURSE,  # were it not suspended
    "guest": set(),
}


def campus(session, name=CAMPUS):
    return session.scalars(select(Tenant).where(Tenant.name == name)).one()


def person(session, handle, tenant=CAMPUS):
    email = f"{handle}@sandbox.local"
    user = access_control.find_user_by_email(session, campus(session, tenant).id, email)
    assert user is not None
    return user


def names_of(session, caller):
    ids = access_control.readable_places(session, caller).folders
    return {*session.scalars(select(Folder.name).where(Folder.id.in_(ids)))}


def contents(site):
    """Return all rows of all tables."""
    with site.database.read() as session:
        return {
            table.name: session.execute(select(table).order_by(*table.primary_key)).all()
            for table in Base.metadata.sorted_tables
        }


@pytest.mark.parametrize(("handle", "folders"), SEEN.items())
def test_users_see_different_parts(site, handle, folders):
    with site.database.read() as session:
        user = person(session, handle)
        assert user.suspended == (handle == "suspended")
        assert names_of(session, Caller(user.tenant_id, user, None, "")) == folders


def test_app_sees_sequences_no_user_sees(site):
    with site.database.read() as session:
        app = session.scalars(select(App).where(App.name == "notebook")).one()
        assert app.permissions == ["sequences:read"]
        visible_names = names_of(session, Caller(app.tenant_id, None, app, ""))
        assert visible_names == {*COURSE, "Cactus rpl16 introns", "Orchid ITS regions"}


def test_clinic_shares_nothing_with_campus(site):
    with site.database.read() as session:
        assert not campus(session, CLINIC).enterprise
        clinician = person(session, "clinician", CLINIC)
        visible_names = names_of(session, Caller(clinician.tenant_id, clinician, None, ""))
        assert visible_names == {"Reference sequences"}
        teachers = session.scalars(select(User).where(User.handle == "teacher")).all()
        assert len({teacher.id for teacher in teachers}) == 2


def test_student_sees_the_sequences_of_the_example_notebook(site, lists_of):
    lists = lists_of(site, SEEN["student"])
    (pbad30,) = lists.all({"name": "pBAD30"})
    assert (pbad30["name"], pbad30["length"], pbad30["isCircular"]) == ("pBAD30", 4923, True)
    long = [r for r in lists.all({"nameIncludes": "pla"}) if r["length"] >= 3000]
    assert len(long) >= 3
    assert {record["isCircular"] for record in long} == {True, False}
    assert len(lists.all()) == 18


def test_some_sequences_share_a_name(lists):
    for name in ("P.victoria ITS", "P.glanduliferum ITS"):
        assert len(lists.all({"name": name})) == 2


def test_seeded_credentials_are_valid_and_distinct(site):
    users = [(plan.tenant, person.handle) for plan in TENANT_PLANS for person in plan.people]
    keys = [seed.seeded_key(site, *item) for item in users]
    client_id, client_secret = seed.seeded_client(site)
    assert len({*keys, client_secret}) == len(keys) + 1
    assert seed.student_key(site) == keys[users.index((CAMPUS, "student"))]
    with site.database.read() as session:
        hashes = {*session.scalars(select(ApiKey.hash))}
        assert hashes == {hash_key(key) for key in keys}
        app = session.scalars(select(App).where(App.client_id == client_id)).one()
        secret = session.scalars(select(Secret).where(Secret.app_id == app.id)).one()
        assert secret.hash == hash_key(client_secret)
    key_files = [path for path in site.secrets.iterdir() if path.name.startswith("lab_")]
    assert {path.stat().st_mode & 0o777 for path in key_files} == {0o600}


def test_sandboxes_share_sequences_but_not_keys(site, new_platform, lists_of):
    both = {"archiveReason": "ANY_ARCHIVED_OR_NOT_ARCHIVED"}
    assert lists_of(site).all(both) == lists_of(new_platform).all(both)
    assert seed.seeded_client(site)[0] == seed.seeded_client(new_platform)[0]
    assert seed.seeded_client(site)[1] != seed.seeded_client(new_platform)[1]
    assert seed.student_key(site) != seed.student_key(new_platform)


def test_second_start_changes_nothing(site, monkeypatch):
    monkeypatch.setattr(importing, "read_sequences", None)
    before = contents(site)
    seed.seed(site)
    assert contents(site) == before


def test_removed_objects_are_not_seeded_again(site):
    with site.database.write() as session:
        session.execute(delete(ApiKey))
        session.execute(delete(Grant))
        session.delete(person(session, "guest"))
        session.delete(session.scalars(select(Folder).where(Folder.name == "Vectors")).one())
        session.delete(campus(session, CLINIC))
    before = contents(site)
    seed.seed(site)
    assert contents(site) == before


def test_provider_address_follows_its_port(site):
    moved = replace(site, origins={**site.origins, PROVIDER_ENDPOINT: "https://localhost:29999"})
    seed.seed(moved)
    with site.database.read() as session:
        tenant = campus(session)
        assert tenant.enterprise
        assert tenant.audience == DEFAULT_AUDIENCE
        address = "https://localhost:29999/.well-known/openid-configuration"
        assert tenant.configuration_url == address
        assert campus(session, CLINIC).configuration_url is None


def test_provider_set_by_an_administrator_is_kept(site):
    with site.database.write() as session:
        tenant = campus(session)
        tenant.configuration_url, tenant.audience = "https://idp.example/openid", "another"
    seed.seed(site)
    with site.database.read() as session:
        assert campus(session).configuration_url == "https://idp.example/openid"
