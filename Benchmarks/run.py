#!/usr/bin/env python3
"""Compares Magpie with its peers and prints the ratios. Run by `make bench`, beside an empty PostgreSQL (.ci/with-postgres).

Rounds are interleaved: in each, every contender of every group has its turn, in an order that alternates; a ratio is taken
within a round, and the median of the rounds counts. So a slow minute of the machine hits all contenders alike.
"""

import argparse
import collections
import hashlib
import pathlib
import sys
import tempfile
import time

from harness import contenders, data, lists, load, process, queue, refresh, report, storm, stream

BENCHMARKS = pathlib.Path(__file__).parent.resolve()
IDLE_CONNECTIONS = 10_000
GROUPS = [
    "hello", "favorites", "favorites-size", "followers", "photos", "queue", "refresh", "lists", "start", "idle", "storm",
    "stream", "sync-size",
]


def arguments():
    parser = argparse.ArgumentParser(description="Benchmarks of Magpie with its peers, as ratios.")
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="directory of the release build")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each comparison (default 5)")
    parser.add_argument("--seconds", type=int, default=3, help="seconds of load a turn (default 3)")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=GROUPS, help="groups to run (default all)")
    return parser.parse_args()


class Run:
    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.binary = str((options.bin / "magpie").resolve())
        self.bars = []
        self.measured = collections.defaultdict(list)
        self.tokens, sized = data.prepare(self.binary, BENCHMARKS)
        self.requests = data.write_requests(directory, self.tokens, sized)

    def bar(self, *values, **named):
        self.bars.append(report.Bar(*values, **named))
        return self.bars[-1]

    def wants(self, group):
        return group in self.options.only

    def compare(self):
        """The interleaved rounds of all groups that put load on servers which stay up."""
        with contenders.magpie(self.binary, self.directory) as magpie, \
                contenders.starlette(BENCHMARKS, self.directory) as starlette, \
                contenders.nginx(BENCHMARKS, self.directory, magpie.get(contenders.HELLO)[1].decode()) as nginx:
            groups = self.groups(magpie, starlette, nginx)
            for turns, _ in groups.values():
                for turn in turns.values():
                    turn(1)  # warms caches, pools and prepared statements
            for number in range(self.options.rounds):
                print(f"round {number + 1} of {self.options.rounds}", file=sys.stderr)
                for group, (turns, judge) in groups.items():
                    names = list(turns) if number % 2 == 0 else list(reversed(turns))
                    results = {name: turns[name](self.options.seconds) for name in names}
                    for name in turns:
                        self.measured[group, name].append(results[name])
                    judge(results)
            if groups:
                bar = self.bar("resident after the load", 60, "MB", at_most=True)
                bar.add(magpie.resident_megabytes())

    def groups(self, magpie, starlette, nginx):
        groups = {}
        if self.wants("hello"):
            groups["hello"] = self.hello(magpie, nginx)
        if self.wants("favorites"):
            data.require_same_answers(magpie, starlette, self.requests["favorites"], 20)
            groups["favorites"] = self.favorites(magpie, starlette)
        if self.wants("favorites-size"):
            groups["favorites-size"] = self.favorites_size(magpie)
        if self.wants("followers"):
            data.require_same_answers(magpie, starlette, self.requests["followers"], 100)
            groups["followers"] = self.followers(magpie, starlette)
        if self.wants("photos"):
            before = magpie.resident_megabytes()
            data.require_same_answers(magpie, starlette, self.requests["photos"], 5000)
            self.bar("memory that 5,000 photos take", 4, "MB", at_most=True).add(magpie.resident_megabytes() - before)
            groups["photos"] = self.photos(magpie, starlette)
        return groups

    def hello(self, magpie, nginx):
        requests = self.directory / "hello.requests"
        requests.write_text(f"{contenders.HELLO}\t\n")
        bar = self.bar("hello: req/s of nginx, one worker", 0.85)
        turns = {
            "magpie": lambda seconds: load.wrk(magpie, requests, seconds),
            "nginx": lambda seconds: load.wrk(nginx, requests, seconds),
        }
        return turns, lambda results: bar.add(ratio(results, "magpie", "nginx"))

    def favorites(self, magpie, starlette):
        requests = self.requests["favorites"]
        statement = (BENCHMARKS / "sql" / "favorites.sql").read_text()
        scripts = [
            load.pgbench_script(
                statement, [f"'\\x{hashlib.sha256(token.encode()).hexdigest()}'::bytea", "21"],
                self.directory / f"favorites-{index}.pgbench")
            for index, token in enumerate(self.tokens[:32])
        ]
        speed = self.bar("favorites: req/s of Starlette", 3.5)
        tail = self.bar("favorites: p99 of Starlette", 1 / 3, at_most=True)
        bare = self.bar("favorites: statements/s of pgbench, 8 clients", 0.75)
        turns = {
            "magpie": lambda seconds: load.wrk(magpie, requests, seconds),
            "starlette": lambda seconds: load.wrk(starlette, requests, seconds),
            "pgbench": lambda seconds: load.pgbench(scripts, seconds),
        }

        def judge(results):
            speed.add(ratio(results, "magpie", "starlette"))
            tail.add(ratio(results, "magpie", "starlette", "p99_ms"))
            bare.add(ratio(results, "magpie", "pgbench"))

        return turns, judge

    def favorites_size(self, magpie):
        """What it costs to have many favorites: on a page of them, and on a list that says which of its people are among them."""
        small, large = data.SIZES
        page = self.bar(f"favorites page with {large:,} of them: time of one with {small}", 1.5, at_most=True)
        beside = self.bar(f"followers page beside {large:,} favorites: req/s of one beside {small}", 0.85)
        turns = {
            f"{name} {size}": lambda seconds, name=name, size=size: load.wrk(
                magpie, self.requests[f"{name} {size}"], seconds)
            for name in ("favorites of", "followers beside") for size in data.SIZES
        }

        def judge(results):
            page.add(ratio(results, f"favorites of {small}", f"favorites of {large}"))
            beside.add(ratio(results, f"followers beside {large}", f"followers beside {small}"))

        return turns, judge

    def followers(self, magpie, starlette):
        requests = self.requests["followers"]
        bar = self.bar("followers page of 100: req/s of Starlette", 4.0)
        turns = {
            "magpie": lambda seconds: load.wrk(magpie, requests, seconds),
            "starlette": lambda seconds: load.wrk(starlette, requests, seconds),
        }
        return turns, lambda results: bar.add(ratio(results, "magpie", "starlette"))

    def photos(self, magpie, starlette):
        requests = self.requests["photos"]
        bar = self.bar("all 5,000 photos: req/s of Starlette", 3.0)

        def fresh(seconds):
            result = load.wrk(starlette, requests, seconds)
            starlette.wait_until_idle()  # requests that nobody waits for any more would be in the next turn's way
            return result

        beside = self.bar("all 5,000 photos: req/s of Starlette that remembers the ready bytes", 1.2)
        turns = {
            "magpie": lambda seconds: load.wrk(magpie, requests, seconds),
            "starlette": fresh,
            "remembering": lambda seconds: load.wrk(starlette, self.requests["photos remembered"], seconds),
        }

        def judge(results):
            bar.add(ratio(results, "magpie", "starlette"))
            beside.add(ratio(results, "magpie", "remembering"))

        return turns, judge

    def queue(self):
        """Claim and complete of empty jobs, one by one and 50 at once."""
        worker = str((self.options.bin / "queue-benchmark").resolve())
        for at_once in (1, 50):
            many = "one by one" if at_once == 1 else f"{at_once} at once"
            bar = self.bar(f"empty jobs {many}: jobs/s of pgbench", 0.7)
            turns = {
                "magpie": lambda: queue.worker(worker, at_once),
                "pgbench": lambda: queue.pgbench(BENCHMARKS, self.directory, at_once),
            }
            self.alternate(f"queue-{at_once}", turns, lambda results: bar.add(ratio(results, "magpie", "pgbench")))

    def refresh(self):
        """A first walk through a list of 10,000 and the storing of its members."""
        bar = self.bar(f"refresh of {refresh.MEMBERS:,} followers: rows/s of COPY", 0.25)
        (self.directory).chmod(0o755)  # COPY reads the files as another user
        with refresh.worker(self.options.bin.resolve(), self.directory, self.options.rounds) as magpie:
            refresh.walk(self.options.rounds)  # warms up
            for number in range(self.options.rounds):
                results = {"magpie": refresh.walk(number), "copy": refresh.copy(number, self.directory)}
                for name, result in results.items():
                    self.measured["refresh", name].append(result)
                bar.add(ratio(results, "magpie", "copy"))
            self.bar("worker resident after that", 80, "MB", at_most=True).add(magpie.resident_megabytes())

    def lists(self):
        """How much longer a page takes in a list of 300,000 than in one of 300."""
        lists.prepare(BENCHMARKS)
        files = lists.requests(self.directory, self.tokens)
        with contenders.magpie(self.binary, self.directory, "lists") as magpie:
            for page in lists.PAGES:
                turns = {
                    login: lambda seconds=self.options.seconds, login=login: load.wrk(magpie, files[page, login], seconds)
                    for login in lists.SIZES
                }
                for turn in turns.values():
                    turn(1)
                bar = self.bar(f"{page}: time of 300,000 to 300", 1.5, at_most=True)
                self.alternate(page, turns, lambda results: bar.add(ratio(results, "short", "long")))

    def alternate(self, group, turns, judge):
        """Rounds of turns without a warm-up: each turn prepares its own data."""
        for number in range(self.options.rounds):
            print(f"{group}: round {number + 1} of {self.options.rounds}", file=sys.stderr)
            names = list(turns) if number % 2 == 0 else list(reversed(turns))
            results = {name: turns[name]() for name in names}
            for name in turns:
                self.measured[group, name].append(results[name])
            judge(results)

    def start(self):
        """From exec to the first 200, with the database up and migrated."""
        bar = self.bar("start to first answer", 150, "ms", at_most=True)
        for number in range(self.options.rounds):
            server = contenders.magpie(self.binary, self.directory, f"start-{number}")
            began = time.monotonic()
            try:
                server.start()
                server.wait_until_ready(pause=0.001)
                bar.add((time.monotonic() - began) * 1000)
            finally:
                server.stop()

    def idle(self):
        bar = self.bar(f"resident with {IDLE_CONNECTIONS:,} idle connections", 40, "MB", at_most=True)
        process.allow_many_descriptors()
        with contenders.magpie(self.binary, self.directory, "idle") as magpie:
            idle = load.IdleConnections(magpie, IDLE_CONNECTIONS, contenders.HELLO)
            bar.add(magpie.resident_megabytes())
            idle.still_alive()
            idle.close()

    def storm(self):
        """200 wrong passwords a second for one name: others read on, and the owner gets in."""
        tail = self.bar("sign-in storm: p99 of other reads, of the same without", 2, at_most=True)
        entry = self.bar("sign-in storm: the owner is in after", 5_000, "ms", at_most=True)
        refused = self.bar("sign-in storm: attempts that were looked at", 0.1, at_most=True)
        more = {"MAGPIE_SIGNUP": "open", "MAGPIE_TRUSTED_PROXIES": "127.0.0.1"}
        with contenders.magpie(self.binary, self.directory, "storm", more) as magpie:
            storm.sign_up(magpie)
            seconds = max(5, self.options.seconds)
            storm.probe(magpie, data.FAVORITES, self.tokens[0], 1)  # warms up
            for number in range(self.options.rounds):
                print(f"storm: round {number + 1} of {self.options.rounds}", file=sys.stderr)
                calm = storm.probe(magpie, data.FAVORITES, self.tokens[0], seconds)
                with storm.Storm(magpie, number, seconds + 1) as attacker:
                    time.sleep(0.5)
                    shaken = storm.probe(magpie, data.FAVORITES, self.tokens[0], seconds)
                    entry.add(storm.sign_in(magpie) * 1000)
                self.measured["storm", "calm"].append(calm)
                self.measured["storm", "shaken"].append(shaken)
                tail.add(shaken["p99_ms"] / calm["p99_ms"])
                refused.add(attacker.counts.get("401", 0) / sum(attacker.counts.values()))
            self.bar("resident after the storm", 96, "MB", at_most=True).add(magpie.resident_megabytes())


    def stream(self):
        """1,000 streams of 50 accounts that all write."""
        process.allow_many_descriptors()
        late = self.bar(f"{stream.STREAMS:,} streams: commit to delivery, p99", 500, "ms", at_most=True)
        by_hand = self.bar("an edit in psql meanwhile: commit to the last device", 1_000, "ms", at_most=True)
        weight = self.bar("resident for an idle stream", 8, "KB", at_most=True)
        with contenders.magpie(self.binary, self.directory, "stream") as magpie:
            result = stream.run(magpie, self.tokens)
            late.add(result["p99_ms"])
            by_hand.add(result["hand_max_ms"])
            weight.add(result["bytes"] / 1024)
            print(f"stream: {result}", file=sys.stderr)

    def sync_size(self):
        """What much costs compared with little."""
        delta = self.bar("delta of 1 change: 10,000 favorites compared with 100", 1.5, at_most=True)
        checksum = self.bar("checksum: 10,000 favorites compared with 100", 4.0, at_most=True)
        with contenders.magpie(self.binary, self.directory, "sync-size") as magpie:
            result = stream.sizes(magpie, self.tokens[-1], self.tokens[-2])
            delta.add(result["delta"])
            checksum.add(result["checksum"])
            print(f"sync-size: {result}", file=sys.stderr)


def ratio(results, left, right, key="per_second"):
    return results[left][key] / results[right][key]


def main():
    options = arguments()
    facts = report.machine()
    with tempfile.TemporaryDirectory(prefix="magpie-bench.") as directory:
        run = Run(options, pathlib.Path(directory))
        if set(options.only) & {"hello", "favorites", "favorites-size", "followers", "photos"}:
            run.compare()
        if run.wants("queue"):
            run.queue()
        if run.wants("refresh"):
            run.refresh()
        if run.wants("lists"):
            run.lists()
        if run.wants("start"):
            run.start()
        if run.wants("idle"):
            run.idle()
        if run.wants("stream"):
            run.stream()
        if run.wants("sync-size"):
            run.sync_size()
        if run.wants("storm"):
            run.storm()
    settings = {"rounds": options.rounds, "seconds": options.seconds, "connections": load.CONNECTIONS}
    report.write(BENCHMARKS / "out" / "latest.json", facts, settings, run.bars, run.measured)
    print(f"\n{facts['cpu']}, {facts['cores']} cores; {facts['system']}; PostgreSQL {facts['postgres']}\n")
    if run.measured:
        print(report.figures(run.measured) + "\n")
    print(report.table(run.bars))
    return 0 if all(bar.kept for bar in run.bars) else 1


if __name__ == "__main__":
    sys.exit(main())
