"""Medians, the table, and the machine it was made on."""

import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess


class Bar:
    """A promise: the value of a row must not be below (or above) a limit."""

    def __init__(self, row, limit, unit="×", at_most=False):
        self.row, self.limit, self.unit, self.at_most = row, limit, unit, at_most
        self.values = []

    def add(self, value):
        self.values.append(value)

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def kept(self):
        return self.median <= self.limit if self.at_most else self.median >= self.limit

    def as_json(self):
        return {
            "row": self.row, "median": round(self.median, 3), "limit": round(self.limit, 3), "unit": self.unit,
            "kept": self.kept, "rounds": [round(value, 3) for value in self.values],
        }


def machine():
    def output(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True).stdout.strip().splitlines()[0]
        except (OSError, IndexError):
            return "unknown"

    models = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.platform(),
        "postgres": output("psql", "-XqAt", "-U", "postgres", "-d", "magpie", "-c", "show server_version"),
        "nginx": subprocess.run(["/usr/sbin/nginx", "-v"], capture_output=True, text=True).stderr.strip().split("/")[-1],
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
    }


def table(bars):
    width = max(len(bar.row) for bar in bars)
    lines = [f"{'':{width}}  median       bar          rounds"]
    for bar in bars:
        sign = "≤" if bar.at_most else "≥"
        rounds = " ".join(f"{value:.2f}" if value < 100 else f"{value:.0f}" for value in bar.values)
        verdict = "ok  " if bar.kept else "MISS"
        lines.append(
            f"{bar.row:{width}}  {number(bar.median, bar.unit):<9} {verdict} {sign} {number(bar.limit, bar.unit):<9} {rounds}")
    return "\n".join(lines)


def number(value, unit):
    if unit == "×":
        return f"{value:.2f}×"
    return f"{value:.1f} {unit}"


def figures(measured):
    """Medians of what was measured, a line a contender."""
    lines = [f"{'':24}{'req/s':>10}{'p50 ms':>9}{'p99 ms':>9}{'CPU µs':>9}"]
    for (group, name), rounds in measured.items():
        def median(key):
            values = [one[key] for one in rounds if key in one]
            return statistics.median(values) if values else None

        cells = [f"{group} {name}".ljust(24), f"{median('per_second'):10,.0f}"]
        for key in ("p50_ms", "p99_ms", "cpu_us"):
            cells.append(f"{'':9}" if median(key) is None else f"{median(key):9.2f}")
        lines.append("".join(cells))
    return "\n".join(lines)


def write(path, machine_facts, settings, bars, measured):
    path.parent.mkdir(exist_ok=True)
    document = {
        "at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine_facts,
        "settings": settings,
        "bars": [bar.as_json() for bar in bars],
        "measured": {f"{group} {name}": rounds for (group, name), rounds in measured.items()},
    }
    pathlib.Path(path).write_text(json.dumps(document, indent=2) + "\n")
