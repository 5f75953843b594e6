"""Magpie and its peers, each on a port of its own against the same database."""

import os
import sys

from .process import Server, free_port

# What hello is compared on: Magpie's cheapest public route.
HELLO = "/v1/version"


def magpie(binary, directory, name="magpie", more=None):
    """One event loop, as the peers have one worker; everything else as it comes. Stored data never gets stale meanwhile."""
    port, admin = free_port(), free_port()
    return Server(
        name, [binary, "serve", "--no-worker"], port, HELLO, directory / f"{name}.log",
        {
            "MAGPIE_LISTEN": f"127.0.0.1:{port}",
            "MAGPIE_ADMIN_LISTEN": f"127.0.0.1:{admin}",
            "MAGPIE_LOOPS": "1",
            "MAGPIE_LOG_LEVEL": "warning",
            "MAGPIE_TTL_PROFILE": "86400",
            "MAGPIE_TTL_LIST": "86400",
            "MAGPIE_TTL_PHOTOS": "86400",
            **(more or {}),
        },
    )


def starlette(benchmarks, directory):
    port = free_port()
    return Server(
        "starlette",
        [sys.executable, "-m", "uvicorn", "api:app", "--app-dir", str(benchmarks / "peers"), "--port", str(port),
         "--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning"],
        port, "/", directory / "starlette.log",
        {"PEER_PUBLIC_URL": f"http://127.0.0.1:{port}", "PGUSER": "magpie", "PGDATABASE": "magpie"},
    )


def nginx(benchmarks, directory, body):
    port = free_port()
    text = (benchmarks / "peers" / "nginx.conf").read_text()
    for name, value in {"DIRECTORY": str(directory), "PORT": str(port), "BODY": body}.items():
        text = text.replace(name, value)
    config = directory / "nginx.conf"
    config.write_text(text)
    binary = next((path for path in ("/usr/sbin/nginx", "/usr/local/sbin/nginx") if os.path.exists(path)), "nginx")
    command = [binary, "-c", str(config), "-e", str(directory / "nginx.log")]
    return Server("nginx", command, port, "/", directory / "nginx.start.log")
