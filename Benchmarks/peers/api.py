"""The same answers as Magpie's from Starlette and asyncpg: same statements, same documents, same headers.

It is written to be fast: the statement checks the token and brings the data in one round trip, and documents are spliced
as text instead of being parsed and written again. One uvicorn worker with uvloop and httptools; asyncpg's pool as it comes.
"""

import hashlib
import json
import os
import pathlib
import re
from contextlib import asynccontextmanager

import asyncpg
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

SQL = pathlib.Path(__file__).parent.parent / "sql"
FAVORITES = (SQL / "favorites.sql").read_text()
FOLLOWERS = (SQL / "followers.sql").read_text()
DOCUMENTS = (SQL / "documents.sql").read_text()
STARRED = (SQL / "starred.sql").read_text()
PHOTOS = (SQL / "photos.sql").read_text()
PHOTO_DOCUMENTS = (SQL / "photo_documents.sql").read_text()
PUBLIC = os.environ["PEER_PUBLIC_URL"]
UPSTREAM = '"https://api.github.com/'
MIRROR = f'"{PUBLIC}/github/'
MAGPIE = '{"favorite":true,"tags":%s}'

pool: asyncpg.Pool


@asynccontextmanager
async def lifespan(_app):
    global pool
    pool = await asyncpg.create_pool(min_size=4, max_size=4, server_settings={"role": "magpie_app"})
    yield
    await pool.close()


def token_hash(request):
    return hashlib.sha256(request.headers["authorization"][7:].encode()).digest()


def answer(request, text, **headers):
    body = text.encode()
    tag = '"' + hashlib.blake2b(body, digest_size=16).hexdigest() + '"'
    headers = {"etag": tag, "cache-control": "private, no-cache", **headers}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


async def favorites(request):
    limit = int(request.query_params.get("limit", "50"))
    async with pool.acquire() as connection:
        rows = await connection.fetch(FAVORITES, token_hash(request), limit + 1)
    if not rows:
        return Response(status_code=401)
    documents = [row["document"] for row in rows[:limit] if row["document"]]
    following = json.dumps(json.loads(documents[-1])["added_at"]) if len(rows) > limit else "null"
    return answer(request, '{"items":[' + ",".join(documents) + '],"next":' + following + "}")


remembered = {}


async def items(connection, walk, keys, first, end):
    """The documents of a page with their addresses turned, remembered by their digests, as Magpie does."""
    try:
        return [remembered[key] for key in keys]
    except KeyError:
        for row in await connection.fetch(DOCUMENTS, walk, first, end):
            document = row["document"].replace(UPSTREAM, MIRROR)[:-1] + ',"magpie":'
            remembered[row["id"], row["digest"]] = document
        return [remembered[key] for key in keys]


known_parts = {}


def members(rows, name):
    """Ids and digests of a page of ours, remembered by the digests of the upstream's pages, as Magpie does."""
    known = known_parts.get(name, {})
    pieces = {}
    for row in sorted(rows, key=lambda row: row["first"]):
        piece = known.get(row["digest"])
        pieces[row["digest"]] = list(zip(row["ids"], row["digests"])) if piece is None else piece
    known_parts[name] = pieces
    return [key for piece in pieces.values() for key in piece]


starred = {}


async def starred_people(connection, token, account, version):
    """Whom the account has starred, remembered by the version of its favorites, as Magpie does."""
    known = starred.get(account)
    if known is None or known[0] != version:
        async with connection.transaction():
            await connection.fetchval("SELECT magpie.authenticate($1)", token)
            rows = await connection.fetch(STARRED)
        tags = {row["id"]: MAGPIE % json.dumps(row["tags"]) for row in rows if row["id"] is not None}
        known = starred[account] = (rows[0]["version"], tags)
    return known[1]


async def followers(request):
    login = request.path_params["login"].lower()
    page = int(request.query_params.get("page", "1"))
    size = int(request.query_params.get("per_page", "30"))
    first = (page - 1) * size
    token = token_hash(request)
    async with pool.acquire() as connection:
        name = (login, first, size)
        known = list(known_parts.get(name, ()))
        rows = await connection.fetch(FOLLOWERS, token, login, "followers", first, first + size, known)
        if not rows:
            return Response(status_code=401)
        head = rows[0]
        keys = members(rows, name)
        documents = await items(connection, head["walk_id"], keys, first, first + size)
        people = await starred_people(connection, token, head["account_id"], head["version"])
    plain = '{"favorite":false,"tags":[]}'
    parts = [document + people.get(key[0], plain) + "}" for key, document in zip(keys, documents)]
    url = f"{PUBLIC}/github/users/{login}/followers?per_page={size}&page="
    return answer(
        request, "[" + ",".join(parts) + "]", link=f'<{url}{page + 1}>; rel="next"', age=str(int(head["age"])),
        **{"cache-status": "magpie; hit", "magpie-coverage": f"{head['members']}/{head['expected']}"})


PLACEHOLDER = re.compile(r"https://via\.placeholder\.com/([0-9]+)/([0-9a-f]+)")
edition = (0, b"", "")


async def photos(request):
    """All of them: read and put together for each request, or with `?remember` remembered by their generation, as Magpie does."""
    global edition
    async with pool.acquire() as connection:
        head = await connection.fetchrow(PHOTOS)
        if edition[0] != head["generation"] or "remember" not in request.query_params:
            rows = await connection.fetch(PHOTO_DOCUMENTS)
            place = rf"{PUBLIC}/images/placeholder/\1/\2.png"
            text = "[" + ",\n".join(row["document"] for row in rows) + "]"
            body = PLACEHOLDER.sub(place, text).encode()
            edition = (head["generation"], body, '"' + hashlib.sha256(body).hexdigest()[:32] + '"')
    headers = {
        "etag": edition[2], "cache-control": "public, no-cache", "cache-status": "magpie; hit", "age": str(int(head["age"])),
        "magpie-fetched-at": head["fetched_at"].isoformat(), "magpie-validated-at": head["validated_at"].isoformat(),
    }
    if request.headers.get("if-none-match") == edition[2]:
        return Response(status_code=304, headers=headers)
    return Response(edition[1], media_type="application/json", headers=headers)


app = Starlette(
    routes=[
        Route("/v1/favorites", favorites),
        Route("/github/users/{login}/followers", followers),
        Route("/jsonplaceholder/photos", photos),
    ],
    lifespan=lifespan,
)
