"""Record the files that are in an object store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Upgrade the tables of the previous revision."""
    # The same order of texts as in other columns of a PostgreSQL database.
    collation = "C" if op.get_bind().dialect.name == "postgresql" else None

    def text(length: int) -> sa.String:
        return sa.String(length, collation=collation)

    op.create_table(
        "stored_files",
        sa.Column("path", text(1000), primary_key=True),
        sa.Column("entry", text(200), nullable=False),
        sa.Column("key", text(200), nullable=False),
        sa.Column("member", text(1000), nullable=False),
        sa.Column(
            "bytes", sa.Integer().with_variant(sa.BigInteger(), "postgresql"), nullable=False
        ),
        sa.Column("sha256", text(64), nullable=False),
    )
    op.create_index("stored_files_entry", "stored_files", ["entry"])
    op.create_index("stored_files_key", "stored_files", ["key"])
    op.create_table(
        "unused_objects",
        sa.Column("key", text(200), primary_key=True),
        sa.Column("since", sa.Double(), nullable=False),
    )
    op.create_table(
        "file_storage",
        sa.Column("storage", text(40), primary_key=True),
        sa.Column("url", text(1000), nullable=False),
    )
