-- A server that remembers who was on a page need not be sent the page's ids again: it names the digests of the pages it knows.
SET LOCAL ROLE magpie_owner;

ALTER TABLE magpie.walk_page ADD COLUMN digest bigint
  GENERATED ALWAYS AS (hashint8extended(first, hash_array_extended(digests, hash_array_extended(members, 0)))) STORED;
COMMENT ON COLUMN magpie.walk_page.digest IS
  'Of the page''s place, members and their digests: whoever remembers what was told of it need not be told again.';

RESET ROLE;
