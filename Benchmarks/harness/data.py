"""The database of a run: the schema by `magpie migrate`, the rows by sql/seed.sql, the requests that ask for them."""

import json
import random
import subprocess

OWNERS = range(100001, 100051)
PAGES = range(1, 10)  # of ten: the last one has no `next`, which the peer does not bother to find out


def prepare(binary, benchmarks):
    """The tokens of the accounts with 20 favorites each, and those of the one with 100 and the one with 10,000."""
    subprocess.run([binary, "migrate"], check=True)
    seed = subprocess.run(
        ["psql", "-XqAt", "-U", "postgres", "-d", "magpie", "-f", str(benchmarks / "sql" / "seed.sql")],
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout.split()
    tokens = [word for word in seed if word.startswith("mgp_")]
    return tokens[:-2], tokens[-2:]


def write_requests(directory, tokens, sized):
    """A file of requests for each path of interest, in an order that is the same in every run."""
    shuffle = random.Random(7)
    favorites = [(FAVORITES, token) for token in tokens]
    followers = [(followers_path(owner, page), shuffle.choice(tokens)) for owner in OWNERS for page in PAGES]
    shuffle.shuffle(favorites)
    shuffle.shuffle(followers)
    files = {}
    lists = {"favorites": favorites, "followers": followers, "photos": [(PHOTOS, "")], "photos remembered": [(PHOTOS + "?remember", "")]}
    for size, token in zip(SIZES, sized):
        lists[f"favorites of {size}"] = [(FAVORITES, token)]
        lists[f"followers beside {size}"] = [(followers_path(owner, 5), token) for owner in OWNERS]
    for name, requests in lists.items():
        files[name] = directory / f"{name}.requests"
        files[name].write_text("".join(f"{path}\t{token}\n" for path, token in requests))
    return files


SIZES = (100, 10_000)
FAVORITES = "/v1/favorites?limit=20"
PHOTOS = "/jsonplaceholder/photos"


def followers_path(owner, page):
    return f"/github/users/bench-{owner}/followers?per_page=100&page={page}"


def require_same_answers(left, right, requests, count):
    """Both servers must do the same work, or a ratio between them says nothing. Addresses of their own may differ."""
    for line in requests.read_text().splitlines()[:20]:
        path, token = line.split("\t")
        credentials = {"Authorization": f"Bearer {token}"} if token else {}
        answers = []
        for server in (left, right):
            status, body = server.get(path, credentials)
            if status != 200:
                raise RuntimeError(f"{server.name} answers {path} with {status}: {body[:200]!r}")
            document = json.loads(body.replace(f"127.0.0.1:{server.port}".encode(), b"SERVER"))
            items = document["items"] if isinstance(document, dict) else document
            if len(items) != count:
                raise RuntimeError(f"{server.name} answers {path} with {len(items)} items instead of {count}")
            answers.append(items)
        for first, second in zip(*answers):
            if first != second:
                raise RuntimeError(f"{path}: {left.name} has\n{first}\nand {right.name} has\n{second}")
