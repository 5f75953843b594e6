-- The favorites of whoever has the token, newest first, as Magpie asks for them (Sources/Magpie/Favorites/FavoriteList.swift).
-- $1 token hash (bytea), $2 limit (bigint), one more than wanted: the extra row says that there is a next page.
WITH me AS MATERIALIZED (SELECT magpie.authenticate($1) AS account_id)
SELECT f.document
  FROM me LEFT JOIN LATERAL (
    SELECT f.document
      FROM magpie.favorite f
     WHERE f.account_id = me.account_id
     ORDER BY f.added_at DESC, f.kind, f.subject_id
     LIMIT $2) f ON true
 WHERE me.account_id IS NOT NULL
