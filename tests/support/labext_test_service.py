"""A small service for tests of the host: a counter, and tasks with rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from sqlalchemy import JSON, MetaData, String, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from labext.sandbox.core import data_folder, web
from labext.sandbox.core.queue import Task, TaskKind, TaskOutcome
from labext.sandbox.core.service_protocol import Service, Site


class Base(DeclarativeBase):
    pass


class Row(Base):
    __tablename__ = "test_rows"

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    state: Mapped[str] = mapped_column(String(20), default="waiting")
    reason: Mapped[str] = mapped_column(default="")
    starts: Mapped[int] = mapped_column(default=0)
    result: Mapped[dict[str, Any] | None] = mapped_column(JSON)


class TestService(Service):
    name = "jobs"
    endpoints = ("jobs",)
    metadata: MetaData = Base.metadata
    preload = ("labext_test_entries",)
    data_folders = ("files",)

    def kinds(self, site: Site) -> list[TaskKind]:
        def change(session: Session, task: Task, **values: Any) -> None:
            row = session.get(Row, task.key)
            if row is not None:
                for name, value in values.items():
                    setattr(row, name, value)

        def start(session: Session, task: Task) -> None:
            row = session.get_one(Row, task.key)
            row.state, row.starts = "running", row.starts + 1

        def end(session: Session, task: Task, ending: TaskOutcome) -> None:
            change(session, task, state=ending.outcome, reason=ending.reason, result=ending.result)

        def requeue(session: Session, task: Task) -> None:
            change(session, task, state="waiting")

        names = ("wait", "descend", "answer")
        return [
            TaskKind(
                name,
                f"labext_test_entries:{name}",
                on_start=start,
                on_end=end,
                on_requeue=requeue,
                work=lambda task: site.folder / "work" / task.key,
            )
            for name in names
        ]

    def seed(self, site: Site) -> None:
        data_folder.ensure_secret(site.secrets / "jobs_api_key")

    def orphans(self, site: Site) -> list[Path]:
        with site.database.read() as session:
            existing_names = set(session.scalars(select(Row.name)))
        return [
            path
            for path in data_folder.list_entries(site.folder / "files")
            if path.name not in existing_names
        ]

    def connection(self, site: Site) -> dict[str, str]:
        key = data_folder.ensure_secret(site.secrets / "jobs_api_key")
        return {"base_url": f"{site.origin}/api/", "api_key": key}

    def apps(self, site: Site) -> dict[str, FastAPI]:
        app = FastAPI()
        web.handle_errors(app, lambda _status, message: {"error": message})

        @app.post("/api/tasks/{kind}/{name}")
        def put(kind: str, name: str, payload: dict[str, Any]) -> str:
            with site.database.write() as session:
                session.add(Row(name=name))
                site.queue.put(session, kind, name, payload, max_seconds=payload.get("limit"))
            return name

        @app.get("/api/tasks")
        def tasks() -> dict[str, Any]:
            with site.database.read() as session:
                return {
                    row.name: {
                        "state": row.state,
                        "starts": row.starts,
                        "reason": row.reason,
                        "result": row.result,
                    }
                    for row in session.scalars(select(Row))
                }

        @app.delete("/api/tasks/{name}")
        def cancel(name: str) -> bool:
            with site.database.write() as session:
                cancelled = site.queue.cancel(session, name, "stopped by hand")
            return cancelled and site.queue.wait(site.database, [name])

        @app.post("/api/length")
        async def length(request: Request) -> int:
            return len(await request.body())

        @app.get("/api/site")
        def where() -> dict[str, str]:
            return {"rate": site.rate, "folder": str(site.folder), "origin": site.origin}

        @app.get("/api/fault")
        def fault() -> None:
            raise RuntimeError(f"token={Path('/').name}abcdefgh12345678")

        @app.get("/api/refused")
        def refused() -> None:
            raise HTTPException(418, "No.")

        return {"jobs": app}


service = TestService()
