"""Share the queue among accounts by weights and limits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Upgrade the tables of the previous revision."""
    op.execute("UPDATE tasks SET turn = turn * 1000")
    if not sa.inspect(op.get_bind()).has_table("jobs_accounts"):
        return  # a sandbox without the job service
    with op.batch_alter_table("jobs_accounts", schema=None) as batch_op:
        batch_op.add_column(sa.Column("weight", sa.Double(), server_default="1", nullable=False))
        batch_op.add_column(sa.Column("max_running", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("max_queued", sa.Integer(), nullable=True))
