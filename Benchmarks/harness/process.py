"""Server processes: started on a free port, waited for, measured, stopped."""

import http.client
import os
import pathlib
import resource
import socket
import subprocess
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A child process that answers HTTP on 127.0.0.1. Use it as a context manager."""

    def __init__(self, name, command, port, ready, log, environment=None):
        self.name = name
        self.port = port
        self.command = command
        self.ready_path = ready
        self.log = pathlib.Path(log)
        self.environment = {**os.environ, **(environment or {})}
        self.process = None

    def __enter__(self):
        try:
            self.start()
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                preexec_fn=allow_many_descriptors,
            )

    def wait_until_ready(self, seconds=30, pause=0.02):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            status = self.get(self.ready_path)[0]
            if status and status < 500:
                return
            time.sleep(pause)
        raise RuntimeError(f"{self.name} did not start; its log:\n{self.log.read_text()[-2000:]}")

    def get(self, path, headers=None):
        """Status and body, or (None, b"") when nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path, headers=headers or {})
            response = connection.getresponse()
            return response.status, response.read()
        except OSError:
            return None, b""
        finally:
            connection.close()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def pids(self):
        """The process and its descendants: nginx works in a child."""
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            todo += [int(child) for child in children]
        return found

    def cpu_seconds(self):
        ticks = 0
        for pid in self.pids():
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def wait_until_idle(self, seconds=30):
        """Until it takes hardly any CPU time."""
        for _ in range(seconds * 5):
            before = self.cpu_seconds()
            time.sleep(0.2)
            if self.cpu_seconds() - before < 0.02:
                return
        raise RuntimeError(f"{self.name} does not come to rest")

    def resident_megabytes(self):
        kilobytes = 0
        for pid in self.pids():
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    kilobytes += int(line.split()[1])
        return kilobytes / 1024


def allow_many_descriptors():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
