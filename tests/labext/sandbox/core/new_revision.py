"""Write the revision that the changed tables need: `new_revision.py "Add the column owner"`.

Alembic compares the tables with those of the revisions so far, in an empty SQLite database. Add by
hand what it cannot detect, such as a renamed column or values to compute.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from alembic import command

from labext.sandbox.core import migrations
from labext.sandbox.core.database import CoreBase, Database
from labext.sandbox.jobs.app import service as jobs
from labext.sandbox.lab.app import service as lab
from labext.sandbox.nb.app import service as nb

METADATA = (CoreBase.metadata, lab.metadata, jobs.metadata, nb.metadata)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("title", help="what it does")
    title = parser.parse_args().title
    with tempfile.TemporaryDirectory() as folder:
        database = Database.at(Path(folder) / "empty.sqlite")
        number = f"{int((migrations.revisions() or ['0000'])[-1]) + 1:04}"
        with database.engine.begin() as connection:
            config = migrations.alembic_config(connection, *METADATA)
            if migrations.revisions():
                command.upgrade(config, "head")
            command.revision(config, title, autogenerate=True, rev_id=number)
        database.close()
