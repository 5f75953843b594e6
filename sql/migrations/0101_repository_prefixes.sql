-- Repositories are found by the beginning of their name, as people are, while GitHub's own search is under way or away.
SET LOCAL ROLE magpie_owner;

CREATE INDEX github_repo_name_prefix ON magpie.github_repo (magpie.fold(name) text_pattern_ops);

RESET ROLE;
