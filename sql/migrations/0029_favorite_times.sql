-- A time that cannot be written as RFC 3339 (`infinity`, or a year before 1 or after 9999) had no text in the item and none in
-- a cursor, so that a list with it could not be paged.

SET LOCAL ROLE magpie_owner;

UPDATE magpie.favorite f
   SET added_at = least(greatest(f.added_at, '0001-01-01 00:00:00Z'), '9999-12-31 23:59:59.999999Z')
 WHERE NOT f.added_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z';

ALTER TABLE magpie.favorite ADD CONSTRAINT favorite_added_at_check
  CHECK (added_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z');
