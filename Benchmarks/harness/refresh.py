"""Refreshing a follower list of 10,000 for the first time, beside one COPY of the same rows into tables with the same indexes."""

import contextlib
import re

from . import process
from .queue import psql

MEMBERS = 10_000
# What a first walk fills, a row a member.
TABLES = ["github_user", "follow_edge"]


@contextlib.contextmanager
def worker(bin_directory, directory, rounds):
    """A worker and a simulator with one owner of a long list for each round. Yields the worker's process."""
    port = process.free_port()
    users = [f"--user=bulk-{number}:{MEMBERS}" for number in range(rounds + 1)]
    command = [str(bin_directory / "upstream-simulator"), "--listen", f"127.0.0.1:{port}", "--limit", "1000000"]
    for user in users:
        command += user.split("=", 1)
    simulator = process.Server("simulator", command, port, "/rate_limit", directory / "simulator.log")
    admin = process.free_port()
    magpie = process.Server(
        "worker", [str(bin_directory / "magpie"), "work"], admin, "/readyz", directory / "worker.log",
        {"MAGPIE_ADMIN_LISTEN": f"127.0.0.1:{admin}", "MAGPIE_GITHUB_URL": f"http://127.0.0.1:{port}",
         "MAGPIE_GITHUB_TOKENS": "bench", "MAGPIE_LOG_LEVEL": "warning"})
    with simulator, magpie:
        yield magpie


def walk(number):
    """Rows a second from asking for the refresh until readers have the whole list."""
    wait = (
        "do $$ begin for n in 1..24000 loop "
        f"exit when exists (select from magpie.job_done where kind = 'github-followers' and subject = 'bulk-{number}'); "
        "perform pg_sleep(0.005); end loop; end $$")
    answer = psql("\\timing on", f"select admin.refresh('github-followers:bulk-{number}', 'interactive')", wait)
    state = psql(f"select state from magpie.job_done where kind = 'github-followers' and subject = 'bulk-{number}'")
    if state != "completed":
        raise RuntimeError(f"the refresh of bulk-{number} is {state or 'not finished'}")
    return {"per_second": MEMBERS / milliseconds(answer) * 1000}


def milliseconds(answer):
    """What psql has measured, without its own start."""
    return sum(float(time) for time in re.findall(r"Time: ([\d.]+) ms", answer))


def copy(number, directory):
    """The same rows, written to files before, into empty copies of the tables."""
    edges = (
        "select e.* from magpie.follow_edge e join magpie.listing l on l.id = e.listing_id "
        f"join magpie.github_user o on o.id = l.owner_id where o.login = 'bulk-{number}'")
    rows = {
        "github_user": f"select u.* from magpie.github_user u join ({edges}) e on e.member_id = u.id",
        "follow_edge": edges,
    }
    seconds = 0.0
    for table in TABLES:
        file = directory / f"{table}.copy"
        psql(f"set client_min_messages = warning; drop table if exists copied; create table copied (like magpie.{table} including all)")
        file.write_text(psql(f"copy ({rows[table]}) to stdout") + "\n")
        count = len(file.read_text().splitlines())
        if count != MEMBERS:
            raise RuntimeError(f"{count} rows of {table}")
        file.chmod(0o644)
        seconds += milliseconds(psql("\\timing on", f"copy copied from '{file}'")) / 1000
    psql("drop table copied")
    return {"per_second": MEMBERS / seconds}
