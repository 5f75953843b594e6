"""PyGithub as it comes from PyPI, with nothing changed but its base URL, against Magpie.

use_pygithub.py BASE_URL FOLLOWERS FOLLOWING, with the token in MAGPIE_TOKEN. The simulated GitHub behind Magpie has
octocat with so many followers and people followed. Ends with 0 and "all well" when everything was as it should be.
"""

import os
import sys

from github import Auth, Github, GithubException, UnknownObjectException

base, followers, following = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
github = Github(auth=Auth.Token(os.environ["MAGPIE_TOKEN"]), base_url=base, per_page=100, retry=None, timeout=60)


def same(found, expected):
    if found != expected:
        sys.exit(f"line {sys._getframe(1).f_lineno}: {found!r} instead of {expected!r}")


# A person, by login in any case and by id.
octocat = github.get_user("OctoCat")
same((octocat.login, octocat.id, octocat.type), ("octocat", 583231, "User"))
same((octocat.followers, octocat.following), (followers, following))
same(octocat.url, f"{base}/users/octocat")
same(github.get_user_by_id(583231).login, "octocat")

# Lists of thousands, page by page as PyGithub follows them.
people = list(octocat.get_followers())
same(len(people), followers)
same(len({person.id for person in people}), followers)
same(octocat.get_followers().totalCount, followers)
same(len(list(octocat.get_following())), following)
same([person.id for person in octocat.get_followers()[:5]], [person.id for person in people[:5]])
same([person.id for person in octocat.get_followers().reversed][:3], [person.id for person in people[::-1]][:3])

# What a list does not show is looked up at the address it gives, which leads to Magpie.
last = people[-1]
same(last.url.startswith(f"{base}/users/"), True)
same(last.created_at.year > 2000, True)

# Searches: all pages, and the end at a thousand.
found = github.search_users("octo")
same([person.login for person in found], ["octocat", "octopus"])
same(found.totalCount, 2)
many = github.search_users("a", sort="followers", order="desc")
same(many.totalCount, 1000)
same(len({person.id for person in many}), 1000)
try:
    github.search_users("user:nobody-of-this-name").totalCount
    sys.exit("a search that cannot be was answered")
except GithubException as error:
    same((error.status, error.data["message"]), (422, "Validation Failed"))
    same(error.data["errors"][0]["code"], "invalid")

# Repositories: the list, one of them, its languages and commits, and a search for it.
repos = list(github.get_user("builder").get_repos())
same(len(repos) > 0, True)
repo = repos[0]
same(repo.url, f"{base}/repos/builder/{repo.name}")
again = github.get_repo(f"builder/{repo.name}")
same((again.id, again.owner.login), (repo.id, "builder"))
# PyGithub itself adds the address it has asked.
languages = {name: count for name, count in again.get_languages().items() if name != "url"}
same(all(isinstance(count, int) for count in languages.values()), True)
same(repo.id in [result.id for result in github.search_repositories(repo.name)], True)
for repo in repos:
    try:
        commits = list(repo.get_commits()[:5])
    except GithubException as error:
        same(error.status in (403, 409, 451), True)
        continue
    same(all(len(commit.sha) == 40 and commit.commit.message is not None for commit in commits), True)
    break

# What is left, and who is not there.
limits = github.get_rate_limit()
same((limits.resources.core.limit, limits.resources.search.limit), (5000, 30))
same(0 < limits.rate.remaining < 5000, True)
same(limits.resources.search.used > 0, True)
for missing in ["nobody-of-this-name", "no such login"]:
    try:
        github.get_user(missing).id
        sys.exit(f"{missing} was found")
    except UnknownObjectException as error:
        same((error.status, error.data["message"]), (404, "Not Found"))

print("all well")
