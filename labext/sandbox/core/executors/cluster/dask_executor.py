"""Run tasks on the workers of a dask.distributed cluster.

dask connects the machines: its scheduler knows the workers, encrypts and relays messages. Attempts
are not dask tasks: dask would run a task again elsewhere after the loss of a worker, move it
between workers, and forget a cancelled task while its process continues. A worker keeps an attempt
only as long as its service asks for it, see `attempt_runner`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import signal
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labext.sandbox.core.data_folder import read_json
from labext.sandbox.core.executors.cluster.address import TlsFiles
from labext.sandbox.core.executors.cluster.attempt_files import (
    append_log,
    fetch_outputs,
    list_inputs,
    move_into_place,
    send_inputs,
    visible_folder,
    work_folder,
)
from labext.sandbox.core.executors.cluster.attempts import (
    LostAttemptError,
    RemoteAttempt,
    RemoteWorker,
    SyncMessage,
    reserved_memory,
)
from labext.sandbox.core.executors.cluster.protocol import (
    DOUBT_SECONDS,
    INLINE_BYTES,
    LEASE_MARGIN_SECONDS,
    LEASE_SECONDS,
    POLL_SECONDS,
    RPC_SECONDS,
    WORKER_PREFIX,
    versions,
)
from labext.sandbox.core.executors.worker_states import WorkerState
from labext.sandbox.core.task_transitions import ClaimedTask

DISCOVERY_SECONDS = 0.5
"""Interval of checking for new workers."""

REST_SECONDS = 15.0
"""Seconds for which a worker whose disk is full gets no tasks."""

log = logging.getLogger(__name__)


class DaskExecutor:
    """Tasks on the workers of a scheduler.

    Args:
        address: the address of the scheduler, as `scheduler_address` returns it.
        tls: the certificates; None for a plain connection.
        service: a lasting identifier, unique among the supervisors that use the scheduler.
    """

    def __init__(self, address: str, tls: TlsFiles | None, service: str) -> None:
        self.address = address
        self.lease = LEASE_SECONDS + LEASE_MARGIN_SECONDS
        self._tls = tls
        self._service = service
        self._epoch = secrets.token_hex(8)
        self._sequence = 0
        self._lock = threading.RLock()
        self._workers: dict[str, RemoteWorker] = {}
        self._attempts: dict[int, RemoteAttempt] = {}
        self._events: list[dict[str, Any]] = []
        self._receiver, self._sender = socket.socketpair()
        self._receiver.setblocking(False)
        self._sender.setblocking(False)
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._closing: asyncio.Event | None = None
        self._jobs: set[asyncio.Task[None]] = set()
        self._scheduler: Any = None
        self._has_warned = False
        self._lost = 0
        self._thread = threading.Thread(target=self._run, name="labext-dask", daemon=True)
        self._thread.start()
        self._ready.wait(30)

    # Methods for the supervisor's thread.

    def fileno(self) -> int:
        """Return the descriptor for a selector."""
        return self._receiver.fileno()

    def admit(self, task: ClaimedTask) -> bool:
        """Take a slot for a task at the worker with most free slots among those that fit."""
        with self._lock:
            fitting = [
                worker
                for worker in self._workers.values()
                if worker.free >= task.cores
                and worker.free_memory >= reserved_memory(task)
                and (not task.needs or task.needs in worker.capabilities)
            ]
            if not fitting:
                return False
            worker = max(fitting, key=lambda worker: worker.free)
            attempt = RemoteAttempt(task, worker)
            worker.attempts[task.id] = self._attempts[task.id] = attempt
            return True

    def release(self, task_id: int | None = None) -> None:
        """Give back the slot of a task that was admitted and not started; by default of all."""
        with self._lock:
            for attempt in [a for a in self._attempts.values() if a.scratch is None]:
                if task_id in (None, attempt.task.id):
                    self._forget(attempt)

    def free_slots(self) -> int:
        """Return the number of free cores on all workers."""
        with self._lock:
            return sum(worker.free for worker in self._workers.values())

    def start(
        self,
        task_id: int,
        scratch: Path,
        max_memory: int | None = None,  # noqa: ARG002 - the admitted task has it
        *,
        warm: bool = False,  # noqa: ARG002
    ) -> None:
        """Start the process of an admitted task."""
        with self._lock:
            attempt = self._attempts.get(task_id)
            if attempt is not None:
                attempt.scratch = scratch
        if attempt is None:  # its slot was released
            self._emit({"lost": task_id, "reason": "", "begun": False})
            return
        self._loop.call_soon_threadsafe(self._begin, attempt)

    def kill(self, task_id: int) -> None:
        """Kill a task with its descendants; its end is reported as usual."""
        with self._lock:
            attempt = self._attempts.get(task_id)
        if attempt is not None:
            self._loop.call_soon_threadsafe(self._kill, attempt)

    def events(self) -> list[dict[str, Any]] | None:
        """Return the events since the last call."""
        with contextlib.suppress(BlockingIOError):
            self._receiver.recv(65536)
        with self._lock:
            events, self._events = self._events, []
        return events

    def close(self) -> None:
        """Kill every task; return once the workers have confirmed it or can't be reached."""
        if not self._thread.is_alive():
            return
        if self._closing is not None:
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(timeout=30)
        self._receiver.close()
        self._sender.close()

    def workers(self) -> list[WorkerState]:
        """Return the workers."""
        now = time.monotonic()
        with self._lock:
            return [worker.report(now) for worker in self._workers.values()]

    def lost_workers(self) -> int:
        """Return how many workers have ended without notice, or were cut off for long."""
        return self._lost

    def _emit(self, event: dict[str, Any]) -> None:
        with self._lock:
            self._events.append(event)
        with contextlib.suppress(OSError):  # full: it is readable anyway
            self._sender.send(b".")

    def _forget(self, attempt: RemoteAttempt) -> None:
        with self._lock:
            attempt.worker.attempts.pop(attempt.task.id, None)
            if self._attempts.get(attempt.task.id) is attempt:
                del self._attempts[attempt.task.id]

    # Methods for the thread of the event loop.

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._main())
        except Exception:
            log.exception("The connection to the cluster has ended.")
        finally:
            self._ready.set()
            self._loop.close()

    async def _main(self) -> None:
        from distributed.core import ConnectionPool

        arguments: dict[str, Any] = {}
        if self._tls is not None:
            security: Any = self._tls.security()
            arguments = security.get_connection_args("client")
        pool = ConnectionPool(connection_args=arguments, timeout=RPC_SECONDS / 2)
        await pool.start()
        self._scheduler = pool(self.address)
        self._closing = asyncio.Event()
        discovery = asyncio.create_task(self._discover())
        self._ready.set()
        await self._closing.wait()
        for job in [*self._jobs]:
            job.cancel()
        await asyncio.gather(*(self._dismiss(w) for w in self._workers.values()))
        discovery.cancel()  # only now: a worker that is no longer listed needs no dismissal
        with contextlib.suppress(Exception):
            await asyncio.wait_for(pool.close(), 2)

    def _spawn(self, coroutine: Any) -> asyncio.Task[None]:
        job = asyncio.create_task(coroutine)
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        return job

    async def _discover(self) -> None:
        """Follow the workers that the scheduler lists."""
        while True:
            try:
                identity = await asyncio.wait_for(
                    self._scheduler.identity(n_workers=-1), RPC_SECONDS / 2
                )
            except Exception as error:  # noqa: BLE001 - any trouble of the network
                self._list_workers({})
                if not self._has_warned:
                    log.warning("The scheduler at %s can't be reached: %r.", self.address, error)
                self._has_warned = True
            else:
                if self._has_warned:
                    log.info("The scheduler at %s can be reached again.", self.address)
                self._has_warned = False
                self._list_workers(identity["workers"])
            await asyncio.sleep(DISCOVERY_SECONDS)

    def _list_workers(self, workers: Mapping[str, Mapping[str, Any]]) -> None:
        assert self._closing is not None
        addresses: dict[str, str] = {}
        for address, info in workers.items():
            prefix, _, rest = str(info.get("name") or info.get("id")).partition("|")
            if prefix == WORKER_PREFIX:  # others are not workers of labext
                addresses["|".join(rest.split("|")[:2])] = address
        with self._lock:
            for name, address in addresses.items():
                worker = self._workers.get(name)
                if worker is None:
                    if self._closing.is_set():
                        continue
                    worker = RemoteWorker(name, name.split("|")[0], address)
                    self._workers[name] = worker
                    self._spawn(self._follow(worker))
                worker.address = address
            for name, worker in self._workers.items():
                worker.is_listed = name in addresses

    async def _call(
        self, worker: RemoteWorker, seconds: float = RPC_SECONDS, **message: Any
    ) -> Any:
        """Send a message to a worker over the scheduler, and return its answer."""
        message["identity"] = worker.identity
        call = self._scheduler.proxy(msg=message, worker=worker.address)
        return await asyncio.wait_for(call, seconds)

    async def _follow(self, worker: RemoteWorker) -> None:
        """Renew the lease of the tasks at a worker, and process its reports about them."""
        while True:
            for attempt in [*worker.attempts.values()]:
                if not attempt.requested and time.monotonic() > attempt.renewed + self.lease:
                    self._lose(attempt)
            if self._is_dead(worker):
                with self._lock:
                    del self._workers[worker.name]
                    self._lost += not worker.is_closing
                log.info("The worker %s has disconnected.", worker.label)
                return
            try:
                reply, sent = await self._sync(worker, POLL_SECONDS if worker.contact else 0.0)
            except Exception as error:  # noqa: BLE001 - any trouble of the network
                log.debug("The worker %s does not answer: %r", worker.label, error)
                if not worker.is_listed or time.monotonic() > worker.contact + DOUBT_SECONDS:
                    for attempt in worker.attempts.values():  # their leases are not renewed
                        if attempt.requested and attempt.sequence:
                            attempt.requested = False
                            attempt.reason = "The worker can't be reached."
                await asyncio.sleep(0.2)
            else:
                self._note_reply(worker, reply, sent)
                if worker.refusal:
                    await asyncio.sleep(POLL_SECONDS)

    def _is_dead(self, worker: RemoteWorker) -> bool:
        since = max(worker.contact, worker.found)
        old = time.monotonic() > since + self.lease
        return not worker.is_listed and not worker.attempts and (old or worker.is_closing)

    async def _sync(
        self, worker: RemoteWorker, seconds: float
    ) -> tuple[dict[str, Any], SyncMessage]:
        """Send a worker the requested attempts, and wait up to `seconds` for a change."""
        self._sequence += 1
        sequence, now = self._sequence, time.monotonic()
        requested = {}
        for attempt in worker.attempts.values():
            if attempt.requested and attempt.sequence:
                attempt.renewed = worker.clock_at
                requested[attempt.name] = [attempt.phase, attempt.log_size]
        known = {a.name for a in worker.attempts.values() if a.requested and a.is_known}
        reply = await self._call(
            worker,
            seconds + DOUBT_SECONDS - POLL_SECONDS / 2,
            op="labext_sync",
            service=self._service,
            epoch=self._epoch,
            sequence=sequence,
            requested=requested,
            versions=versions(),
            clock=worker.clock,
            timeout=seconds,
        )
        return reply, SyncMessage(sequence, now, known)

    def _note_reply(
        self, worker: RemoteWorker, reply: Mapping[str, Any], sent: SyncMessage
    ) -> None:
        """Update a worker and its attempts from its answer to a message."""
        if refusal := reply.get("refused"):
            if not worker.refusal:
                log.warning("The worker %s is refused. %s", worker.label, refusal)
            worker.refusal = refusal
            return
        with self._lock:
            before = worker.free
            worker.contact = sent.at
            worker.clock, worker.clock_at = reply["clock"], time.monotonic()
            worker.is_closing = reply["closing"]
            worker.slots, worker.memory = reply["slots"], reply["memory"]
            worker.others, worker.others_memory = reply["others"], reply["others_memory"]
            worker.capabilities = frozenset(reply["capabilities"])
            worker.shared = visible_folder(reply["shared"])
        for attempt in [*worker.attempts.values()]:
            state = reply["attempts"].get(attempt.name)
            if state is not None and attempt.requested:
                self._note_state(attempt, state)
            elif state is None and attempt.requested and attempt.name in sent.known:
                attempt.reason = attempt.reason or "The worker was restarted."
                self._lose(attempt)
            elif (
                not attempt.requested
                and state is None
                and not reply["dropping"]
                and 0 < attempt.sequence < sent.sequence
            ):
                self._lose(attempt)
        if worker.free > before:
            self._emit({"workers": True})

    def _note_state(self, attempt: RemoteAttempt, state: Mapping[str, Any]) -> None:
        attempt.is_known = True
        if "log" in state and not attempt.job:
            append_log(attempt, state["log"])
        if state["phase"] in ("running", "ended") and not state["lost"] and not attempt.has_begun:
            attempt.has_begun = True
            self._emit({"started": attempt.task.id})
        is_busy = attempt.job is not None and state["phase"] == "ended"
        if state["phase"] != attempt.phase and not is_busy:
            with self._lock:
                attempt.phase = state["phase"]
            if state["lost"]:
                attempt.reason = state["lost"]
                self._lose(attempt)
            elif state["phase"] == "ended":
                attempt.job = self._spawn(self._finish(attempt, dict(state)))

    def _begin(self, attempt: RemoteAttempt) -> None:
        attempt.job = self._spawn(self._send(attempt))

    def _kill(self, attempt: RemoteAttempt) -> None:
        if attempt.is_killed or self._attempts.get(attempt.task.id) is not attempt:
            return
        attempt.is_killed = True
        self._spawn(self._send_kill(attempt))

    async def _send_kill(self, attempt: RemoteAttempt) -> None:
        """Kill an attempt, or give it up if its worker does not answer."""
        until = time.monotonic() + DOUBT_SECONDS
        while self._attempts.get(attempt.task.id) is attempt and attempt.requested:
            if attempt.is_known:
                with contextlib.suppress(Exception):
                    await self._call_attempt(attempt, "labext_kill")
                    return
            if time.monotonic() > until:
                attempt.requested = False
                return
            await asyncio.sleep(0.05)

    async def _call_attempt(
        self, attempt: RemoteAttempt, op: str, **arguments: Any
    ) -> dict[str, Any]:
        """Send a message to an attempt; raise LostAttemptError if its worker no longer has it."""
        try:
            reply: dict[str, Any] = await self._call(
                attempt.worker, op=op, service=self._service, name=attempt.name, **arguments
            )
        except Exception as error:
            raise LostAttemptError("The worker can't be reached.") from error
        if refused := reply.get("refused"):
            if refused == "full":
                self._rest(attempt.worker, reply["note"])
            if refused == "busy":  # by tasks of other services, which its next answer reports
                attempt.worker.rests_until = time.monotonic() + DISCOVERY_SECONDS
            raise LostAttemptError(
                "The message reached the worker too late."
                if refused == "late"
                else "The worker was restarted.",
                is_gone=True,
            )
        return reply

    def _rest(self, worker: RemoteWorker, note: str) -> None:
        log.warning("The worker %s gets no tasks for now. %s", worker.label, note)
        with self._lock:
            worker.note, worker.rests_until = note, time.monotonic() + REST_SECONDS

    async def _send(self, attempt: RemoteAttempt) -> None:
        """Send the request and the inputs of an attempt, and start it."""
        scratch, task = attempt.scratch, attempt.task
        assert scratch is not None
        try:
            request = await asyncio.to_thread(read_json, scratch / "request.json")
            files = await asyncio.to_thread(list_inputs, task)
            is_small = sum(size for _, _, size in files) <= INLINE_BYTES
            contents = None
            if is_small:
                contents = [(n, await asyncio.to_thread(p.read_bytes)) for n, p, _ in files]
            self._sequence += 1
            attempt.sequence, attempt.renewed = self._sequence, attempt.worker.clock_at
            reply = await self._call_attempt(
                attempt,
                "labext_start",
                epoch=self._epoch,
                sequence=attempt.sequence,
                clock=attempt.worker.clock,
                request=request,
                cores=task.cores,
                reserved=attempt.reserved,
                max_memory=task.max_memory,
                warm=task.is_warm,
                files=contents,
            )
            attempt.is_known = True
            with self._lock:
                attempt.phase = attempt.phase or ("starting" if is_small else "receiving")
            if not is_small:
                await send_inputs(attempt, files, Path(reply["folder"]), self._call_attempt)
                await self._call_attempt(attempt, "labext_run")
        except (LostAttemptError, OSError) as error:
            attempt.reason, attempt.requested = str(error), False
            if not attempt.sequence or (isinstance(error, LostAttemptError) and error.is_gone):
                attempt.job = None
                self._lose(attempt)
        finally:
            attempt.job = None

    async def _finish(self, attempt: RemoteAttempt, state: Mapping[str, Any]) -> None:
        """Fetch the files of an attempt that has ended, and report its end."""
        scratch = attempt.scratch
        assert scratch is not None
        incoming = scratch / "incoming"
        try:
            await fetch_outputs(attempt, state, incoming, self._call_attempt)
            await asyncio.to_thread(move_into_place, incoming, work_folder(attempt))
            (scratch / "report.json").write_text(json.dumps(state["report"]))
        except (LostAttemptError, OSError, ValueError) as error:
            log.warning("The files of %s could not be fetched: %s", attempt.task.key, error)
            attempt.reason = f"Its files could not be fetched: {error}"
            attempt.requested = False
            return
        finally:
            attempt.job = None
        event = {"ended": attempt.task.id, "code": state["code"], "seconds": state["seconds"]}
        self._forget(attempt)
        self._emit({**event, "over_memory": state["over_memory"]})

    def _lose(self, attempt: RemoteAttempt) -> None:
        """Report an attempt that has certainly ended without a result.

        Ignored while its files are being transferred, since the transfer soon fails.
        """
        if attempt.job is not None or self._attempts.get(attempt.task.id) is not attempt:
            return
        self._forget(attempt)
        event = {"lost": attempt.task.id, "reason": attempt.reason, "begun": attempt.has_begun}
        if attempt.is_killed:
            event = {"ended": attempt.task.id, "code": -signal.SIGKILL, "seconds": 0.0}
            event["over_memory"] = False
        self._emit(event)

    async def _dismiss(self, worker: RemoteWorker) -> None:
        """Request a worker to end every task of this service, and wait for it."""
        until = time.monotonic() + LEASE_SECONDS
        for attempt in worker.attempts.values():
            attempt.requested = False
        while worker.is_listed and not worker.refusal and time.monotonic() < until:
            with contextlib.suppress(Exception):
                reply, _ = await self._sync(worker, 0.2)
                if not reply.get("dropping") and not reply.get("attempts"):
                    return
            await asyncio.sleep(0.05)
