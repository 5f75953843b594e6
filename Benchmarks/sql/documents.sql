-- The documents of a page of followers, for what is not remembered (Sources/Magpie/Mirror/StoredList.swift). $1 walk (bigint),
-- $2 position of the first member, from 0 (bigint), $3 position after the last member (bigint).
SELECT d.document, d.id, d.digest
  FROM magpie.walk_page p CROSS JOIN LATERAL unnest(p.documents, p.members, p.digests) AS d(document, id, digest)
 WHERE p.walk_id = $1 AND p.first > $2::bigint - 100 AND p.first < $3::bigint
