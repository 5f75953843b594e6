-- A page of somebody's followers for whoever has the token, as Magpie asks for it (Sources/Magpie/Mirror/StoredList.swift).
-- $1 token hash (bytea), $2 login in lower case (text), $3 kind of list (text), $4 position of the first member, from 0 (bigint),
-- $5 position after the last member (bigint). The row without a position tells of the list, the others are parts of
-- the upstream's pages. Documents come only when they are asked for (documents.sql).
WITH me AS MATERIALIZED (SELECT magpie.authenticate($1) AS account_id),
head AS MATERIALIZED (
  SELECT me.account_id, a.version, u.id AS owner_id, u.login_key, u.state, l.id AS listing_id, l.generation,
         l.fetched_at, l.validated_at, w.id AS walk_id, w.members, w.expected,
         CASE WHEN l.generation = 0 THEN l.last_generation ELSE l.generation END AS visible
    FROM me
    LEFT JOIN LATERAL (SELECT a.version FROM magpie.account a WHERE a.id = me.account_id LIMIT 1) a ON true
    LEFT JOIN magpie.github_user u ON u.login_key = $2
    LEFT JOIN magpie.listing l ON l.owner_id = u.id AND l.kind = $3
    LEFT JOIN magpie.walk w ON w.id = l.walk_id
   WHERE me.account_id IS NOT NULL)
SELECT json_build_array(h.account_id, h.version, h.owner_id, h.login_key, h.state, h.walk_id, h.generation, h.members, h.expected,
         (extract(epoch FROM h.fetched_at) * 1000000)::bigint, (extract(epoch FROM h.validated_at) * 1000000)::bigint,
         extract(epoch FROM now() - h.validated_at)::float8)::text AS head, NULL::bigint AS first, NULL::bigint[] AS ids,
       NULL::bigint[] AS digests
  FROM head h
UNION ALL
SELECT NULL, p.first, p.members[greatest($4::bigint - p.first, 0) + 1:$5::bigint - p.first],
       p.digests[greatest($4::bigint - p.first, 0) + 1:$5::bigint - p.first]
  FROM head h
  JOIN magpie.walk_page p ON p.walk_id = h.walk_id AND p.first > $4::bigint - 100 AND p.first < $5::bigint
