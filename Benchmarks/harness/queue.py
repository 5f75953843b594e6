"""Claiming and completing empty jobs: Magpie's worker, and the same two statements from pgbench."""

import os
import pathlib
import re
import subprocess

from . import load

# Jobs a turn, by how many are claimed at once.
JOBS = {1: 4_000, 50: 20_000}


def psql(*commands):
    return subprocess.run(
        ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", "magpie"]
        + [word for command in commands for word in ("-c", command)],
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout.strip()


def fill(count):
    """An empty history and a queue of that many jobs, all of them urgent: a worker keeps slots for those."""
    psql("truncate magpie.job, magpie.job_done")
    psql(f"insert into magpie.job (kind, priority) select 'empty', 0 from generate_series(1, {count})")
    psql("vacuum analyze magpie.job")
    psql("checkpoint")


def require_all_done(count):
    done = int(psql("select count(*) from magpie.job_done where state = 'completed'"))
    if done != count:
        raise RuntimeError(f"{done} of {count} jobs are in the history")


def worker(binary, at_once):
    count = JOBS[at_once]
    fill(count)
    output = subprocess.run([binary, str(at_once), str(count)], check=True, stdout=subprocess.PIPE, text=True).stdout
    require_all_done(count)
    return {"per_second": count / float(output)}


def pgbench(benchmarks, directory, at_once):
    """One client, as the worker claims from one place."""
    count = JOBS[at_once]
    fill(count)
    claim, complete = ((benchmarks / "sql" / name).read_text() for name in ("claim.sql", "complete.sql"))
    script = load.pgbench_script(claim, [str(at_once)], directory / f"queue-{at_once}.pgbench")
    second = load.pgbench_script(complete, ["(:ids)", "(:tokens)"], directory / "complete.pgbench")
    script.write_text(script.read_text().rstrip(";\n") + " \\gset\n" + second.read_text())
    output = subprocess.run(
        [load.pgbench_binary(), "-n", "-M", "prepared", "-c", "1", "-t", str(count // at_once), "-f", str(script)],
        check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PGUSER": "magpie", "PGDATABASE": "magpie", "PGOPTIONS": "-c role=magpie_worker"},
    ).stdout
    require_all_done(count)
    return {"per_second": float(re.search(r"tps = ([\d.]+)", output)[1]) * at_once}
