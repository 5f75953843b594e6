-- Whom the account of a token has starred, at which version of its favorites, as Magpie asks when it does not remember it
-- (Sources/Magpie/Mirror/StarredPeople.swift). Runs in one transaction after magpie.authenticate.
SELECT a.version, CASE WHEN f.subject_id ~ '^[1-9][0-9]{0,17}$' THEN f.subject_id::bigint END AS id, f.tags
  FROM magpie.account a LEFT JOIN magpie.favorite f ON f.account_id = a.id AND f.kind = 'github-user'
 WHERE a.id = magpie.current_account() LIMIT 20001
