"""github3.py as it comes from PyPI, with nothing changed but its base URL, against Magpie. See use_pygithub.py."""

import os
import sys

import github3
from github3.session import GitHubSession

base, followers, following = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
session = GitHubSession()
session.base_url = base
session.token_auth(os.environ["MAGPIE_TOKEN"])
github = github3.GitHub(session=session)


def same(found, expected):
    if found != expected:
        sys.exit(f"line {sys._getframe(1).f_lineno}: {found!r} instead of {expected!r}")


octocat = github.user("octocat")
same((octocat.login, octocat.id), ("octocat", 583231))
same((octocat.followers_count, octocat.following_count), (followers, following))
people = [person.id for person in octocat.followers()]
same(len(people), followers)
same(len(set(people)), followers)
same(len(list(github.followed_by("octocat"))), following)
same([result.user.login for result in github.search_users("octo")], ["octocat", "octopus"])

# Repositories: the list, one of them, its languages and commits, and a search for it.
repos = list(github.repositories_by("builder"))
same(len(repos) > 0, True)
repo = github.repository("builder", repos[0].name)
same((repo.id, repo.full_name, repo.archived), (repos[0].id, f"builder/{repos[0].name}", False))
same(all(isinstance(count, int) for name, count in repo.languages() if name not in ("ETag", "Last-Modified")), True)
same(repo.id in [result.repository.id for result in github.search_repositories(repo.name)], True)
for repo in repos:
    try:
        commits = list(repo.commits(number=5))
    except github3.exceptions.GitHubError as error:
        same(error.code in (403, 409, 451), True)
        continue
    same(all(len(commit.sha) == 40 and commit.message is not None for commit in commits), True)
    break
else:
    sys.exit("no repository has commits")

limits = github.rate_limit()
same((limits["resources"]["core"]["limit"], limits["resources"]["search"]["limit"]), (5000, 30))
try:
    github.user("nobody-of-this-name")
    sys.exit("nobody was found")
except github3.exceptions.NotFoundError as error:
    same((error.code, error.msg), (404, "Not Found"))

# A second look sends the validator and costs nothing.
again = octocat.refresh(conditional=True)
same(again.id, 583231)

print("all well")
