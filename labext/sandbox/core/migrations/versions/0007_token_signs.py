"""Add the signs of the token states of passages, which are stored with their vectors."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Upgrade the tables of the previous revision."""
    op.create_table(
        "nb_token_signs",
        sa.Column("passage_id", sa.Integer(), primary_key=True),
        sa.Column("signs", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["passage_id"], ["nb_passages.id"], ondelete="CASCADE"),
    )
    # The built-in model embeds these passages again, and stores their signs, too.
    op.execute("DELETE FROM nb_vectors WHERE space = 'model:all-minilm-l6-v2'")
