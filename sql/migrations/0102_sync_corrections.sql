-- Deletions that a device would never have been told of, or was told of too often, and an import that takes a note away.
SET LOCAL ROLE magpie_owner;

-- A deletion that an import brings may be old, but it is news here. Those of before this column count from now on: which of
-- them came with an import, nobody knows.
ALTER TABLE magpie.favorite_tombstone ADD COLUMN recorded_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE magpie.collection_tombstone ADD COLUMN recorded_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN magpie.favorite_tombstone.recorded_at IS 'Since when devices can be told of it here: it is forgotten by this.';
COMMENT ON COLUMN magpie.collection_tombstone.recorded_at IS 'Since when devices can be told of it here: it is forgotten by this.';
COMMENT ON COLUMN magpie.favorite_tombstone.deleted_at IS 'When it was deleted, here or where it was imported from.';
COMMENT ON COLUMN magpie.collection_tombstone.deleted_at IS 'When it was deleted, here or where it was imported from.';
DROP INDEX magpie.favorite_tombstone_age;
CREATE INDEX favorite_tombstone_age ON magpie.favorite_tombstone (recorded_at);

CREATE OR REPLACE FUNCTION magpie.favorite_deleted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_version bigint := magpie.next_version(OLD.account_id);
BEGIN
  IF v_version IS NULL THEN RETURN NULL; END IF;  -- the account itself is being deleted
  INSERT INTO magpie.favorite_tombstone AS t (account_id, kind, subject_id, version, added_at, note, tags, rank, snapshot,
    title, subtitle, url, image, state, collections)
  VALUES (OLD.account_id, OLD.kind, OLD.subject_id, v_version, OLD.added_at, OLD.note, OLD.tags, OLD.rank, OLD.snapshot,
    OLD.title, OLD.subtitle, OLD.url, OLD.image, OLD.state, OLD.collections)
  ON CONFLICT (account_id, kind, subject_id) DO UPDATE SET version = EXCLUDED.version, deleted_at = now(), recorded_at = now(),
    added_at = EXCLUDED.added_at, note = EXCLUDED.note, tags = EXCLUDED.tags, rank = EXCLUDED.rank, snapshot = EXCLUDED.snapshot,
    title = EXCLUDED.title, subtitle = EXCLUDED.subtitle, url = EXCLUDED.url, image = EXCLUDED.image, state = EXCLUDED.state,
    collections = EXCLUDED.collections;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION magpie.collection_deleted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_version bigint := magpie.next_version(OLD.account_id);
BEGIN
  IF v_version IS NULL THEN RETURN NULL; END IF;
  INSERT INTO magpie.collection_tombstone AS t (account_id, id, version) VALUES (OLD.account_id, OLD.id, v_version)
  ON CONFLICT (account_id, id) DO UPDATE SET version = EXCLUDED.version, deleted_at = now(), recorded_at = now();
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION magpie.forget_deletions(p_age interval) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_account bigint;
  v_highest bigint;
  v_count bigint := 0;
BEGIN
  FOR v_account IN
    SELECT t.account_id FROM (
      SELECT f.account_id FROM magpie.favorite_tombstone f WHERE f.recorded_at < now() - p_age
      UNION SELECT c.account_id FROM magpie.collection_tombstone c WHERE c.recorded_at < now() - p_age) t LIMIT 1000
  LOOP
    -- The account first, as every writer; one that is being written to is done the next time.
    PERFORM FROM magpie.account a WHERE a.id = v_account FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    WITH gone AS (
      DELETE FROM magpie.favorite_tombstone t WHERE t.account_id = v_account AND t.recorded_at < now() - p_age
      RETURNING t.version),
    gone_collections AS (
      DELETE FROM magpie.collection_tombstone t WHERE t.account_id = v_account AND t.recorded_at < now() - p_age
      RETURNING t.version)
    SELECT max(g.version), v_count + count(*) INTO v_highest, v_count
      FROM (SELECT o.version FROM gone o UNION ALL SELECT c.version FROM gone_collections c) g;
    UPDATE magpie.account a SET horizon_version = greatest(a.horizon_version, v_highest) WHERE a.id = v_account;
  END LOOP;
  DELETE FROM magpie.favorite_history h
   WHERE h.ctid = ANY (ARRAY(
     SELECT o.ctid FROM magpie.favorite_history o WHERE o.replaced_at < now() - p_age ORDER BY o.replaced_at LIMIT 10000));
  RETURN v_count;
END $$;

RESET ROLE;
