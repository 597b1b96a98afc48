"""Keep authorization codes, which any service process may redeem."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Upgrade the tables of the previous revision."""
    op.create_table(
        "lab_codes",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("email", sa.String(200), nullable=False),
    )
