"""Create the tables, as the revisions 0001 to 0006 did before the first release."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

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


def upgrade() -> None:
    """Upgrade the tables of the previous revision."""
    op.create_table(
        "tasks",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("kind", sa.String(100), nullable=False),
        sa.Column("key", sa.String(500), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(100), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("max_seconds", sa.Double(), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("started", sa.Double(), nullable=True),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("claimed_by", sa.String(60), server_default="", nullable=False),
        sa.Column("needs", sa.String(100), server_default="", nullable=False),
        sa.Column("kills", sa.Integer(), nullable=False),
        sa.Column("cancelled", sa.Text(), nullable=True),
        sa.UniqueConstraint("key"),
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
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("enterprise", sa.Boolean(), nullable=False),
        sa.Column("configuration_url", sa.Text(), nullable=True),
        sa.Column("audience", sa.String(200), nullable=True),
        sa.Column("requires_user_secret", sa.Boolean(), nullable=False),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "lab_apps",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("client_id", sa.String(60), nullable=False),
        sa.Column("redirect_uris", sa.JSON(), nullable=False),
        sa.Column("permissions", sa.JSON(), nullable=False),
        sa.Column("archived", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["lab_tenants.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("client_id"),
        sa.UniqueConstraint("tenant_id", "name"),
    )
    op.create_table(
        "lab_audit",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("time", sa.String(32), nullable=False),
        sa.Column("method", sa.String(10), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("user", sa.String(200), nullable=True),
        sa.Column("app", sa.String(200), nullable=True),
        sa.Column("credential", sa.String(120), nullable=True),
        sa.Column("address", sa.String(50), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["lab_tenants.id"], ondelete="CASCADE"),
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
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("network", sa.String(50), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["lab_tenants.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("tenant_id", "network"),
    )
    op.create_table(
        "lab_organizations",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["lab_tenants.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("tenant_id", "name"),
    )
    op.create_table(
        "lab_users",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("handle", sa.String(100), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("email", sa.String(200), nullable=False),
        sa.Column("suspended", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["lab_tenants.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("tenant_id", "email"),
    )
    op.create_table(
        "lab_api_keys",
        sa.Column("user_id", sa.String(40), nullable=False),
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("created", sa.String(32), nullable=False),
        sa.Column("deleted", sa.String(32), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["lab_users.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("hash"),
    )
    op.create_index("ix_lab_api_keys_user_id", "lab_api_keys", ["user_id"])
    op.create_table(
        "lab_secrets",
        sa.Column("app_id", sa.String(40), nullable=False),
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("created", sa.String(32), nullable=False),
        sa.Column("deleted", sa.String(32), nullable=True),
        sa.ForeignKeyConstraint(["app_id"], ["lab_apps.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("hash"),
    )
    op.create_index("ix_lab_secrets_app_id", "lab_secrets", ["app_id"])
    op.create_table(
        "lab_teams",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("organization_id", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(["organization_id"], ["lab_organizations.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("organization_id", "name"),
    )
    op.create_table(
        "lab_projects",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("organization_id", sa.String(40), nullable=False),
        sa.Column("team_id", sa.String(40), nullable=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(["organization_id"], ["lab_organizations.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["team_id"], ["lab_teams.id"], ondelete="SET NULL"),
        sa.UniqueConstraint("organization_id", "name"),
    )
    op.create_table(
        "lab_tokens",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("secret_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["secret_id"], ["lab_secrets.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("hash"),
    )
    op.create_index("ix_lab_tokens_expires", "lab_tokens", ["expires"])
    op.create_index("ix_lab_tokens_secret_id", "lab_tokens", ["secret_id"])
    op.create_table(
        "lab_folders",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["lab_projects.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("project_id", "name"),
    )
    op.create_index("ix_lab_folders_project_id", "lab_folders", ["project_id"])
    op.create_table(
        "lab_grants",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("user_id", sa.String(40), nullable=True),
        sa.Column("app_id", sa.String(40), nullable=True),
        sa.Column("organization_id", sa.String(40), nullable=True),
        sa.Column("team_id", sa.String(40), nullable=True),
        sa.Column("project_id", sa.String(40), nullable=True),
        sa.Column("folder_id", sa.String(40), nullable=True),
        sa.CheckConstraint(
            "(CASE WHEN organization_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN team_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN project_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN folder_id IS NULL THEN 0 ELSE 1 END) = 1"
        ),
        sa.CheckConstraint(
            "(CASE WHEN user_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN app_id IS NULL THEN 0 ELSE 1 END) = 1"
        ),
        sa.ForeignKeyConstraint(["app_id"], ["lab_apps.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["folder_id"], ["lab_folders.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["organization_id"], ["lab_organizations.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["project_id"], ["lab_projects.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["team_id"], ["lab_teams.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["lab_users.id"], ondelete="CASCADE"),
    )
    op.create_index("ix_lab_grants_app_id", "lab_grants", ["app_id"])
    op.create_index("ix_lab_grants_user_id", "lab_grants", ["user_id"])
    op.create_table(
        "lab_sequences",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("folder_id", sa.String(40), nullable=False),
        sa.Column("creator_id", sa.String(40), nullable=False),
        sa.Column("schema_id", sa.String(40), nullable=True),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("aliases", sa.Text(), nullable=True),
        sa.Column("bases_hash", sa.String(64), nullable=False),
        sa.Column("created", sa.String(32), nullable=False),
        sa.Column("modified", sa.String(32), nullable=False),
        sa.Column("archive_reason", sa.String(200), nullable=True),
        sa.Column("record", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["folder_id"], ["lab_folders.id"], ondelete="CASCADE"),
    )
    op.create_index("ix_lab_sequences_bases_hash", "lab_sequences", ["bases_hash"])
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
        sa.Column("sequence_id", sa.String(40), nullable=False),
        sa.Column("field", sa.String(300), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("number", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["sequence_id"], ["lab_sequences.id"], ondelete="CASCADE"),
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
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("budget", sa.Double(), nullable=True),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "jobs_accounts",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("organization_id", sa.Integer(), nullable=False),
        sa.Column("email", sa.String(200), nullable=False),
        sa.Column("owner", sa.Boolean(), nullable=False),
        sa.Column("budget", sa.Double(), nullable=True),
        sa.Column("gates", sa.JSON(), nullable=False),
        sa.Column("storage_quota", sa.BigInteger(), nullable=False),
        sa.Column("weight", sa.Double(), server_default="1", nullable=False),
        sa.Column("max_running", sa.Integer(), nullable=True),
        sa.Column("max_queued", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["organization_id"], ["jobs_organizations.id"]),
        sa.UniqueConstraint("email"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_accounts_organization_id", "jobs_accounts", ["organization_id"])
    op.create_table(
        "jobs_saved_pipelines",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("organization_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("stages", sa.JSON(), nullable=False),
        sa.Column("created", sa.String(24), nullable=False),
        sa.ForeignKeyConstraint(["organization_id"], ["jobs_organizations.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("organization_id", "name"),
    )
    op.create_table(
        "jobs_files",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("folder", sa.String(255), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=True),
        sa.Column("created", sa.String(24), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["jobs_accounts.id"]),
        sa.UniqueConstraint("account_id", "folder", "name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "jobs_jobs",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("parent_id", sa.Integer(), nullable=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("type", sa.String(100), nullable=False),
        sa.Column("tool", sa.String(100), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("created", sa.String(24), nullable=False),
        sa.Column("started", sa.String(24), nullable=True),
        sa.Column("completed", sa.String(24), nullable=True),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("score", sa.Text(), nullable=True),
        sa.Column("weighted_hours", sa.Double(), nullable=True),
        sa.Column("batch_status", sa.String(20), nullable=True),
        sa.Column("aggregation_error", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("project_tag", sa.String(200), nullable=True),
        sa.Column("budget", sa.Double(), nullable=True),
        sa.Column("stage", sa.Integer(), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["jobs_accounts.id"]),
        sa.ForeignKeyConstraint(["parent_id"], ["jobs_jobs.id"]),
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
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("created", sa.String(24), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["jobs_accounts.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("account_id", "name"),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "jobs_usage",
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("tool", sa.String(100), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("weighted_hours", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["jobs_accounts.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("account_id", "tool"),
    )
    op.create_table(
        "nb_credentials",
        sa.Column("provider", sa.String(60), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("base_url", sa.Text(), nullable=True),
        sa.Column("key", sa.LargeBinary(), nullable=True),
        sa.Column("options", sa.JSON(), nullable=True),
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
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("heading", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=True),
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
        sa.Column("file_name", sa.Text(), nullable=True),
        sa.Column("media_type", sa.String(200), nullable=True),
        sa.Column("size", sa.Integer(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("full_text", sa.Text(), nullable=True),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("stage", sa.String(100), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("remark", sa.Text(), nullable=True),
        sa.Column("started", sa.Double(), nullable=True),
        sa.Column("ended", sa.Double(), nullable=True),
        sa.Column("changed", sa.Double(), nullable=False),
        *_record_columns(),
        sa.Column("transcribed_by", sa.Text(), nullable=True),
    )
    op.create_index("nb_sources_updated", "nb_sources", ["updated"])
    op.create_table(
        "nb_episodes",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("notebook_id", sa.String(60), nullable=True),
        sa.Column("job_id", sa.String(60), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("stage", sa.String(100), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("profile", sa.JSON(), nullable=False),
        sa.Column("speakers", sa.JSON(), nullable=False),
        sa.Column("briefing", sa.Text(), nullable=False),
        sa.Column("outline", sa.JSON(), nullable=True),
        sa.Column("transcript", sa.JSON(), nullable=True),
        sa.Column("duration", sa.Double(), nullable=True),
        sa.Column("size", sa.Integer(), nullable=True),
        sa.Column("requested", sa.Double(), nullable=False),
        sa.Column("started", sa.Double(), nullable=True),
        sa.Column("ended", sa.Double(), nullable=True),
        sa.Column("changed", sa.Double(), nullable=False),
        *_record_columns(),
        sa.ForeignKeyConstraint(["notebook_id"], ["nb_notebooks.id"], ondelete="SET NULL"),
    )
    op.create_index("nb_episodes_job", "nb_episodes", ["job_id"])
    op.create_table(
        "nb_insights",
        sa.Column("source_id", sa.String(60), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        *_record_columns(),
        sa.ForeignKeyConstraint(["source_id"], ["nb_sources.id"], ondelete="CASCADE"),
    )
    op.create_index("nb_insights_source", "nb_insights", ["source_id"])
    op.create_table(
        "nb_links",
        sa.Column("notebook_id", sa.String(60), nullable=False),
        sa.Column("source_id", sa.String(60), nullable=False),
        sa.ForeignKeyConstraint(["notebook_id"], ["nb_notebooks.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["source_id"], ["nb_sources.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("notebook_id", "source_id"),
    )
    op.create_index("nb_links_source", "nb_links", ["source_id"])
    op.create_table(
        "nb_models",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("provider", sa.String(60), nullable=False),
        sa.Column("credential_id", sa.String(60), nullable=True),
        *_record_columns(),
        sa.ForeignKeyConstraint(["credential_id"], ["nb_credentials.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "nb_notes",
        sa.Column("notebook_id", sa.String(60), nullable=True),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        *_record_columns(),
        sa.ForeignKeyConstraint(["notebook_id"], ["nb_notebooks.id"], ondelete="CASCADE"),
    )
    op.create_index("nb_notes_notebook", "nb_notes", ["notebook_id"])
    op.create_table(
        "nb_sessions",
        sa.Column("notebook_id", sa.String(60), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("model_override", sa.String(100), nullable=True),
        *_record_columns(),
        sa.ForeignKeyConstraint(["notebook_id"], ["nb_notebooks.id"], ondelete="CASCADE"),
    )
    op.create_index("nb_sessions_notebook", "nb_sessions", ["notebook_id"])
    op.create_table(
        "nb_vectors",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("passage_id", sa.Integer(), nullable=False),
        sa.Column("space", sa.String(120), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["passage_id"], ["nb_passages.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("passage_id", "space"),
        sqlite_autoincrement=True,
    )
    op.create_index("nb_vectors_space", "nb_vectors", ["space"])
    op.create_table(
        "nb_defaults",
        sa.Column("slot", sa.String(30), primary_key=True),
        sa.Column("model_id", sa.String(60), nullable=False),
        sa.ForeignKeyConstraint(["model_id"], ["nb_models.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "nb_episode_profiles",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("speaker_profile_ids", sa.JSON(), nullable=False),
        sa.Column("outline_llm", sa.String(60), nullable=True),
        sa.Column("transcript_llm", sa.String(60), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("briefing", sa.Text(), nullable=False),
        sa.Column("segments", sa.Integer(), nullable=False),
        sa.Column("max_tokens", sa.Integer(), nullable=True),
        *_record_columns(),
        sa.ForeignKeyConstraint(["outline_llm"], ["nb_models.id"], ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["transcript_llm"], ["nb_models.id"], ondelete="SET NULL"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "nb_messages",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("session_id", sa.String(60), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("citations", sa.JSON(), nullable=False),
        sa.Column("model", sa.String(100), nullable=True),
        sa.Column("usage", sa.JSON(), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["nb_sessions.id"], ondelete="CASCADE"),
    )
    op.create_index("nb_messages_session", "nb_messages", ["session_id"])
    op.create_table(
        "nb_speaker_profiles",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("voice_model", sa.String(60), nullable=True),
        sa.Column("speakers", sa.JSON(), nullable=False),
        *_record_columns(),
        sa.ForeignKeyConstraint(["voice_model"], ["nb_models.id"], ondelete="SET NULL"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "nb_transformations",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("by_default", sa.Boolean(), nullable=False),
        sa.Column("model_id", sa.String(60), nullable=True),
        *_record_columns(),
        sa.ForeignKeyConstraint(["model_id"], ["nb_models.id"], ondelete="SET NULL"),
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
