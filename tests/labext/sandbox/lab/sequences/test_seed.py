"""Seeded data: created once, equal in every sandbox, and filled up by `--sequences`."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from Bio.Seq import Seq
from sqlalchemy import delete, func, select

from labext.sandbox.core.signing import hash_key
from labext.sandbox.lab import access_control, seed
from labext.sandbox.lab.access_control import Caller
from labext.sandbox.lab.endpoints import CAMPUS, CLINIC, PROVIDER_ENDPOINT
from labext.sandbox.lab.oidc.service import DEFAULT_AUDIENCE
from labext.sandbox.lab.sample_data import FRAGMENT_LENGTH, GENERATED_FOLDER
from labext.sandbox.lab.seed import TENANT_PLANS
from labext.sandbox.lab.sequences import importing
from labext.sandbox.lab.tables import (
    ApiKey,
    App,
    Base,
    Folder,
    Grant,
    Secret,
    Sequence,
    Tenant,
    User,
)

COURSE = {"Vectors", "Digests", "Fragments and mutants"}
SEEN = {
    "student": {*COURSE, "Cold-regulated genes", "Cactus rpl16 introns"},
    "teacher": {*COURSE, "Cold-regulated genes", "Cactus rpl16 introns", "Orchid ITS regions"},
    "suspended": COURSE,  # if it were not suspended
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


def test_clinic_and_campus_share_no_data(site):
    with site.database.read() as session:
        assert not campus(session, CLINIC).enterprise
        clinician = person(session, "clinician", CLINIC)
        visible_names = names_of(session, Caller(clinician.tenant_id, clinician, None, ""))
        assert visible_names == {"Reference sequences"}
        teachers = session.scalars(select(User).where(User.handle == "teacher")).all()
        assert len({teacher.id for teacher in teachers}) == 2


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


def test_provider_address_follows_its_port_and_host(site):
    for origin in ("https://localhost:29999", "https://lab.example.org:8446", "https://id.x.org"):
        seed.seed(replace(site, origins={**site.origins, PROVIDER_ENDPOINT: origin}))
        with site.database.read() as session:
            tenant = campus(session)
            assert tenant.enterprise
            assert tenant.audience == DEFAULT_AUDIENCE
            assert tenant.configuration_url == f"{origin}/.well-known/openid-configuration"
            assert campus(session, CLINIC).configuration_url is None


def test_provider_set_by_an_administrator_is_kept(site):
    with site.database.write() as session:
        tenant = campus(session)
        tenant.configuration_url, tenant.audience = "https://idp.example/openid", "another"
    seed.seed(site)
    with site.database.read() as session:
        assert campus(session).configuration_url == "https://idp.example/openid"


EITHER = {"archiveReason": "ANY_ARCHIVED_OR_NOT_ARCHIVED"}


@pytest.fixture(scope="module")
def filled(copied, lists_of):
    """A platform that was filled to 400 sequences."""
    return lists_of(copied(sequences=400))


@pytest.fixture(scope="module")
def samples(filled):
    return filled.all({"folderId": filled.folder_ids[GENERATED_FOLDER]})


def total(lists):
    return lists.page(EITHER)[2]


def test_folder_is_filled_to_the_given_number(start, lists_of):
    for number, expected in ((None, 113), (120, 120), (120, 120), (114, 120), (131, 131), (0, 131)):
        assert total(lists_of(start(sequences=number))) == expected


def test_existing_sequences_are_unchanged(start, lists_of):
    before = lists_of(start(sequences=130)).all(EITHER)
    after = lists_of(start(sequences=200)).all(EITHER)
    known = {record["id"] for record in before}
    assert [record for record in after if record["id"] in known] == before


def test_sample_data_are_deterministic(samples, start, lists_of):
    lists = lists_of(start(sequences=150))
    first = lists.all({"folderId": lists.folder_ids[GENERATED_FOLDER], "sort": "createdAt:asc"})
    second = sorted(samples, key=lambda record: record["createdAt"])[: len(first)]
    assert first == second


def test_removed_samples_are_filled_first(start, lists_of):
    lists = lists_of(start(sequences=150))
    removed = lists.all({"folderId": lists.folder_ids[GENERATED_FOLDER]})[5:9]
    with lists.site.database.write() as session:
        ids = [record["id"] for record in removed]
        session.execute(delete(Sequence).where(Sequence.id.in_(ids)))
    again = lists_of(start(sequences=150))
    assert again.all({"ids": ",".join(record["id"] for record in removed)}) == removed


def test_missing_folder_is_not_filled(start, lists_of):
    lists = lists_of(start())
    with lists.site.database.write() as session:
        session.delete(session.get_one(Folder, lists.folder_ids[GENERATED_FOLDER]))
    assert total(lists_of(start(sequences=500))) == 113


def test_fill_spans_several_transactions(monkeypatch, start, lists_of):
    monkeypatch.setattr("labext.sandbox.lab.sample_data._INSERT_BATCH_SIZE", 7)
    lists = lists_of(start(sequences=150))
    assert total(lists) == 150
    with lists.site.database.read() as session:
        assert session.scalar(select(func.count(Sequence.id.distinct()))) == 152  # 2 at clinic


def test_seeded_sequences_lead_the_list(filled):
    assert filled.page()[0][0]["name"] == "pBAD30"
    assert not {GENERATED_FOLDER} & {record["folderId"] for record in filled.page()[0]}


def mutated(bases, mutations):
    """Return the bases after substitutions in the notation `A17G`."""
    for mutation in mutations:
        before, place, after = re.fullmatch(r"([A-Z])(\d+)([ACGT])", mutation).groups()
        assert bases[int(place) - 1].upper() == before != after
        bases = f"{bases[: int(place) - 1]}{after}{bases[int(place) :]}"
    return bases


def test_sample_is_a_fragment_or_mutant_of_a_seeded_sequence(filled, samples):
    sources = {record["id"]: record for record in filled.all()}
    assert len(samples) == 287
    mutants, names = 0, set()
    for record in samples:
        (part,) = record["parts"]
        source = sources[part["sequenceId"]]
        assert record["length"] == FRAGMENT_LENGTH == part["end"]
        fields = {name: field["value"] for name, field in record["fields"].items()}
        assert fields["Source"] == source["name"]
        around = source["bases"] * (1 + source["isCircular"])
        first = fields["First base"] - 1
        expected = mutated(around[first : first + FRAGMENT_LENGTH], fields["Mutations"])
        assert record["bases"].upper() == expected.upper()
        assert record["name"].split(" from ")[1].split()[:-1] == [
            str(first + 1),
            *fields["Mutations"],
        ]
        names.add(record["name"])
        mutants += bool(fields["Mutations"])
    assert mutants == 143
    assert len(names) == 287, "all names are unique"


def test_annotations_of_samples_are_correct(filled, samples):
    sources = {record["id"]: record for record in filled.all()}
    marks = 0
    for record in samples:
        source = sources[record["parts"][0]["sequenceId"]]
        names = {(mark["type"], mark["name"]) for mark in source["annotations"]}
        for mark in record["annotations"]:
            assert (mark["type"], mark["name"]) in names
            assert 0 <= mark["start"] < mark["end"] <= FRAGMENT_LENGTH
            marks += 1
        for primer in record["primers"]:
            binding_site = Seq(record["bases"][primer["start"] : primer["end"]])
            assert primer["bases"] in (str(binding_site), str(binding_site.reverse_complement()))
        for protein in record["translations"]:
            read = "".join(record["bases"][r["start"] : r["end"]] for r in protein["regions"])
            read = Seq(read) if protein["strand"] == 1 else Seq(read).reverse_complement()
            assert protein["aminoAcids"][1:] == str(read.translate(11))[1:].removesuffix("*")
    assert marks > 50
