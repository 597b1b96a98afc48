"""Create the tables, as the revisions 0001 to 0006 did before the first release."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "0006"
down_revision = None
branch_labels = None
depends_on = None


def _record_columns() -> list[sa.Column[Any]]:
    """Return the columns that all records of the nb service have."""
    return [
        sa.Column("id", sa.String(60), primary_key=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("updated", sa.Double(), nullable=False),
    ]


def _cascading_key(
    name: str, kind: TypeEngine[Any], column: str, *, nullable: bool = False, **options: Any
) -> sa.Column[Any]:
    """Return a column that refers to another one; its row is deleted together with that row."""
    reference = sa.ForeignKey(column, ondelete="CASCADE")
    return sa.Column(name, kind, reference, nullable=nullable, **options)


def upgrade() -> None:
    """Upgrade the tables of the previous revision."""
    op.create_table(
        "tasks",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("kind", sa.String(100), nullable=False),
        sa.Column("key", sa.String(500), nullable=False, unique=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(100), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("max_seconds", sa.Double()),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("started", sa.Double()),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("claimed_by", sa.String(60), server_default="", nullable=False),
        sa.Column("needs", sa.String(100), server_default="", nullable=False),
        sa.Column("kills", sa.Integer(), nullable=False),
        sa.Column("cancelled", sa.Text()),
        sqlite_autoincrement=True,
    )
    op.create_index("tasks_owner", "tasks", ["owner", "priority", "turn"])
    op.create_index("tasks_turn", "tasks", ["state", sa.text("priority DESC"), "turn", "id"])
    op.create_table(
        "stored_files",
        sa.Column("path", sa.String(1000), primary_key=True),
        sa.Column("entry", sa.String(200), nullable=False),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("member", sa.String(1000), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
    )
    op.create_index("stored_files_entry", "stored_files", ["entry"])
    op.create_index("stored_files_key", "stored_files", ["key"])
    op.create_table(
        "unused_objects",
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("since", sa.Double(), nullable=False),
    )
    op.create_table(
        "file_storage",
        sa.Column("storage", sa.String(40), primary_key=True),
        sa.Column("url", sa.String(1000), nullable=False),
    )
    op.create_table(
        "lab_limits",
        sa.Column("name", sa.String(100), primary_key=True),
        sa.Column("value", sa.Integer(), nullable=False),
    )
    for service in ("lab", "jobs", "nb"):
        op.create_table(f"{service}_seeded", sa.Column("name", sa.String(200), primary_key=True))
    op.create_table(
        "lab_tenants",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("enterprise", sa.Boolean(), nullable=False),
        sa.Column("configuration_url", sa.Text()),
        sa.Column("audience", sa.String(200)),
        sa.Column("requires_user_secret", sa.Boolean(), nullable=False),
    )
    op.create_table(
        "lab_apps",
        sa.Column("id", sa.String(40), primary_key=True),
        _cascading_key("tenant_id", sa.Integer(), "lab_tenants.id"),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("client_id", sa.String(60), nullable=False, unique=True),
        sa.Column("redirect_uris", sa.JSON(), nullable=False),
        sa.Column("permissions", sa.JSON(), nullable=False),
        sa.Column("archived", sa.Boolean(), nullable=False),
        sa.UniqueConstraint("tenant_id", "name"),
    )
    op.create_table(
        "lab_audit",
        sa.Column("id", sa.Integer(), primary_key=True),
        _cascading_key("tenant_id", sa.Integer(), "lab_tenants.id"),
        sa.Column("time", sa.String(32), nullable=False),
        sa.Column("method", sa.String(10), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("user", sa.String(200)),
        sa.Column("app", sa.String(200)),
        sa.Column("credential", sa.String(120)),
        sa.Column("address", sa.String(50)),
        sa.Column("reason", sa.Text()),
        sqlite_autoincrement=True,
    )
    op.create_index("lab_audit_tenant", "lab_audit", ["tenant_id", "id"])
    op.create_table(
        "lab_codes",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("email", sa.String(200), nullable=False),
    )
    op.create_table(
        "lab_ip_ranges",
        sa.Column("id", sa.Integer(), primary_key=True),
        _cascading_key("tenant_id", sa.Integer(), "lab_tenants.id"),
        sa.Column("network", sa.String(50), nullable=False),
        sa.UniqueConstraint("tenant_id", "network"),
    )
    op.create_table(
        "lab_organizations",
        sa.Column("id", sa.String(40), primary_key=True),
        _cascading_key("tenant_id", sa.Integer(), "lab_tenants.id"),
        sa.Column("name", sa.String(200), nullable=False),
        sa.UniqueConstraint("tenant_id", "name"),
    )
    op.create_table(
        "lab_users",
        sa.Column("id", sa.String(40), primary_key=True),
        _cascading_key("tenant_id", sa.Integer(), "lab_tenants.id"),
        sa.Column("handle", sa.String(100), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("email", sa.String(200), nullable=False),
        sa.Column("suspended", sa.Boolean(), nullable=False),
        sa.UniqueConstraint("tenant_id", "email"),
    )
    op.create_table(
        "lab_api_keys",
        _cascading_key("user_id", sa.String(40), "lab_users.id", index=True),
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created", sa.String(32), nullable=False),
        sa.Column("deleted", sa.String(32)),
    )
    op.create_table(
        "lab_secrets",
        _cascading_key("app_id", sa.String(40), "lab_apps.id", index=True),
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created", sa.String(32), nullable=False),
        sa.Column("deleted", sa.String(32)),
    )
    op.create_table(
        "lab_teams",
        sa.Column("id", sa.String(40), primary_key=True),
        _cascading_key("organization_id", sa.String(40), "lab_organizations.id"),
        sa.Column("name", sa.String(200), nullable=False),
        sa.UniqueConstraint("organization_id", "name"),
    )
    op.create_table(
        "lab_projects",
        sa.Column("id", sa.String(40), primary_key=True),
        _cascading_key("organization_id", sa.String(40), "lab_organizations.id"),
        sa.Column("team_id", sa.String(40), sa.ForeignKey("lab_teams.id", ondelete="SET NULL")),
        sa.Column("name", sa.String(200), nullable=False),
        sa.UniqueConstraint("organization_id", "name"),
    )
    op.create_table(
        "lab_tokens",
        sa.Column("id", sa.Integer(), primary_key=True),
        _cascading_key("secret_id", sa.Integer(), "lab_secrets.id", index=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("expires", sa.Double(), nullable=False, index=True),
    )
    op.create_table(
        "lab_folders",
        sa.Column("id", sa.String(40), primary_key=True),
        _cascading_key("project_id", sa.String(40), "lab_projects.id", index=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.UniqueConstraint("project_id", "name"),
    )
    op.create_table(
        "lab_grants",
        sa.Column("id", sa.Integer(), primary_key=True),
        _cascading_key("user_id", sa.String(40), "lab_users.id", nullable=True, index=True),
        _cascading_key("app_id", sa.String(40), "lab_apps.id", nullable=True, index=True),
        _cascading_key("organization_id", sa.String(40), "lab_organizations.id", nullable=True),
        _cascading_key("team_id", sa.String(40), "lab_teams.id", nullable=True),
        _cascading_key("project_id", sa.String(40), "lab_projects.id", nullable=True),
        _cascading_key("folder_id", sa.String(40), "lab_folders.id", nullable=True),
        sa.CheckConstraint(
            "(CASE WHEN organization_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN team_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN project_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN folder_id IS NULL THEN 0 ELSE 1 END) = 1"
        ),
        sa.CheckConstraint(
            "(CASE WHEN user_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN app_id IS NULL THEN 0 ELSE 1 END) = 1"
        ),
    )
    op.create_table(
        "lab_sequences",
        sa.Column("id", sa.String(40), primary_key=True),
        _cascading_key("folder_id", sa.String(40), "lab_folders.id"),
        sa.Column("creator_id", sa.String(40), nullable=False),
        sa.Column("schema_id", sa.String(40)),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("aliases", sa.Text()),
        sa.Column("bases_hash", sa.String(64), nullable=False, index=True),
        sa.Column("created", sa.String(32), nullable=False),
        sa.Column("modified", sa.String(32), nullable=False),
        sa.Column("archive_reason", sa.String(200)),
        sa.Column("record", sa.Text(), nullable=False),
    )
    op.create_index(
        "lab_sequences_created",
        "lab_sequences",
        ["folder_id", "archive_reason", "created", "id", "folded", "aliases"],
    )
    op.create_index(
        "lab_sequences_folded",
        "lab_sequences",
        ["folder_id", "archive_reason", "folded", "id", "aliases"],
    )
    op.create_index(
        "lab_sequences_modified",
        "lab_sequences",
        ["folder_id", "archive_reason", "modified", "id", "folded", "aliases"],
    )
    op.create_table(
        "lab_search_values",
        _cascading_key("sequence_id", sa.String(40), "lab_sequences.id"),
        sa.Column("field", sa.String(300), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text()),
        sa.Column("number", sa.Double()),
        sa.PrimaryKeyConstraint("sequence_id", "field", "position"),
    )
    op.create_index("lab_search_values_text", "lab_search_values", ["field", "text"])
    op.create_table(
        "jobs_limits",
        sa.Column("name", sa.String(100), primary_key=True),
        sa.Column("value", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "jobs_organizations",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("budget", sa.Double()),
    )
    op.create_table(
        "jobs_accounts",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column(
            "organization_id",
            sa.Integer(),
            sa.ForeignKey("jobs_organizations.id"),
            nullable=False,
            index=True,
        ),
        sa.Column("email", sa.String(200), nullable=False, unique=True),
        sa.Column("owner", sa.Boolean(), nullable=False),
        sa.Column("budget", sa.Double()),
        sa.Column("gates", sa.JSON(), nullable=False),
        sa.Column("storage_quota", sa.BigInteger(), nullable=False),
        sa.Column("weight", sa.Double(), server_default="1", nullable=False),
        sa.Column("max_running", sa.Integer()),
        sa.Column("max_queued", sa.Integer()),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "jobs_saved_pipelines",
        sa.Column("id", sa.Integer(), primary_key=True),
        _cascading_key("organization_id", sa.Integer(), "jobs_organizations.id"),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("stages", sa.JSON(), nullable=False),
        sa.Column("created", sa.String(24), nullable=False),
        sa.UniqueConstraint("organization_id", "name"),
    )
    op.create_table(
        "jobs_files",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("account_id", sa.Integer(), sa.ForeignKey("jobs_accounts.id"), nullable=False),
        sa.Column("folder", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64)),
        sa.Column("created", sa.String(24), nullable=False),
        sa.UniqueConstraint("account_id", "folder", "name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "jobs_jobs",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("account_id", sa.Integer(), sa.ForeignKey("jobs_accounts.id"), nullable=False),
        sa.Column("parent_id", sa.Integer(), sa.ForeignKey("jobs_jobs.id")),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("type", sa.String(100), nullable=False),
        sa.Column("tool", sa.String(100), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("created", sa.String(24), nullable=False),
        sa.Column("started", sa.String(24)),
        sa.Column("completed", sa.String(24)),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("score", sa.Text()),
        sa.Column("weighted_hours", sa.Double()),
        sa.Column("batch_status", sa.String(20)),
        sa.Column("aggregation_error", sa.Text()),
        sa.Column("reason", sa.Text()),
        sa.Column("project_tag", sa.String(200)),
        sa.Column("budget", sa.Double()),
        sa.Column("stage", sa.Integer()),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.UniqueConstraint("account_id", "name"),
        sqlite_autoincrement=True,
    )
    op.create_index("jobs_jobs_all", "jobs_jobs", ["account_id", "id"])
    op.create_index("jobs_jobs_batch", "jobs_jobs", ["parent_id", "status"])
    op.create_index("jobs_jobs_tally", "jobs_jobs", ["account_id", "parent_id", "status"])
    op.create_index("jobs_jobs_top", "jobs_jobs", ["account_id", "parent_id", "id"])
    op.create_table(
        "jobs_keys",
        sa.Column("id", sa.Integer(), primary_key=True),
        _cascading_key("account_id", sa.Integer(), "jobs_accounts.id"),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created", sa.String(24), nullable=False),
        sa.UniqueConstraint("account_id", "name"),
    )
    op.create_table(
        "jobs_usage",
        _cascading_key("account_id", sa.Integer(), "jobs_accounts.id"),
        sa.Column("tool", sa.String(100), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("weighted_hours", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", "tool"),
    )
    op.create_table(
        "nb_credentials",
        sa.Column("provider", sa.String(60), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("base_url", sa.Text()),
        sa.Column("key", sa.LargeBinary()),
        sa.Column("options", sa.JSON()),
        *_record_columns(),
    )
    op.create_table(
        "nb_limits",
        sa.Column("name", sa.String(60), primary_key=True),
        sa.Column("value", sa.Integer(), nullable=False),
    )
    op.create_table(
        "nb_notebooks",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("archived", sa.Boolean(), nullable=False),
        *_record_columns(),
    )
    op.create_table(
        "nb_passages",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("parent_id", sa.String(60), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("page", sa.Integer()),
        sa.Column("heading", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Double()),
        sqlite_autoincrement=True,
    )
    op.create_index("nb_passages_parent", "nb_passages", ["parent_id", "position"])
    op.create_table(
        "nb_settings",
        sa.Column("name", sa.String(60), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.create_table(
        "nb_sources",
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("file_name", sa.Text()),
        sa.Column("media_type", sa.String(200)),
        sa.Column("size", sa.Integer()),
        sa.Column("url", sa.Text()),
        sa.Column("full_text", sa.Text()),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("stage", sa.String(100), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("remark", sa.Text()),
        sa.Column("started", sa.Double()),
        sa.Column("ended", sa.Double()),
        sa.Column("changed", sa.Double(), nullable=False),
        *_record_columns(),
        sa.Column("transcribed_by", sa.Text()),
    )
    op.create_index("nb_sources_updated", "nb_sources", ["updated"])
    op.create_table(
        "nb_episodes",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column(
            "notebook_id", sa.String(60), sa.ForeignKey("nb_notebooks.id", ondelete="SET NULL")
        ),
        sa.Column("job_id", sa.String(60), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("stage", sa.String(100), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("profile", sa.JSON(), nullable=False),
        sa.Column("speakers", sa.JSON(), nullable=False),
        sa.Column("briefing", sa.Text(), nullable=False),
        sa.Column("outline", sa.JSON()),
        sa.Column("transcript", sa.JSON()),
        sa.Column("duration", sa.Double()),
        sa.Column("size", sa.Integer()),
        sa.Column("requested", sa.Double(), nullable=False),
        sa.Column("started", sa.Double()),
        sa.Column("ended", sa.Double()),
        sa.Column("changed", sa.Double(), nullable=False),
        *_record_columns(),
    )
    op.create_index("nb_episodes_job", "nb_episodes", ["job_id"])
    op.create_table(
        "nb_insights",
        _cascading_key("source_id", sa.String(60), "nb_sources.id"),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        *_record_columns(),
    )
    op.create_index("nb_insights_source", "nb_insights", ["source_id"])
    op.create_table(
        "nb_links",
        _cascading_key("notebook_id", sa.String(60), "nb_notebooks.id"),
        _cascading_key("source_id", sa.String(60), "nb_sources.id"),
        sa.PrimaryKeyConstraint("notebook_id", "source_id"),
    )
    op.create_index("nb_links_source", "nb_links", ["source_id"])
    op.create_table(
        "nb_models",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("provider", sa.String(60), nullable=False),
        _cascading_key("credential_id", sa.String(60), "nb_credentials.id", nullable=True),
        *_record_columns(),
    )
    op.create_table(
        "nb_notes",
        _cascading_key("notebook_id", sa.String(60), "nb_notebooks.id", nullable=True),
        sa.Column("title", sa.Text()),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        *_record_columns(),
    )
    op.create_index("nb_notes_notebook", "nb_notes", ["notebook_id"])
    op.create_table(
        "nb_sessions",
        _cascading_key("notebook_id", sa.String(60), "nb_notebooks.id"),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("model_override", sa.String(100)),
        *_record_columns(),
    )
    op.create_index("nb_sessions_notebook", "nb_sessions", ["notebook_id"])
    op.create_table(
        "nb_vectors",
        sa.Column("id", sa.Integer(), primary_key=True),
        _cascading_key("passage_id", sa.Integer(), "nb_passages.id"),
        sa.Column("space", sa.String(120), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.UniqueConstraint("passage_id", "space"),
        sqlite_autoincrement=True,
    )
    op.create_index("nb_vectors_space", "nb_vectors", ["space"])
    op.create_table(
        "nb_defaults",
        sa.Column("slot", sa.String(30), primary_key=True),
        _cascading_key("model_id", sa.String(60), "nb_models.id"),
    )
    op.create_table(
        "nb_episode_profiles",
        sa.Column("name", sa.Text(), nullable=False, unique=True),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("speaker_profile_ids", sa.JSON(), nullable=False),
        sa.Column("outline_llm", sa.String(60), sa.ForeignKey("nb_models.id", ondelete="SET NULL")),
        sa.Column(
            "transcript_llm", sa.String(60), sa.ForeignKey("nb_models.id", ondelete="SET NULL")
        ),
        sa.Column("language", sa.Text()),
        sa.Column("briefing", sa.Text(), nullable=False),
        sa.Column("segments", sa.Integer(), nullable=False),
        sa.Column("max_tokens", sa.Integer()),
        *_record_columns(),
    )
    op.create_table(
        "nb_messages",
        sa.Column("id", sa.Integer(), primary_key=True),
        _cascading_key("session_id", sa.String(60), "nb_sessions.id"),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("citations", sa.JSON(), nullable=False),
        sa.Column("model", sa.String(100)),
        sa.Column("usage", sa.JSON()),
        sa.Column("created", sa.Double(), nullable=False),
    )
    op.create_index("nb_messages_session", "nb_messages", ["session_id"])
    op.create_table(
        "nb_speaker_profiles",
        sa.Column("name", sa.Text(), nullable=False, unique=True),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("voice_model", sa.String(60), sa.ForeignKey("nb_models.id", ondelete="SET NULL")),
        sa.Column("speakers", sa.JSON(), nullable=False),
        *_record_columns(),
    )
    op.create_table(
        "nb_transformations",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("by_default", sa.Boolean(), nullable=False),
        sa.Column("model_id", sa.String(60), sa.ForeignKey("nb_models.id", ondelete="SET NULL")),
        *_record_columns(),
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE nb_words USING fts5"
            "(title, text, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
    else:
        op.execute(
            "CREATE TABLE nb_words ("
            "passage_id BIGINT PRIMARY KEY REFERENCES nb_passages (id) ON DELETE CASCADE, "
            "words TSVECTOR NOT NULL, length INTEGER NOT NULL)"
        )
        op.execute("CREATE INDEX nb_words_words ON nb_words USING gin (words)")
        op.execute(
            "CREATE UNLOGGED TABLE rate_windows "
            "(identity TEXT PRIMARY KEY, times DOUBLE PRECISION[] NOT NULL)"
        )
