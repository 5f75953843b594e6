"""GIPHY's own client as it comes from PyPI, with nothing changed but its base URL, against Magpie. It sends its key as
`api_key`, where Magpie takes the account's token."""

import os
import sys

import requests
from giphy_client import ApiClient, DefaultApi
from giphy_client.rest import ApiException

base = sys.argv[1]
token = os.environ["MAGPIE_TOKEN"]
session = requests.Session()
giphy = DefaultApi(ApiClient(host=f"{base}/v1"))


def same(found, expected):
    if found != expected:
        sys.exit(f"line {sys._getframe(1).f_lineno}: {found!r} instead of {expected!r}")


trending = giphy.gifs_trending_get(token, limit=10)
same(len(trending.data), 10)
same(trending.meta.status, 200)
first = trending.data[0]
same(first.images.original.url.startswith("https://media"), True)
same("cid=" in first.images.original.url, True)

one = giphy.gifs_gif_id_get(token, first.id)
same(one.data.id, first.id)
same({gif.id for gif in giphy.gifs_get(token, ",".join(gif.id for gif in trending.data)).data},
     {gif.id for gif in trending.data})
same(giphy.gifs_random_get(token).data.id != "", True)
same(giphy.stickers_trending_get(token, limit=5).pagination.count, 5)
same(len(giphy.stickers_search_get(token, "happy", limit=5).data), 5)

# The client's own bounds end at 100; from there on as GIPHY's documents have it, from page to page to where GIPHY ends.
offset, pages, ids = 0, 0, set()
while True:
    if offset <= 100:
        page = giphy.gifs_search_get(token, "cat", limit=50, offset=offset).to_dict()
    else:
        page = session.get(f"{base}/v1/gifs/search",
                           params={"api_key": token, "q": "cat", "limit": 50, "offset": offset}, timeout=60).json()
    if not page["data"]:
        break
    same(page["pagination"]["offset"], offset)
    offset += page["pagination"]["count"]
    pages += 1
    ids.update(gif["id"] for gif in page["data"])
same((offset, pages), (4999, 100))
# The simulator repeats every twentieth, and one more.
same(len(ids), 4999 - 4998 // 20 - 1)

for call, status in [(lambda: giphy.gifs_search_get(token, "x" * 51), 422), (lambda: giphy.gifs_gif_id_get(token, "nothing"), 404),
                     (lambda: giphy.gifs_trending_get("wrong"), 401)]:
    try:
        call()
        sys.exit("no error")
    except ApiException as error:
        same(error.status, status)

print("all well")
