"""Count the requests of all processes."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Upgrade the tables of the previous revision."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE UNLOGGED TABLE rate_windows "
            "(identity TEXT PRIMARY KEY, times DOUBLE PRECISION[] NOT NULL)"
        )
