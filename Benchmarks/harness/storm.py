"""A storm of wrong passwords, and what others notice of it.

The attacker is a process of its own (`python3 storm.py PORT ROUND SECONDS`), so that its work is not in our latencies.
"""

import http.client
import json
import pathlib
import subprocess
import sys
import threading
import time

RATE = 200
SOURCES = 8
VICTIM = {"username": "storm-victim", "password": "tr0ubador&3-of-the-bench"}
HOME = "198.51.100.7"
PROBES = 4


def post(connection, path, body, source):
    connection.request(
        "POST", path, json.dumps(body), {"Content-Type": "application/json", "X-Forwarded-For": source})
    response = connection.getresponse()
    response.read()
    return response.status


def sign_up(server):
    status = post(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30), "/v1/accounts", VICTIM, HOME)
    if status != 201:
        raise RuntimeError(f"the victim's account cannot be made: {status}")


def sign_in(server):
    """Seconds until the owner is in, from an address that was used before; anything else is a failure."""
    began = time.monotonic()
    status = post(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30), "/v1/sessions", VICTIM, HOME)
    if status != 201:
        raise RuntimeError(f"the owner was locked out: {status}")
    return time.monotonic() - began


def attack(port, number, seconds):
    """Wrong passwords at a steady rate from networks that are new in each round; prints the answers by status."""
    counts, lock = {}, threading.Lock()
    end = time.monotonic() + seconds

    def one(source):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        body = {"username": VICTIM["username"], "password": "a-wrong-guess"}
        due = time.monotonic()
        while due < end:
            time.sleep(max(0, due - time.monotonic()))
            due += SOURCES / RATE
            status = post(connection, "/v1/sessions", body, source)
            with lock:
                counts[status] = counts.get(status, 0) + 1

    threads = [threading.Thread(target=one, args=(f"203.{number}.{index}.1",)) for index in range(SOURCES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(counts))


class Storm:
    """The attacker as long as the block runs; `counts` holds the answers it got."""

    def __init__(self, server, number, seconds):
        self.command = [sys.executable, str(pathlib.Path(__file__)), str(server.port), str(number), str(seconds)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.counts = json.loads(self.process.communicate(timeout=60)[0] or "{}")


def probe(server, path, token, seconds):
    """What somebody else waits for a read: some connections that ask a hundred times a second each."""
    times, lock = [], threading.Lock()
    end = time.monotonic() + seconds

    def one():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        while time.monotonic() < end:
            began = time.monotonic()
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            response = connection.getresponse()
            response.read()
            took = time.monotonic() - began
            if response.status != 200:
                raise RuntimeError(f"a reader got {response.status}")
            with lock:
                times.append(took)
            time.sleep(0.01)

    threads = [threading.Thread(target=one) for _ in range(PROBES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    return {
        "per_second": len(times) / seconds, "p50_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[len(times) * 99 // 100] * 1000,
    }


if __name__ == "__main__":
    attack(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
