"""Processes that start at once: forked from a process that has already imported torch and what a training needs.

Importing takes nearly all the time of a short training in a process of its own. A forked one is as real: it has its own
environment, pipes and exit code, and it can be killed. Tests of the start itself use `subprocess`.

`python tests/forking.py SOCKET` is the process to fork from. For each request it gets a program with its arguments and
environment, and three descriptors: stdout and stderr of the new process, and a pipe that is told its id and its end.
"""

from __future__ import annotations

import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

from short_forecasts import shorten_forecasts

LARGEST = 1 << 16  # bytes read at a time


class Forked:
    """A running program with the part of `subprocess.Popen` that tests need; stdout and stderr are pipes of text."""

    def __init__(self, arguments: Sequence[object], env: Mapping[str, str]) -> None:
        out, err, told = os.pipe(), os.pipe(), os.pipe()
        request = json.dumps({"arguments": [*map(str, arguments)], "env": dict(env)}).encode() + b"\n"
        socket.send_fds(server(), [request[:1]], [out[1], err[1], told[1]])
        server().sendall(request[1:])
        for descriptor in (out[1], err[1], told[1]):
            os.close(descriptor)
        self.stdout, self.stderr = os.fdopen(out[0], encoding="utf-8"), os.fdopen(err[0], encoding="utf-8")
        self.told = os.fdopen(told[0])
        self.pid = int(self.told.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and not self.told.closed and select.select([self.told], [], [], 0)[0]:
            self.returncode = int(self.told.readline())
            self.told.close()
        return self.returncode

    def wait(self, timeout: float) -> int:
        if self.returncode is None:
            select.select([self.told], [], [], timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired("a forked process", timeout)
        return code

    def communicate(self, timeout: float) -> tuple[str, str]:
        """What it still says until its end; it is killed if that does not come in time."""
        with ThreadPoolExecutor(2) as pool:
            reading = [pool.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        self.stdout.close()
        self.stderr.close()
        return reading[0].result(), reading[1].result()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def server() -> socket.socket:
    """The process to fork from; it ends when this process does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, __file__, str(theirs.fileno())]
    started = subprocess.Popen(
        command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    theirs.close()
    STARTED.append(started)
    return ours


STARTED: list[subprocess.Popen[bytes]] = []


def close() -> None:
    """Ends the process to fork from, if there is one."""
    while STARTED:
        server().close()
        STARTED.pop().wait()
        server.cache_clear()


# Inside the process to fork from


def import_all() -> None:
    """What a training of any task imports, so that no forked process needs to."""
    import sentencex  # noqa: F401
    import torch._dynamo  # loaded by the first step of an optimiser
    import torch.distributed  # noqa: F401

    from glassformer.tasks import closing, loading, reports, training, translation  # noqa: F401
    from glassformer.tasks.registry import TASKS, task_named

    for name in TASKS:
        task_named(name)
    shorten_forecasts()
    gc.collect()
    gc.freeze()


def serve(requests: socket.socket) -> tuple[list[str], dict[str, str]] | None:
    """Forks for each request. The new process returns with what it was asked for; this one with None at the end."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    running: dict[int, int] = {}  # process: the pipe that is told its end
    while True:
        ready, _, _ = select.select([requests, wake], [], [])
        if wake in ready:
            os.read(wake, 1000)
            tell_ends(running)
        if requests not in ready:
            continue
        message, descriptors, _, _ = socket.recv_fds(requests, LARGEST, 3)
        if not message:
            return None
        while not message.endswith(b"\n"):  # JSON has no other end of a line
            message += requests.recv(LARGEST)
        out, err, told = descriptors
        if (process := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(out, 1)
            os.dup2(err, 2)
            for descriptor in (*descriptors, *running.values(), wake, woken, requests.fileno()):
                os.close(descriptor)
            asked = json.loads(message)
            return asked["arguments"], asked["env"]
        os.close(out)
        os.close(err)
        os.write(told, f"{process}\n".encode())
        running[process] = told


def tell_ends(running: dict[int, int]) -> None:
    while running:
        process, status = os.waitpid(-1, os.WNOHANG)
        if not process:
            return
        told = running.pop(process)
        with suppress(BrokenPipeError):  # nobody waits for it any more
            os.write(told, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os.close(told)


def main() -> None:
    import_all()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    requests = socket.socket(fileno=int(sys.argv[1]))
    asked = serve(requests)
    if asked is None:
        return
    requests.detach()
    arguments, environment = asked
    os.environ.clear()
    os.environ.update(environment)
    # Streams of its own: Python remembers that the old ones could seek.
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(i, "w", closefd=False), write_through=True) for i in (1, 2))
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).parent)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
