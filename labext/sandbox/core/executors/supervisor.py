"""Start, limit and end the processes of queued tasks."""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labext.messages import format_seconds
from labext.sandbox.core.data_folder import FileLock, remove_path
from labext.sandbox.core.database import Database, error_line, is_disk_full, is_unavailable
from labext.sandbox.core.executors.executor import Executor, RemoteExecutor
from labext.sandbox.core.executors.file_transfers import FileTransfers
from labext.sandbox.core.executors.launcher import Launcher, StartMethod
from labext.sandbox.core.executors.leftover_tasks import (
    FORK_SERVER_LOCK,
    SUPERVISOR_LOCK,
    LeftoverTasks,
    kill_leftovers,
)
from labext.sandbox.core.executors.task_run import (
    MAX_RETRY_PAUSE,
    TaskRun,
    outcome_of,
    prepare_folders,
)
from labext.sandbox.core.executors.worker_states import (
    Executors,
    WorkersFile,
    WorkerState,
    why_waiting,
)
from labext.sandbox.core.file_storage.service_files import NotCachedError
from labext.sandbox.core.queue import Queue, TaskOutcome
from labext.sandbox.core.task_transitions import ClaimedTask, TaskTransitions

POLL_SECONDS = 1.0
"""Interval of polling the table for changes by other processes; own changes wake the supervisor."""

START_DELAY = 0.05
"""Delay before a running task is recorded. The start and end of a shorter task are recorded in a
single transaction, which takes as long as many jobs."""

MAX_LOSSES = 10
"""Number of deaths of the fork server or the worker during a task after which the task fails."""

LOCK_SECONDS = 15.0
"""Time that an ending supervisor, or the fork server of a killed one, has to release its folder."""

UNFIT_SECONDS = 2.0
"""Interval of checking again whether a worker can run the waiting tasks."""

PUBLISH_SECONDS = 1.0
"""Interval of publishing the workers of a cluster."""

MIN_FREE_BYTES = 1024**2
"""Free space below which the disk counts as full."""

STALL_SECONDS = 20.0
"""Time without a completed turn after which the queue counts as stopped."""

log = logging.getLogger(__name__)


class Supervisor(Executors):
    """Start, limit and end tasks.

    Args:
        work_dir: the folder of the scratch folders, used by this supervisor alone.
        claimant: the name of this process and of its folder, if several serve the database. They
            take over the tasks of a killed process.
        workers: the number of concurrent tasks; by default one per core.
        slots: the number for all service processes together; by default `workers`.
        preload: modules that tasks need, loaded once.
        method: `fork` or `spawn`; by default the method that is safe on this system.
        adopts: this process has called `adopt_orphans`, and its children that lead sessions are
            fork servers.
        remote: runs the tasks whose kind has `inputs`, as soon as a suitable worker exists. Other
            tasks run here.
        workers_file: the file with the published workers of `remote`. Without `remote` it is that
            of another process, the only one that runs tasks whose kind has `inputs`.
    """

    def __init__(
        self,
        database: Database,
        queue: Queue,
        work_dir: Path,
        *,
        workers: int | None = None,
        slots: int | None = None,
        preload: Sequence[str] = (),
        method: StartMethod | None = None,
        adopts: bool = False,
        remote: RemoteExecutor | None = None,
        workers_file: WorkersFile | None = None,
        claimant: str = "",
    ) -> None:
        self._workers_here = workers or os.cpu_count() or 1
        self._slots = slots or self._workers_here
        self._queue = queue
        self._is_local = remote is None and workers_file is None
        self._transitions = TaskTransitions(
            database,
            queue,
            claimant,
            leaves_workers=remote is None and not self._is_local,
            admit=None if remote is None else self._admit,
        )
        self._claimant = claimant
        self._work_dir = work_dir
        self._preload = preload
        self._method = method
        self._leftover = LeftoverTasks(self._transitions, work_dir, claimant, adopts=adopts)
        self.remote = remote
        self._workers_file = workers_file
        self._published = 0.0
        self._launcher: Launcher | None = None
        self._runs: dict[int, TaskRun] = {}
        self._lost: list[int] = []
        self._unfit_since = 0.0
        self._admitted = 0
        self._losses: Counter[int] = Counter()
        self._launched = 0.0
        self._launch_pause = 0.0
        self._ticked = 0.0
        self._looked = 0.0
        self._succeeded = time.monotonic()
        self._stopping = False
        self._wakeup, self._waker = socket.socketpair()
        self._wakeup.setblocking(False)
        self._waker.setblocking(False)
        self._own_lock = FileLock(work_dir / SUPERVISOR_LOCK)
        self._transfers = FileTransfers(self._wake)
        self._thread = threading.Thread(target=self._loop, name="labext-supervisor", daemon=True)

    def start(self) -> None:
        """Recover the tasks of an earlier supervisor, then run tasks in a thread.

        Raises:
            RuntimeError: another supervisor uses this folder.
        """
        self._work_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._own_lock.acquire(seconds=LOCK_SECONDS):
            raise RuntimeError(f"Another supervisor works in {self._work_dir}.")
        lock = FileLock(self._lock_file)
        # The fork server of a killed supervisor needs a moment to end its tasks.
        if not lock.acquire(seconds=LOCK_SECONDS):
            raise RuntimeError(f"Another supervisor works in {self._work_dir}.")
        leftover = self._transitions.taken()
        if self.remote is not None and (leftover or self._claimant):
            self._transitions.repeat_later(self.remote.lease)
        self._leftover.restart(leftover, killed=self._leftover.begun(leftover))
        lock.release()
        self._launch_server()
        self._queue.listen(self._wake)
        self._thread.start()

    def stop(self) -> None:
        """Kill and requeue the running tasks; return once their processes are gone."""
        self._stopping = True
        self._wake()
        if self._thread.ident is not None:  # it may have failed to start
            self._thread.join()
        self._own_lock.release()
        self._wakeup.close()
        self._waker.close()

    @property
    def address(self) -> str:
        """`local`, or the address of the scheduler of a cluster."""
        if self.remote is not None:
            return self.remote.address
        return "local" if self._workers_file is None else self._workers_file.address

    def workers(self) -> list[WorkerState]:
        """Return the workers; the first one is this machine, with all service processes.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the database does not respond.
        """
        taken = self._transitions.taken_here(all_kinds=self._is_local)
        own = WorkerState(
            name="local",
            address="",
            state="ready",
            slots=self._slots,
            busy=sum(cores for _, cores in taken),
            memory=None,
            capabilities=(),
            tasks=tuple(key for key, _ in taken),
            last_seen=0.0,
            note="" if self._is_local else "Only tasks that need the files of the service.",
        )
        return [own, *self._other_machines()]

    def _other_machines(self) -> list[WorkerState]:
        source = self.remote or self._workers_file
        return [] if source is None else source.workers()

    def lost_workers(self) -> int:
        """Return how many workers have ended without notice, or were cut off for long."""
        source = self.remote or self._workers_file
        return 0 if source is None else source.lost_workers()

    def why_waiting(self, needs: str, cores: int, memory: int | None) -> str:
        """Return why no worker can run such a task; empty if one can once it has a free slot."""
        if self._is_local:
            return ""
        return why_waiting(self.address, self._other_machines(), needs, cores, memory)

    def problem(self) -> str:
        """Return why queued tasks do not run, as a sentence; empty if they do."""
        if not self._thread.is_alive():
            return "The queue has stopped."
        if shutil.disk_usage(self._work_dir).free < MIN_FREE_BYTES:
            return "The disk of the data folder is full."
        seconds = time.monotonic() - self._succeeded
        if self.remote is None and self._workers_file is not None:
            seconds = max(seconds, self._workers_file.age())
        return f"The queue has not run for {seconds:.0f} s." if seconds > STALL_SECONDS else ""

    def _publish(self) -> None:
        if self.remote is None or self._workers_file is None:
            return
        if time.monotonic() >= self._published + PUBLISH_SECONDS:
            self._published = time.monotonic()
            remote = self.remote
            self._workers_file.write(remote.address, remote.workers(), remote.lost_workers())

    @property
    def _lock_file(self) -> Path:
        return self._work_dir / FORK_SERVER_LOCK

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # full: it wakes anyway; closed: it has stopped
            self._waker.send(b".")

    def _loop(self) -> None:
        while not self._stopping:
            try:
                self._receive()
                self._enforce()  # first: limits hold even while the database refuses changes
                self._requeue_lost()
                self._turn()
                self._tick()
                self._leftover.take_over()
                self._publish()
                self._succeeded = time.monotonic()
            except Exception as error:  # a full disk or an error of a service: other tasks continue
                if is_unavailable(error):
                    log.error("The queue waits for the database: %s", error_line(error))
                else:
                    log.exception("The supervisor retries.")
                time.sleep(POLL_SECONDS)
        self._wind_up()

    def _launch_server(self) -> None:
        self._launcher = Launcher(self._lock_file, self._preload, self._method)
        self._launched = time.monotonic()

    def _receive(self) -> None:
        """Wait for the fork server, a change of the queue, or the next deadline."""
        if self._launcher is None:
            self._leftover.restart(self._lost, keep=self._runs)
            self._lost = []
            if not self._stopping and time.monotonic() >= self._launched + self._launch_pause:
                self._launch_server()
        with selectors.DefaultSelector() as selector:
            if self._launcher is not None:
                selector.register(self._launcher, selectors.EVENT_READ)
            if self.remote is not None:
                selector.register(self.remote, selectors.EVENT_READ)
            selector.register(self._wakeup, selectors.EVENT_READ)
            ready = [key.fileobj for key, _ in selector.select(self._timeout())]
        if self._wakeup in ready:
            self._wakeup.recv(65536)
            self._looked = 0.0
        if self._launcher is not None and self._launcher in ready:
            events = self._launcher.events()
            if events is None:
                self._lose_launcher(self._launcher)
            for event in events or ():
                self._note(event)
        if self.remote is not None and self.remote in ready:
            for event in self.remote.events() or ():
                self._note(event)

    def _timeout(self) -> float:
        now = time.monotonic()
        deadlines = [run.deadline for run in self._alive() if run.killed is None]
        moments = [moment - now for moment in deadlines if moment is not None]
        moments += [
            max(run.began + START_DELAY, run.next_try) - now
            for run in self._runs.values()
            if run.has_begun and not run.is_recorded
        ]
        if self._runs:
            moments.append(max(self._looked, self._ticked) + POLL_SECONDS - now)
        return min([POLL_SECONDS, *moments])

    def _note(self, event: dict[str, Any]) -> None:
        if "started" not in event:
            self._transitions.unfit.clear()
        ids = [event[kind] for kind in ("started", "ended", "lost") if kind in event]
        run = self._runs.get(ids[0]) if ids else None
        if run is None:
            return
        if "lost" in event:
            self._lose(run, event)
            return
        if "ended" in event:
            if run.has_begun and not run.is_recorded:  # both events may have been read at once
                run.began = min(run.began, time.monotonic() - event["seconds"])
            run.outcome = run.refusal or outcome_of(run, event)
            return
        run.has_begun, run.began = True, time.monotonic()
        if run.task.max_seconds is not None:
            run.deadline = run.began + run.task.max_seconds

    def _turn(self) -> None:
        """Record started and ended tasks, and start the next ones."""
        self._launch_later()
        now = time.monotonic()  # once, so that no task ends before its start is recorded
        started, ended = self._started(now), self._ended(now)
        self._admitted = 0
        try:
            turn = self._transitions.turn(
                {run.attempt: run.started for run in started},
                {run.attempt: run.outcome for run in ended if run.outcome is not None},
                Counter(run.task.kind.name for run in self._alive()),
                0 if self._stopping or self._launcher is None else self._room(),
            )
        except Exception as error:  # noqa: BLE001 - see `_loop`; one task must not block others
            log.info("Starts and ends of tasks are recorded one by one: %s", error)
            if self.remote is not None:
                self.remote.release()
            self._admitted = 0
            self._record_starts()
            self._record_ends()
            self._start_tasks()
            return
        for run in started:
            self._recorded_start(run, turn.refused.get(run.task.id))
        for claim in turn.claims:  # first, since removing scratch folders takes time
            self._start(claim)
        for run in ended:
            self._recorded(run)

    def _alive(self) -> list[TaskRun]:
        return [run for run in self._runs.values() if run.outcome is None]

    def _room(self) -> int:
        here = self._room_here()
        if self._transfers.are_behind(self._runs.values(), self._workers_here):
            return 0
        if self.remote is None:
            return here
        if time.monotonic() > self._unfit_since + UNFIT_SECONDS:
            self._transitions.unfit.clear()
            self._unfit_since = time.monotonic()
        return here + self.remote.free_slots()

    def _room_here(self) -> int:
        running = sum(run.task.cores for run in self._alive() if not run.is_remote)
        return max(0, self._workers_here - running)

    def _admit(self, task: ClaimedTask) -> bool:
        """Take a slot for a task here or on a worker; False if there is none."""
        if self.remote is not None and task.kind.inputs is not None:
            return self.remote.admit(task)
        if self._room_here() < self._admitted + task.cores:
            return False
        self._admitted += task.cores
        return True

    def _executor(self, run: TaskRun) -> Executor | None:
        return self.remote if run.is_remote else self._launcher

    def _started(self, now: float) -> list[TaskRun]:
        """Return the runs whose start must be recorded now, without those to be retried later."""
        return [
            run
            for run in self._runs.values()
            if run.has_begun
            and not run.is_recorded
            and (run.outcome is not None or now >= run.began + START_DELAY)
            and now >= run.next_try
        ]

    def _ended(self, now: float) -> list[TaskRun]:
        """Return the runs whose end must be recorded now, without those to be retried later."""
        ended = [r for r in self._runs.values() if r.outcome is not None and now >= r.next_try]
        return [run for run in ended if self._transfers.save(run)]

    def _record_starts(self) -> None:
        for run in self._started(time.monotonic()):
            try:
                refusal = self._transitions.start(run.attempt, run.started)
            except Exception:  # see `_loop`; it is retried later
                log.exception("The start of %s could not be recorded.", run.task.key)
                run.later()
            else:
                self._recorded_start(run, refusal)

    def _recorded_start(self, run: TaskRun, refusal: TaskOutcome | None) -> None:
        run.is_recorded = True
        run.refusal = refusal
        if refusal is None:
            return
        executor = self._executor(run)
        if run.outcome is not None:
            run.outcome = refusal
        elif executor is not None:
            executor.kill(run.task.id)

    def _record_ends(self) -> None:
        for run in self._ended(time.monotonic()):
            if run.outcome is None or (run.has_begun and not run.is_recorded):
                continue
            try:
                self._transitions.end(run.attempt, run.outcome)
            except NotCachedError as error:
                self._transfers.fetch(run, error)
            except Exception:  # see `_loop`; it is retried later
                log.exception("The end of %s could not be recorded.", run.task.key)
                run.later()
            else:
                self._recorded(run)

    def _recorded(self, run: TaskRun) -> None:
        if run.outcome is not None and run.outcome.outcome != "done":
            log.info("%s %s: %s", run.task.key, run.outcome.outcome, run.outcome.reason)
        del self._losses[run.task.id]
        self._forget(run)

    def _forget(self, run: TaskRun) -> None:
        del self._runs[run.task.id]
        with contextlib.suppress(OSError):
            remove_path(run.scratch)

    def _tick(self) -> None:
        if self._runs and time.monotonic() >= self._ticked + 1.0:
            self._ticked = time.monotonic()
            self._transitions.tick({task_id: run.seconds for task_id, run in self._runs.items()})

    def _enforce(self) -> None:
        """Kill tasks that exceed their time limit or were cancelled."""
        now = time.monotonic()
        for run in self._alive():
            if run.killed is None and run.deadline is not None and now >= run.deadline:
                run.over = "time"
                limit = format_seconds(run.task.max_seconds or 0)
                self._kill(run, f"The time limit of {limit} was reached.")
        # The queue wakes this thread when a task is cancelled, see `_receive`.
        if now < self._looked + POLL_SECONDS:
            return
        alive = [run for run in self._alive() if run.killed is None]
        saving = [run for run in self._runs.values() if run.is_saving]
        cancelled = self._transitions.cancelled() if alive or saving else set()
        self._looked = now
        for run in saving:
            if run.task.id in cancelled:  # its results are not needed
                self._transfers.skip(run)
        for run in alive:
            if run.task.id in cancelled:
                self._kill(run, "It was stopped.")

    def _kill(self, run: TaskRun, reason: str) -> None:
        run.killed = reason
        executor = self._executor(run)
        if not run.launched:
            self._end_unlaunched(run, TaskOutcome("stopped", reason))
        elif executor is not None:
            executor.kill(run.task.id)

    def _launch_later(self) -> None:
        """Launch tasks that waited for their files or for free disk space."""
        for run in self._runs.values():
            if not run.launched and run.outcome is None and time.monotonic() >= run.next_try:
                self._launch(run)

    def _start_tasks(self) -> None:
        while self._launcher is not None and not self._stopping and self._room():
            running = Counter(run.task.kind.name for run in self._alive())
            task_id = self._transitions.next(running)
            if task_id is None:
                return
            claim = self._transitions.claim(task_id)
            if claim is None:
                self._queue.ended()
                continue
            self._start(claim)
            self._admitted = 0

    def _start(self, task: ClaimedTask) -> None:
        scratch = self._work_dir / str(task.id)
        run = self._runs[task.id] = TaskRun(task, scratch, task.work or scratch / "work")
        run.is_remote = self.remote is not None and task.kind.inputs is not None
        self._launch(run)

    def _launch(self, run: TaskRun) -> None:
        """Create the folders of a task, fetch its files, and start its process."""
        try:
            if not self._transfers.prepare(run):
                if run.outcome is not None:
                    self._end_unlaunched(run, run.outcome)
                return
            prepare_folders(run)
        except (OSError, ValueError) as error:
            if is_disk_full(error):
                log.warning("%s waits for room on the disk.", run.task.key)
                run.later()
                return
            reason = f"The job's folder could not be created: {error}"
            self._end_unlaunched(run, TaskOutcome("failed", reason))
            return
        run.launched = True
        executor = self._executor(run)
        if executor is not None:
            task = run.task
            executor.start(task.id, run.scratch, task.max_memory, warm=task.is_warm)

    def _end_unlaunched(self, run: TaskRun, outcome: TaskOutcome) -> None:
        """Give back the slot of a task that has ended without a process."""
        run.outcome = outcome
        if self.remote is not None:
            self.remote.release(run.task.id)
        self._wake()

    def _lose(self, run: TaskRun, event: Mapping[str, Any]) -> None:
        """Queue a task again whose worker was lost; fail it if that happened too often."""
        task = run.task
        log.info("%s (attempt %d) starts again: %s", task.key, task.attempt, event["reason"])
        if run.refusal is not None or run.outcome is not None:
            run.outcome = run.outcome or run.refusal
            return
        self._losses[task.id] += event["begun"]
        if self._losses[task.id] < MAX_LOSSES:
            run.is_lost = True
            return
        reason = f"The worker was lost {MAX_LOSSES} times while this ran. {event['reason']}"
        run.outcome = TaskOutcome("failed", reason.strip())

    def _requeue_lost(self) -> None:
        for run in [run for run in self._runs.values() if run.is_lost]:
            self._transitions.requeue([run.task.id])
            self._forget(run)

    def _lose_launcher(self, launcher: Launcher) -> None:
        """Requeue the tasks that died with the fork server; fail those that did so too often."""
        log.error("The process that starts the jobs was killed.")
        launcher.close()
        self._launcher = None
        lived = time.monotonic() - self._launched
        longer = min(2 * self._launch_pause, MAX_RETRY_PAUSE)
        self._launch_pause = POLL_SECONDS if lived > MAX_RETRY_PAUSE else max(POLL_SECONDS, longer)
        here = [run for run in self._runs.values() if not run.is_remote]
        for run in [run for run in here if run.outcome is None]:
            self._losses[run.task.id] += bool(self._leftover.begun([run.task.id]))
            if self._losses[run.task.id] < MAX_LOSSES:
                self._lost.append(run.task.id)
                del self._runs[run.task.id]
            else:
                kill_leftovers([run.scratch])
                reason = f"The process that starts tasks died {MAX_LOSSES} times while this ran."
                run.outcome = TaskOutcome("failed", reason)

    def _wind_up(self) -> None:
        """Record the tasks that have ended; kill and requeue the others."""
        try:
            self._wake()
            self._receive()
        except Exception:
            log.exception("The tasks that ended last may start again.")
        if self.remote is not None:
            self.remote.close()
        if self._launcher is not None:
            self._launcher.close()
        try:
            for run in self._runs.values():
                run.next_try = 0.0  # a task that has ended must not run again
            self._transfers.finish(self._runs.values())
            self._record_starts()
            self._record_ends()
            self._transitions.requeue([*self._runs, *self._lost])
        except Exception:  # tasks whose end was not recorded start again at the next start
            log.exception("Not every task could be queued again.")
