"""Event streams: how soon a committed write is told, by an app or by a hand in psql, and what an idle stream weighs."""

import asyncio
import http.client
import json
import statistics
import time

STREAMS = 1_000
ACCOUNTS = 50
SECONDS = 10
WRITES_PER_SECOND = 2  # of each account
HAND_EDITS_PER_SECOND = 5  # of all accounts together


class Stream:
    """One open stream, as HTTP/1.0 so that no chunks have to be taken apart."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.arrivals = {}

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 16)
        self.writer.write(f"GET /v1/stream HTTP/1.0\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
        status = await self.reader.readline()
        if b" 200 " not in status:
            raise RuntimeError(f"a stream got {status!r}")
        while (await self.reader.readline()).strip() != b"event: ping":
            pass

    async def listen(self):
        version = None
        while line := await self.reader.readline():
            if line.startswith(b"id: "):
                version = int(line[4:])
            elif line.startswith(b"data: ") and version is not None:
                self.arrivals[version] = time.monotonic()
                version = None


async def put(connection, token, number, seen):
    """Writes once, and notes when the answer, which comes after the commit, was there."""
    reader, writer = connection
    body = json.dumps({"note": f"at {number}"}).encode()
    writer.write(
        f"PUT /v1/favorites/photo/{1 + number % 50} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head[:20] and b" 201 " not in head[:20]:
        raise RuntimeError(f"a write got {head[:60]!r}")
    length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    document = json.loads(await reader.readexactly(length))
    seen[token, document["version"]] = time.monotonic()


async def write(port, token, begin, committed):
    connection = await asyncio.open_connection("127.0.0.1", port)
    for number in range(SECONDS * WRITES_PER_SECOND):
        wait = begin + number / WRITES_PER_SECOND - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        await put(connection, token, number, committed)
    connection[1].close()


class Hand:
    """Somebody with psql, who inserts, changes and deletes favorites of all accounts in turn."""

    ACCOUNT = "account_id = (SELECT s.account_id FROM magpie.session s WHERE s.token_hash = sha256('{token}'))"
    EDITS = (
        "INSERT INTO magpie.favorite (account_id, kind, subject_id) SELECT s.account_id, 'gif', '{id}' FROM magpie.session s"
        " WHERE s.token_hash = sha256('{token}') RETURNING version;",
        "UPDATE magpie.favorite SET note = 'by hand' WHERE " + ACCOUNT + " AND kind = 'gif' AND subject_id = '{id}' RETURNING version;",
        "DELETE FROM magpie.favorite WHERE " + ACCOUNT + " AND kind = 'gif' AND subject_id = '{id}';"
        " SELECT version FROM magpie.favorite_tombstone WHERE " + ACCOUNT + " AND kind = 'gif' AND subject_id = '{id}';",
    )

    async def edit(self, tokens, begin, committed):
        psql = await asyncio.create_subprocess_exec(
            "psql", "-XqAt", "-U", "postgres", "-d", "magpie", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        for number in range(SECONDS * HAND_EDITS_PER_SECOND):
            await asyncio.sleep(max(0, begin + number / HAND_EDITS_PER_SECOND - time.monotonic()))
            token = tokens[number // len(self.EDITS) % len(tokens)]
            edit = self.EDITS[number % len(self.EDITS)].format(token=token, id=f"hand{number // len(self.EDITS)}")
            psql.stdin.write(edit.encode() + b"\n")
            await psql.stdin.drain()
            committed[token, int(await psql.stdout.readline())] = time.monotonic()
        psql.stdin.close()
        await psql.wait()


def delays(streams, committed):
    """From each commit to its arrival at each device of the account, in milliseconds."""
    times, missed = [], 0
    for stream in streams:
        for (token, version), at in committed.items():
            if token != stream.token:
                continue
            if version in stream.arrivals:
                times.append(max(0, stream.arrivals[version] - at) * 1000)
            else:
                missed += 1
    # A version that was replaced before anybody read it is told by its successor; at this rate that does not happen.
    if missed:
        raise RuntimeError(f"{missed} events did not arrive")
    return times


async def deliver(server, tokens):
    """Opens the streams, lets every account and the hand write, and answers all times from answer to arrival, in milliseconds,
    those of the hand apart, with the memory of an idle stream in bytes."""
    tokens = tokens[:ACCOUNTS]
    warm = Stream(server.port, tokens[0])
    await warm.open()
    before = server.resident_megabytes()
    streams = [Stream(server.port, tokens[index % ACCOUNTS]) for index in range(STREAMS)]
    for start in range(0, STREAMS, 50):
        await asyncio.gather(*(stream.open() for stream in streams[start:start + 50]))
    await asyncio.sleep(1.5)
    weight = (server.resident_megabytes() - before) * 1024 * 1024 / STREAMS
    listeners = [asyncio.ensure_future(stream.listen()) for stream in streams]
    committed, by_hand = {}, {}
    begin = time.monotonic() + 0.5
    await asyncio.gather(Hand().edit(tokens, begin, by_hand), *(
        write(server.port, token, begin + index / ACCOUNTS / WRITES_PER_SECOND, committed)
        for index, token in enumerate(tokens)))
    await asyncio.sleep(2)
    for listener in listeners:
        listener.cancel()
    for stream in streams + [warm]:
        stream.writer.close()
    return delays(streams, committed), delays(streams, by_hand), weight


def run(server, tokens):
    """p99 in milliseconds, median, number of deliveries; of edits by hand the slowest and how many; bytes an idle stream."""
    times, by_hand, weight = asyncio.run(deliver(server, tokens))
    cuts = statistics.quantiles(times, n=100)
    return {
        "p99_ms": cuts[98], "p50_ms": cuts[49], "deliveries": len(times),
        "hand_max_ms": max(by_hand), "hand_p50_ms": statistics.median(by_hand), "hand_deliveries": len(by_hand), "bytes": weight,
    }


class Account:
    """Requests of one account over a connection that stays."""

    def __init__(self, server, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.headers = {"Authorization": f"Bearer {token}"}

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body=body and json.dumps(body), headers=self.headers)
        response = self.connection.getresponse()
        document = response.read()
        if response.status != 200:
            raise RuntimeError(f"{path} got {response.status}: {document[:200]!r}")
        return json.loads(document)

    def fill(self, count):
        """Adds favorites; answers how long 500 take."""
        began = time.monotonic()
        for start in range(0, count, 500):
            operations = [
                {"op": "put", "kind": "gif", "id": f"sync{number}", "note": "n", "base_version": 0}
                for number in range(start, min(start + 500, count))
            ]
            version = self.ask("GET", "/v1/sync/checksum")["version"]
            self.ask("POST", "/v1/sync", {"since": version, "limit": 1, "changes": operations})
        return (time.monotonic() - began) * 500 / count

    def seconds(self, path, times=200):
        """The median of many."""
        took = []
        for _ in range(times):
            began = time.monotonic()
            self.ask("GET", path)
            took.append(time.monotonic() - began)
        return statistics.median(took)


def sizes(server, small_token, large_token):
    """What a delta of one change and a checksum cost with 10,000 favorites, compared with 100; and how long 500 puts take."""
    small, large = Account(server, small_token), Account(server, large_token)
    small.fill(100)
    push = large.fill(10_000)
    result = {"push_seconds": push}
    paths = {}
    for account in (small, large):
        account.ask("POST", "/v1/sync", {"since": 0, "limit": 1, "changes": [
            {"op": "put", "kind": "gif", "id": "sync7", "note": "changed"}]})
        version = account.ask("GET", "/v1/sync/checksum")["version"]
        paths[account] = f"/v1/sync?since={version - 1}"
        if len(account.ask("GET", paths[account])["changes"]) != 1:
            raise RuntimeError("the delta is not of one change")
    for name, path in {"delta": None, "checksum": "/v1/sync/checksum"}.items():
        ratios = []
        for _ in range(5):
            few = small.seconds(path or paths[small])
            ratios.append(large.seconds(path or paths[large]) / few)
        result[name] = statistics.median(ratios)
    return result
