"""A page of a list of 300,000 beside the same page of a list of 300: first and last, sorted, and searched."""

import subprocess

SIZES = {"short": 300, "long": 300_000}
# What is asked for; `{last}` is the last page's number. `alice` is in a quarter of all names, the other text in none.
PAGES = {
    "first page": "per_page=100",
    "last page": "per_page=100&page={last}",
    "last page by login": "per_page=100&sort=login&page={last}",
    "q= of a common name": "per_page=30&q=alice",
    "q= of nobody's name": "per_page=30&q=nobody-has-this-name",
}


def prepare(benchmarks):
    subprocess.run(
        ["psql", "-XqAt", "-U", "postgres", "-d", "magpie", "-f", str(benchmarks / "sql" / "long-lists.sql")], check=True)


def requests(directory, tokens):
    """By page and list, a file that asks for it in many accounts' names."""
    files = {}
    for page, query in PAGES.items():
        for login, members in SIZES.items():
            path = f"/github/users/{login}/followers?{query.format(last=members // 100)}"
            file = directory / f"{login} {page}.requests"
            file.write_text("".join(f"{path}\t{token}\n" for token in tokens))
            files[page, login] = file
    return files
