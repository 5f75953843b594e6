"""The load generators: wrk for HTTP, pgbench for PostgreSQL alone, and a holder of idle connections."""

import json
import os
import pathlib
import re
import socket
import subprocess

CONNECTIONS = 64
PGBENCH_CLIENTS = 8


def wrk(server, requests, seconds):
    """One thread, 64 connections. Requests a second, percentiles in milliseconds, the server's CPU time in µs a request."""
    script = pathlib.Path(__file__).parent / "requests.lua"
    before = server.cpu_seconds()
    output = subprocess.run(
        ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "10s", "-s", str(script),
         f"http://127.0.0.1:{server.port}", "--", str(requests)],
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
    cpu = server.cpu_seconds() - before
    measured = json.loads(output.strip().splitlines()[-1])
    if measured["failed"] or not measured["requests"]:
        raise RuntimeError(f"{server.name}: {measured['failed']} of {measured['requests']} requests failed")
    return {
        "per_second": measured["requests"] / (measured["duration"] / 1e6),
        "p50_ms": measured["p50"] / 1000,
        "p99_ms": measured["p99"] / 1000,
        "cpu_us": cpu * 1e6 / measured["requests"],
    }


def pgbench(scripts, seconds):
    """Eight clients that run the scripts, prepared, one statement at a time."""
    files = [argument for script in scripts for argument in ("-f", str(script))]
    output = subprocess.run(
        [pgbench_binary(), "-n", "-M", "prepared", "-c", str(PGBENCH_CLIENTS), "-j", "1", "-T", str(seconds), *files],
        check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PGUSER": "magpie", "PGDATABASE": "magpie", "PGOPTIONS": "-c role=magpie_app"},
    ).stdout
    failed = re.search(r"number of failed transactions: (\d+)", output)
    if failed and int(failed[1]):
        raise RuntimeError(f"pgbench: {failed[1]} statements failed")
    milliseconds = float(re.search(r"latency average = ([\d.]+) ms", output)[1])
    return {"per_second": float(re.search(r"tps = ([\d.]+)", output)[1]), "mean_ms": milliseconds}


def pgbench_binary():
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pgbench"), key=lambda path: int(path.parts[4]))
    return str(found[-1]) if found else "pgbench"


def pgbench_script(statement, values, path):
    """Writes a statement with $1, $2, … replaced by SQL literals: pgbench has no values but numbers."""
    text = re.sub(r"--.*", "", statement)
    text = re.sub(r"\$(\d+)", lambda match: values[int(match[1]) - 1], text)
    path.write_text(" ".join(text.split()) + ";\n")
    return path


class IdleConnections:
    """Many keep-alive connections, each of which had one answer and then stays silent."""

    def __init__(self, server, count, path):
        self.server = server
        self.request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
        self.sockets = []
        for _ in range(count):
            self.sockets.append(socket.create_connection(("127.0.0.1", server.port), timeout=10))
            self.ask(self.sockets[-1])

    def ask(self, connection):
        connection.sendall(self.request)
        head, body, length = b"", b"", 1
        while len(body) < length:
            part = connection.recv(65536)
            head += part
            if not part or not head.startswith(b"HTTP/1.1 200 "[: len(head)]):
                raise RuntimeError(f"connection {len(self.sockets)} got {head[:60]!r}")
            if b"\r\n\r\n" in head:
                fields, body = head.split(b"\r\n\r\n", 1)
                length = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", fields)[1])

    def still_alive(self):
        """Asks on every hundredth connection again: what was measured must be connections that work."""
        for connection in self.sockets[::100]:
            self.ask(connection)

    def close(self):
        for connection in self.sockets:
            connection.close()
