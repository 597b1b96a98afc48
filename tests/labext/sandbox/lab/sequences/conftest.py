"""A laboratory platform with its seeded sequences, without a server."""

from __future__ import annotations

import shutil

import orjson
import pytest
from lab_service import new_site
from sqlalchemy import select

from labext.sandbox.lab import seed
from labext.sandbox.lab.endpoints import CAMPUS
from labext.sandbox.lab.sequences import router, schemas
from labext.sandbox.lab.tables import Folder, Organization, Project, Tenant

ORIGIN = "https://localhost:20001"


def open_platform(folder, sequences=None):
    """Open and seed the platform in a folder."""
    (folder / "secrets").mkdir(parents=True, exist_ok=True)
    site = new_site(folder, folder / "secrets", sequences=sequences)
    seed.seed(site)
    return site


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp("platform") / "lab"
    open_platform(folder).database.close()
    return folder


@pytest.fixture(scope="session")
def copied(template, tmp_path_factory):
    """Create a seeded platform for one test."""
    sites = []

    def copy(**options):
        folder = shutil.copytree(template, tmp_path_factory.mktemp("copied") / "lab")
        sites.append(open_platform(folder, **options))
        return sites[-1]

    yield copy
    for site in sites:
        site.database.close()


@pytest.fixture
def start(template, tmp_path):
    """Restart the same platform: `start(sequences=200)`."""
    folder = shutil.copytree(template, tmp_path / "lab")
    sites = []

    def again(**options):
        sites.append(open_platform(folder, **options))
        return sites[-1]

    yield again
    for site in sites:
        site.database.close()


@pytest.fixture
def site(start):
    return start()


@pytest.fixture
def new_platform(tmp_path):
    """The seeded platform of another sandbox."""
    site = open_platform(tmp_path / "another")
    yield site
    site.database.close()


class Lists:
    """Lists of a platform for a caller who sees some folders; by default all of `campus`."""

    def __init__(self, site, names=None):
        self.site = site
        with site.database.read() as session:
            self.tenant = session.scalars(select(Tenant).where(Tenant.name == CAMPUS)).one()
            rows = session.execute(
                select(Folder.name, Folder.id)
                .join(Project, Project.id == Folder.project_id)
                .join(Organization, Organization.id == Project.organization_id)
                .where(Organization.tenant_id == self.tenant.id)
            ).all()
        self.folder_ids = dict(rows)
        self.folders = {self.folder_ids[name] for name in names or self.folder_ids}

    def page(self, parameters=None, *, tenant_id=None):
        """Return the records of a page, its `nextToken` and the number of all matches."""
        query = schemas.parse_sequence_query(parameters or {})
        with self.site.database.read() as session:
            body, headers = router.list_sequences(
                session,
                query,
                self.folders,
                tenant_id=self.tenant.id if tenant_id is None else tenant_id,
                origin=ORIGIN,
                signer=self.site.signer,
            )
        content = orjson.loads(body)
        assert [*content] == ["dnaSequences", "nextToken"]
        return content["dnaSequences"], content["nextToken"], int(headers["Result-Count"])

    def pages(self, parameters=None):
        """Yield the pages of the whole list."""
        token = ""
        while True:
            records, token, _ = self.page((parameters or {}) | {"nextToken": token})
            yield records
            if token == "":
                return

    def all(self, parameters=None):
        parameters = {"pageSize": "100"} | (parameters or {})
        return [record for page in self.pages(parameters) for record in page]


@pytest.fixture(scope="session")
def lists_of():
    return Lists


@pytest.fixture(scope="session")
def lists(copied):
    """Lists of a shared, unchanged platform; `own_lists` has a platform for one test."""
    return Lists(copied())


@pytest.fixture
def own_lists(site):
    return Lists(site)
