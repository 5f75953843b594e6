-- A page of somebody's followers for whoever has the token, as Magpie asks for it (Sources/Magpie/Mirror/StoredList.swift).
-- $1 token hash (bytea), $2 login in lower case (text), $3 kind of list (text), $4 position of the first member, from 0 (bigint),
-- $5 position after the last member (bigint), $6 digests of pages whose members need not be sent (bigint[]). Documents come only
-- when they are asked for (documents.sql).
WITH me AS MATERIALIZED (SELECT magpie.authenticate($1) AS account_id)
SELECT me.account_id, a.version, u.id AS owner_id, u.login_key, u.state, w.id AS walk_id, l.generation, w.members, w.expected,
       l.fetched_at, l.validated_at, extract(epoch FROM now() - l.validated_at)::float8 AS age,
       p.first, p.digest,
       CASE WHEN p.digest <> ALL ($6::bigint[]) THEN p.members[greatest($4::bigint - p.first, 0) + 1:$5::bigint - p.first] END AS ids,
       CASE WHEN p.digest <> ALL ($6::bigint[]) THEN p.digests[greatest($4::bigint - p.first, 0) + 1:$5::bigint - p.first] END AS digests
  FROM me
  LEFT JOIN LATERAL (SELECT a.version FROM magpie.account a WHERE a.id = me.account_id LIMIT 1) a ON true
  LEFT JOIN magpie.github_user u ON u.login_key = $2
  LEFT JOIN magpie.listing l ON l.owner_id = u.id AND l.kind = $3
  LEFT JOIN magpie.walk w ON w.id = l.walk_id
  LEFT JOIN magpie.walk_page p ON p.walk_id = w.id AND p.first > $4::bigint - 100 AND p.first < $5::bigint
 WHERE me.account_id IS NOT NULL
