-- What devices need to stay in step: earlier versions of items, checksums, the horizon, and word of changes made by hand.

SET LOCAL ROLE magpie_owner;

ALTER TABLE magpie.account ADD COLUMN horizon_version bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN magpie.account.horizon_version IS
  'Up to this version tombstones have been forgotten: a device whose cursor is lower has to read everything again.';

ALTER TABLE magpie.session ADD COLUMN full_read_version bigint;
COMMENT ON COLUMN magpie.session.full_read_version IS
  'The account''s version when the device last began to read everything: cursors of that read are good even below the horizon.';

-- Earlier versions.

CREATE TABLE magpie.favorite_history (
  account_id  bigint NOT NULL REFERENCES magpie.account ON DELETE CASCADE,
  kind        text NOT NULL,
  subject_id  text NOT NULL,
  version     bigint NOT NULL,
  replaced_at timestamptz NOT NULL DEFAULT now(),
  is_absence  boolean NOT NULL DEFAULT false,
  note        text NOT NULL DEFAULT '',
  tags        text[] NOT NULL DEFAULT '{}',
  rank        text NOT NULL DEFAULT '',
  added_at    timestamptz,
  collections uuid[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (account_id, kind, subject_id, version)
);
CREATE INDEX favorite_history_age ON magpie.favorite_history (replaced_at);
COMMENT ON TABLE magpie.favorite_history IS
  'The last 20 earlier states of each favorite in what devices can edit, so that edits made apart can be merged.';
COMMENT ON COLUMN magpie.favorite_history.version IS 'The account''s version that made this state.';
COMMENT ON COLUMN magpie.favorite_history.is_absence IS 'The favorite was deleted with this version.';

-- Checksums: kept with every write, since adding up 10,000 items at each question would cost a hundred times as much as 100.

CREATE TABLE magpie.favorite_sum (
  account_id bigint NOT NULL REFERENCES magpie.account ON DELETE CASCADE,
  kind       text NOT NULL,
  count      bigint NOT NULL,
  hash       bit(256) NOT NULL,
  PRIMARY KEY (account_id, kind)
) WITH (fillfactor = 50);
COMMENT ON TABLE magpie.favorite_sum IS 'How many favorites of a kind there are, and collections, and the exclusive or of their hashes.';

CREATE FUNCTION magpie.item_hash(p_kind text, p_id text, p_version bigint) RETURNS bit(256)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN ('x' || encode(sha256(convert_to(p_kind || E'\n' || p_id || E'\n' || p_version::text, 'UTF8')), 'hex'))::bit(256);
END $$;
COMMENT ON FUNCTION magpie.item_hash(text, text, bigint) IS
  'SHA-256 of kind, id and version with line feeds in between, as bits.';

CREATE FUNCTION magpie.add_to_sum(p_account bigint, p_kind text, p_count int, p_hash bit(256)) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.favorite_sum s SET count = s.count + p_count, hash = s.hash # p_hash
   WHERE s.account_id = p_account AND s.kind = p_kind;
  IF NOT FOUND THEN
    INSERT INTO magpie.favorite_sum (account_id, kind, count, hash) VALUES (p_account, p_kind, p_count, p_hash);
  END IF;
END $$;
COMMENT ON FUNCTION magpie.add_to_sum(bigint, text, int, bit) IS
  'Adds to a checksum, or takes away: exclusive or is its own reverse. Under the lock on the account''s row.';

CREATE FUNCTION magpie.favorite_remember() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  kept constant int := 20;
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM magpie.add_to_sum(NEW.account_id, NEW.kind, 1, magpie.item_hash(NEW.kind, NEW.subject_id, NEW.version));
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    IF NEW.version = OLD.version THEN RETURN NULL; END IF;
    PERFORM magpie.add_to_sum(NEW.account_id, NEW.kind, 0,
      magpie.item_hash(OLD.kind, OLD.subject_id, OLD.version) # magpie.item_hash(NEW.kind, NEW.subject_id, NEW.version));
  ELSE
    IF NOT EXISTS (SELECT FROM magpie.account a WHERE a.id = OLD.account_id) THEN RETURN NULL; END IF;
    PERFORM magpie.add_to_sum(OLD.account_id, OLD.kind, -1, magpie.item_hash(OLD.kind, OLD.subject_id, OLD.version));
    INSERT INTO magpie.favorite_history (account_id, kind, subject_id, version, is_absence)
    SELECT t.account_id, t.kind, t.subject_id, t.version, true FROM magpie.favorite_tombstone t
     WHERE t.account_id = OLD.account_id AND t.kind = OLD.kind AND t.subject_id = OLD.subject_id
    ON CONFLICT DO NOTHING;
  END IF;
  INSERT INTO magpie.favorite_history (account_id, kind, subject_id, version, note, tags, rank, added_at, collections)
  VALUES (OLD.account_id, OLD.kind, OLD.subject_id, OLD.version, OLD.note, OLD.tags, OLD.rank, OLD.added_at, OLD.collections)
  ON CONFLICT DO NOTHING;
  DELETE FROM magpie.favorite_history h
   WHERE h.account_id = OLD.account_id AND h.kind = OLD.kind AND h.subject_id = OLD.subject_id
     AND h.version <= (SELECT o.version FROM magpie.favorite_history o
                        WHERE o.account_id = OLD.account_id AND o.kind = OLD.kind AND o.subject_id = OLD.subject_id
                        ORDER BY o.version DESC OFFSET kept LIMIT 1);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.favorite_remember() IS 'Keeps earlier states and checksums.';
-- After the trigger that leaves the tombstone: triggers fire in the order of their names.
CREATE TRIGGER remember AFTER INSERT OR UPDATE OR DELETE ON magpie.favorite
  FOR EACH ROW EXECUTE FUNCTION magpie.favorite_remember();

CREATE FUNCTION magpie.collection_remember() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM magpie.add_to_sum(NEW.account_id, 'collection', 1, magpie.item_hash('collection', NEW.id::text, NEW.version));
  ELSIF TG_OP = 'UPDATE' THEN
    IF NEW.version = OLD.version THEN RETURN NULL; END IF;
    PERFORM magpie.add_to_sum(NEW.account_id, 'collection', 0,
      magpie.item_hash('collection', OLD.id::text, OLD.version) # magpie.item_hash('collection', NEW.id::text, NEW.version));
  ELSIF EXISTS (SELECT FROM magpie.account a WHERE a.id = OLD.account_id) THEN
    PERFORM magpie.add_to_sum(OLD.account_id, 'collection', -1, magpie.item_hash('collection', OLD.id::text, OLD.version));
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.collection_remember() IS 'Keeps the checksum of collections.';
CREATE TRIGGER remember AFTER INSERT OR UPDATE OR DELETE ON magpie.collection
  FOR EACH ROW EXECUTE FUNCTION magpie.collection_remember();

INSERT INTO magpie.favorite_sum (account_id, kind, count, hash)
SELECT c.account_id, 'collection', count(*), bit_xor(magpie.item_hash('collection', c.id::text, c.version))
  FROM magpie.collection c GROUP BY c.account_id
UNION ALL
SELECT f.account_id, f.kind, count(*), bit_xor(magpie.item_hash(f.kind, f.subject_id, f.version))
  FROM magpie.favorite f GROUP BY f.account_id, f.kind;

-- Word of changes. What the API writes it tells itself, after the commit: a NOTIFY inside would make writers wait for each
-- other. What is written while nobody is authenticated, by hand or by a worker, is told here.

CREATE FUNCTION magpie.account_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify('magpie_changes', NEW.id::text);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.account_changed() IS 'Tells open streams that an account has a new version.';
CREATE TRIGGER changed AFTER UPDATE OF version ON magpie.account
  FOR EACH ROW WHEN (OLD.version IS DISTINCT FROM NEW.version AND magpie.current_account() IS NULL)
  EXECUTE FUNCTION magpie.account_changed();

CREATE FUNCTION magpie.tell_changes(p_writers text[]) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT pg_notify('magpie_changes', a.account_id::text)
    FROM (SELECT DISTINCT s.account_id FROM magpie.session s
           WHERE s.token_hash = ANY (ARRAY(SELECT decode(w, 'hex') FROM unnest(p_writers) AS w))) AS a
$$;
COMMENT ON FUNCTION magpie.tell_changes(text[]) IS
  'Tells open streams of the accounts of tokens, given by their hashes in hexadecimal, that have been written with.';

-- What the server asks for accounts that have streams open, without being any of them.

CREATE FUNCTION magpie.account_versions(p_accounts bigint[]) RETURNS TABLE (account_id bigint, version bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.id, a.version FROM magpie.account a WHERE a.id = ANY (p_accounts)
$$;
COMMENT ON FUNCTION magpie.account_versions(bigint[]) IS 'The versions of accounts, to see which streams have something to tell.';

CREATE FUNCTION magpie.check_streams(p_tokens bytea[], p_versions bigint[]) RETURNS TABLE (place bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE magpie.session s SET last_seen_at = now(), sync_version = greatest(s.sync_version, t.version)
    FROM unnest(p_tokens, p_versions) AS t (hash, version)
   WHERE s.token_hash = t.hash AND s.revoked_at IS NULL
     AND (s.last_seen_at < now() - interval '1 minute' OR s.sync_version IS NULL OR s.sync_version < t.version);
  RETURN QUERY
  SELECT t.place FROM unnest(p_tokens) WITH ORDINALITY AS t (hash, place)
   WHERE NOT EXISTS (
     SELECT FROM magpie.session s JOIN magpie.account a ON a.id = s.account_id
      WHERE s.token_hash = t.hash AND s.revoked_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > now())
        AND 'read' = ANY (s.scopes) AND a.disabled_at IS NULL AND a.deleted_at IS NULL);
END $$;
COMMENT ON FUNCTION magpie.check_streams(bytea[], bigint[]) IS
  'Which of these tokens (by position from 1) are good no more; notes of the others that they are in use, and how far they are.';

CREATE FUNCTION magpie.note_sync(p_token_hash bytea, p_version bigint, p_full_read bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- Losing this in a crash is no loss: the device asks again.
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE magpie.session s SET sync_version = p_version, full_read_version = coalesce(p_full_read, s.full_read_version)
   WHERE s.token_hash = p_token_hash;
END $$;
COMMENT ON FUNCTION magpie.note_sync(bytea, bigint, bigint) IS
  'Notes up to which version a device has been told, and at which version it began to read everything, if it did.';

CREATE FUNCTION magpie.forget_deletions(p_age interval) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_account bigint;
  v_highest bigint;
  v_count bigint := 0;
BEGIN
  FOR v_account IN
    SELECT t.account_id FROM (
      SELECT f.account_id FROM magpie.favorite_tombstone f WHERE f.deleted_at < now() - p_age
      UNION SELECT c.account_id FROM magpie.collection_tombstone c WHERE c.deleted_at < now() - p_age) t LIMIT 1000
  LOOP
    -- The account first, as every writer; one that is being written to is done the next time.
    PERFORM FROM magpie.account a WHERE a.id = v_account FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    WITH gone AS (
      DELETE FROM magpie.favorite_tombstone t WHERE t.account_id = v_account AND t.deleted_at < now() - p_age
      RETURNING t.version),
    gone_collections AS (
      DELETE FROM magpie.collection_tombstone t WHERE t.account_id = v_account AND t.deleted_at < now() - p_age
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
COMMENT ON FUNCTION magpie.forget_deletions(interval) IS
  'Housekeeping: forgets tombstones and earlier states beyond an age, and notes the horizon of the accounts.';
CREATE INDEX favorite_tombstone_age ON magpie.favorite_tombstone (deleted_at);

ALTER TABLE magpie.favorite_history ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.favorite_history FORCE ROW LEVEL SECURITY;
ALTER TABLE magpie.favorite_sum ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.favorite_sum FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON magpie.favorite_history TO magpie_app
  USING (account_id = magpie.current_account()) WITH CHECK (account_id = magpie.current_account());
CREATE POLICY own_rows ON magpie.favorite_sum TO magpie_app
  USING (account_id = magpie.current_account()) WITH CHECK (account_id = magpie.current_account());
CREATE POLICY all_rows ON magpie.favorite_history TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);
CREATE POLICY all_rows ON magpie.favorite_sum TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);
GRANT SELECT ON magpie.favorite_history, magpie.favorite_sum TO magpie_app, magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.account_versions(bigint[]), magpie.check_streams(bytea[], bigint[]),
  magpie.note_sync(bytea, bigint, bigint), magpie.tell_changes(text[]) TO magpie_app;
GRANT EXECUTE ON FUNCTION magpie.forget_deletions(interval) TO magpie_worker, magpie_admin;

RESET ROLE;
