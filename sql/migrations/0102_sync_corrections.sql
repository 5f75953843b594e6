-- Deletions that a device would never have been told of, or was told of too often, and an import that takes a note away.
SET LOCAL ROLE magpie_owner;

-- That a device has once read everything does not make all of its old cursors good, only that read's own.
ALTER TABLE magpie.session ADD COLUMN full_read_places bigint[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN magpie.session.full_read_places IS
  'Where the latest page of a read of everything began and ended. The read goes on from the end, or from the beginning if the page was lost.';

DROP FUNCTION magpie.note_sync(bytea, bigint, bigint);
CREATE FUNCTION magpie.note_sync(p_token_hash bytea, p_since bigint, p_version bigint, p_full_read bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- Losing this in a crash is no loss: the device asks again.
  PERFORM set_config('synchronous_commit', 'off', true);
  UPDATE magpie.session s
     SET sync_version = p_version, full_read_version = coalesce(p_full_read, s.full_read_version),
         full_read_places = CASE WHEN p_full_read IS NOT NULL OR p_since = ANY (s.full_read_places) THEN ARRAY[p_since, p_version]
                                 ELSE s.full_read_places END
   WHERE s.token_hash = p_token_hash;
END $$;
COMMENT ON FUNCTION magpie.note_sync(bytea, bigint, bigint, bigint) IS
  'Notes from and up to which version a device has been told, and at which version it began to read everything, if it did.';
GRANT EXECUTE ON FUNCTION magpie.note_sync(bytea, bigint, bigint, bigint) TO magpie_app;

CREATE OR REPLACE FUNCTION magpie.sync_push(p_token_hash bytea, p_since bigint, p_ops text[], p_atomic boolean)
RETURNS TABLE (account_id bigint, status text, version bigint, server text, ancestor text, pointer text, error text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_account constant bigint := magpie.authenticate(p_token_hash, 'write');
  v_count   constant int := cardinality(p_ops);
  v_start   bigint;
  v_horizon bigint;
  v_results magpie.sync_result[];
  v_result  magpie.sync_result;
  v_try     int := 0;
  v_failed  boolean;
BEGIN
  IF v_account IS NULL THEN RETURN; END IF;
  -- The account, and then its items without waiting: somebody who edits by hand locks an item first and then waits for the
  -- account, so waiting for the item while holding the account would never end. Then the account is let go of, and again.
  LOOP
    BEGIN
      SELECT a.version, a.horizon_version INTO v_start, v_horizon FROM magpie.account a WHERE a.id = v_account FOR NO KEY UPDATE;
      BEGIN
        PERFORM FROM magpie.favorite f
          JOIN (SELECT DISTINCT o::jsonb ->> 'kind' AS kind, o::jsonb ->> 'id' AS id FROM unnest(p_ops) AS o) AS w
            ON f.kind = w.kind AND f.subject_id = w.id
         WHERE f.account_id = v_account FOR NO KEY UPDATE OF f NOWAIT;
      EXCEPTION WHEN lock_not_available THEN
        RAISE EXCEPTION USING ERRCODE = 'MG055', MESSAGE = 'an item is being written to';
      END;
      EXIT;
    EXCEPTION WHEN SQLSTATE 'MG055' THEN
      v_try := v_try + 1;
      IF v_try = 50 THEN RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = 'items are being written to all the time'; END IF;
    END;
  END LOOP;

  IF p_since > v_start THEN RAISE EXCEPTION USING ERRCODE = 'MG400', MESSAGE = 'the cursor is of a version that is yet to come'; END IF;
  IF p_since > 0 AND p_since < v_horizon AND NOT EXISTS (
    SELECT FROM magpie.session s
     WHERE s.token_hash = p_token_hash AND s.full_read_version >= v_horizon AND p_since = ANY (s.full_read_places))
  THEN
    RAISE EXCEPTION USING ERRCODE = 'MG410', MESSAGE = 'the cursor is below the horizon';
  END IF;

  -- First all in one go; if one operation has a value that the tables refuse, each by itself, to find out which.
  FOR v_pass IN 1..2 LOOP
    v_failed := false;
    BEGIN
      FOR i IN 1..v_count LOOP
        IF v_pass = 1 THEN
          v_result := magpie.sync_apply(v_account, v_start, v_horizon, p_ops[i]::jsonb);
        ELSE
          BEGIN
            v_result := magpie.sync_apply(v_account, v_start, v_horizon, p_ops[i]::jsonb);
          EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded
            OR SQLSTATE 'MG424' OR SQLSTATE 'MG429' THEN
            v_result := ROW('invalid', NULL, NULL, NULL, '', 'has a value that is not allowed, or beyond its limit')::magpie.sync_result;
          END;
        END IF;
        v_results[i] := v_result;
        v_failed := v_failed OR v_result.status <> 'ok';
      END LOOP;
      IF p_atomic AND v_failed THEN RAISE EXCEPTION USING ERRCODE = 'MG409', MESSAGE = 'one operation failed'; END IF;
      EXIT;
    EXCEPTION
      WHEN SQLSTATE 'MG409' THEN EXIT;
      WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded
            OR SQLSTATE 'MG424' OR SQLSTATE 'MG429' THEN
        IF v_pass = 2 THEN RAISE; END IF;
    END;
  END LOOP;

  FOR i IN 1..v_count LOOP
    v_result := v_results[i];
    IF p_atomic AND v_failed AND v_result.status <> 'invalid' THEN
      IF v_result.status = 'ok' THEN
        v_result := ROW('conflict', NULL, NULL, NULL, '', 'was not applied, since another operation of the batch failed')::magpie.sync_result;
      END IF;
      -- All is taken back, so what a conflict was found with may be too; what the server has is what it had.
      SELECT coalesce(f.version, t.version),
             coalesce(f.document, CASE WHEN t.version IS NOT NULL THEN magpie.deleted_entry(t.kind, t.subject_id, t.version) END)
        INTO v_result.version, v_result.server
        FROM (SELECT p_ops[i]::jsonb ->> 'kind' AS kind, p_ops[i]::jsonb ->> 'id' AS id) AS o
             LEFT JOIN magpie.favorite f ON f.account_id = v_account AND f.kind = o.kind AND f.subject_id = o.id
             LEFT JOIN magpie.favorite_tombstone t ON t.account_id = v_account AND t.kind = o.kind AND t.subject_id = o.id;
    END IF;
    account_id := v_account; status := v_result.status; version := v_result.version; server := v_result.server; ancestor := v_result.ancestor;
    pointer := v_result.pointer; error := v_result.error;
    RETURN NEXT;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION magpie.sync_put(p_account bigint, p_start bigint, p_horizon bigint, o jsonb) RETURNS magpie.sync_result
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_kind     constant text := o ->> 'kind';
  v_id       constant text := o ->> 'id';
  v_base     constant bigint := (o ->> 'base_version')::bigint;
  v_added_at constant timestamptz := (o ->> 'added_at')::timestamptz;
  v_snapshot constant jsonb := (o ->> 'snapshot')::jsonb;
  v_note     text := o ->> 'note';
  v_rank     text := o ->> 'rank';
  v_tags     text[] := magpie.text_list(o -> 'tags');
  v_in       uuid[] := magpie.text_list(o -> 'collections')::uuid[];
  v_now      magpie.favorite;
  v_gone     magpie.favorite_tombstone;
  v_then     magpie.favorite_history;
  v_since    magpie.favorite_history[] := '{}';
  v_version  bigint;
BEGIN
  IF v_base > p_start THEN RETURN ROW('invalid', NULL, NULL, NULL, '/base_version', 'is a version that is yet to come')::magpie.sync_result; END IF;
  SELECT f.* INTO v_now FROM magpie.favorite f
   WHERE f.account_id = p_account AND f.kind = v_kind AND f.subject_id = v_id;
  IF v_base IS NOT NULL THEN
    SELECT h.* INTO v_then FROM magpie.favorite_history h
     WHERE h.account_id = p_account AND h.kind = v_kind AND h.subject_id = v_id AND h.version <= v_base
     ORDER BY h.version DESC LIMIT 1;
  END IF;

  IF v_now.account_id IS NULL THEN
    SELECT t.* INTO v_gone FROM magpie.favorite_tombstone t
     WHERE t.account_id = p_account AND t.kind = v_kind AND t.subject_id = v_id;
    -- An edit of something that was deleted meanwhile, not by this batch: deleted it stays, and the edit is kept for the day it
    -- comes back. Without a base, or with one that knows of the deletion, this adds. A tombstone counts
    -- from a base of 0 on; a forgotten deletion does not, as a device that has nothing yet cannot have had the item.
    IF v_gone.version > v_base AND v_gone.version <= p_start OR v_gone.version IS NULL AND v_base > 0 AND v_base < p_horizon THEN
      UPDATE magpie.favorite_tombstone t
         SET note = CASE WHEN v_note IS NULL OR v_note IS NOT DISTINCT FROM v_then.note THEN t.note ELSE v_note END,
             rank = coalesce(v_rank, t.rank),
             tags = CASE WHEN cardinality(t.tags) + cardinality(v_tags) <= 100 THEN magpie.merged_tags(t.tags, v_tags, '{}', '{}')
                         ELSE t.tags END
       WHERE t.account_id = p_account AND t.kind = v_kind AND t.subject_id = v_id;
      RETURN ROW('conflict', v_gone.version, CASE WHEN v_gone.version IS NOT NULL THEN magpie.deleted_entry(v_kind, v_id, v_gone.version) END,
              magpie.earlier_entry(v_then), NULL, NULL)::magpie.sync_result;
    END IF;
    INSERT INTO magpie.favorite AS f
      (account_id, kind, subject_id, title, subtitle, url, image, note, tags, collections, rank, added_at, snapshot)
    VALUES (
      p_account, v_kind, v_id, coalesce(o ->> 'title', ''), coalesce(o ->> 'subtitle', ''), coalesce(o ->> 'url', ''),
      coalesce(o ->> 'image', ''), coalesce(v_note, ''), coalesce(v_tags, '{}'), coalesce(v_in, '{}'), coalesce(v_rank, ''),
      coalesce(v_added_at, now()), v_snapshot)
    RETURNING f.version INTO v_version;
    RETURN ROW('ok', v_version, NULL, NULL, NULL, NULL)::magpie.sync_result;
  END IF;

  -- Changed since by others than this batch: fields are merged.
  IF v_base < v_now.version THEN
    v_since := ARRAY(
      SELECT h FROM magpie.favorite_history h
       WHERE h.account_id = p_account AND h.kind = v_kind AND h.subject_id = v_id AND h.version > v_base AND h.version <= p_start);
    IF v_now.version <= p_start OR cardinality(v_since) > 0 THEN
      IF v_tags IS NOT NULL THEN
        v_tags := magpie.merged_tags(
          v_now.tags, ARRAY(SELECT unnest(v_tags) EXCEPT SELECT unnest(v_then.tags)),
          ARRAY(SELECT unnest(v_then.tags) EXCEPT SELECT unnest(v_tags)), v_since);
        IF cardinality(v_tags) > 100 THEN RETURN ROW('invalid', NULL, NULL, NULL, '/tags', 'are more than 100 with those of other devices')::magpie.sync_result; END IF;
      END IF;
      IF v_in IS NOT NULL THEN
        -- As tags; collections that are not there any more are left out.
        v_in := ARRAY(
          SELECT c.id FROM magpie.collection c
           WHERE c.account_id = p_account AND c.id = ANY (magpie.merged_tags(
             v_now.collections::text[], ARRAY(SELECT unnest(v_in) EXCEPT SELECT unnest(v_then.collections))::text[],
             ARRAY(SELECT unnest(v_then.collections) EXCEPT SELECT unnest(v_in))::text[],
             ARRAY(SELECT ROW(s.account_id, s.kind, s.subject_id, s.version, s.replaced_at, s.is_absence, s.note,
                              s.collections::text[], s.rank, s.added_at, s.collections)::magpie.favorite_history
                     FROM unnest(v_since) AS s))::uuid[])
           ORDER BY c.id);
      END IF;
      IF v_rank = coalesce(v_then.rank, '') OR EXISTS (SELECT FROM unnest(v_since) s WHERE NOT s.is_absence AND s.rank = v_rank) THEN
        v_rank := NULL;
      END IF;
      IF v_note = v_now.note OR v_note = coalesce(v_then.note, '')
        OR EXISTS (SELECT FROM unnest(v_since) s WHERE NOT s.is_absence AND s.note = v_note) THEN
        v_note := NULL;
      ELSIF v_note IS NOT NULL AND v_now.note <> coalesce(v_then.note, '') THEN
        RETURN ROW('conflict', v_now.version, v_now.document, magpie.earlier_entry(v_then), NULL, NULL)::magpie.sync_result;
      END IF;
    END IF;
  END IF;
  UPDATE magpie.favorite f
     SET note = coalesce(v_note, f.note), tags = coalesce(v_tags, f.tags), rank = coalesce(v_rank, f.rank),
         collections = coalesce(v_in, f.collections),
         added_at = least(f.added_at, v_added_at),
         title = CASE WHEN f.title = '' THEN coalesce(o ->> 'title', '') ELSE f.title END,
         subtitle = CASE WHEN f.subtitle = '' THEN coalesce(o ->> 'subtitle', '') ELSE f.subtitle END,
         url = CASE WHEN f.url = '' THEN coalesce(o ->> 'url', '') ELSE f.url END,
         image = CASE WHEN f.image = '' THEN coalesce(o ->> 'image', '') ELSE f.image END,
         snapshot = coalesce(f.snapshot, v_snapshot)
   WHERE f.account_id = p_account AND f.kind = v_kind AND f.subject_id = v_id
  RETURNING f.version INTO v_version;
  RETURN ROW('ok', v_version, NULL, NULL, NULL, NULL)::magpie.sync_result;
END $$;

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

CREATE OR REPLACE FUNCTION magpie.import_favorites(p_document jsonb, p_is_exact boolean)
RETURNS TABLE (favorites bigint, collections bigint, tombstones bigint, version bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_account constant bigint := magpie.current_account();
  v_count bigint;
BEGIN
  PERFORM 1 FROM magpie.account a WHERE a.id = v_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  collections := 0;
  IF p_is_exact THEN
    UPDATE magpie.account a
       SET display_name = CASE WHEN p_document #> '{account,display_name}' IS NULL THEN a.display_name ELSE p_document #>> '{account,display_name}' END,
           locale = coalesce(p_document #>> '{account,locale}', a.locale),
           gif_rating = coalesce(p_document #>> '{account,gif_rating}', a.gif_rating)
     WHERE a.id = v_account AND p_document ? 'account';
    UPDATE magpie.collection c SET name = n.name, rank = n.rank, created_at = n.created_at
      FROM jsonb_to_recordset(p_document -> 'collections') AS n(id uuid, name text, rank text, created_at timestamptz)
     WHERE c.account_id = v_account AND c.id = n.id AND (c.name, c.rank, c.created_at) IS DISTINCT FROM (n.name, n.rank, n.created_at);
    GET DIAGNOSTICS collections = ROW_COUNT;
  END IF;
  INSERT INTO magpie.collection (account_id, id, name, rank, created_at)
  SELECT v_account, n.id, n.name, n.rank, coalesce(n.created_at, now())
    FROM jsonb_to_recordset(p_document -> 'collections') AS n(id uuid, name text, rank text, created_at timestamptz)
   WHERE NOT EXISTS (SELECT FROM magpie.collection c WHERE c.account_id = v_account AND c.id = n.id);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  collections := collections + v_count;
  -- Files of other makers name collections; those of that name are meant, and else new ones.
  INSERT INTO magpie.collection (account_id, name)
  SELECT v_account, w.name FROM (
      SELECT DISTINCT t.name FROM jsonb_to_recordset(p_document -> 'favorites') AS n(collection_names text[]), unnest(n.collection_names) AS t(name)) AS w
   WHERE NOT EXISTS (SELECT FROM magpie.collection c WHERE c.account_id = v_account AND c.name = w.name);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  collections := collections + v_count;
  IF p_is_exact THEN
    -- What a tombstone has kept is not to be mixed into what the document says.
    DELETE FROM magpie.favorite_tombstone t
     USING jsonb_to_recordset(p_document -> 'favorites') AS n(kind text, id text)
     WHERE t.account_id = v_account AND t.kind = n.kind AND t.subject_id = n.id;
  END IF;
  UPDATE magpie.favorite f
     SET note = CASE WHEN p_is_exact OR f.note = '' THEN coalesce(s.note, f.note) ELSE f.note END,
         tags = s.tags, collections = s.collections, rank = coalesce(s.rank, f.rank),
         added_at = CASE WHEN p_is_exact THEN s.added_at ELSE least(f.added_at, s.added_at) END,
         -- What is known here of a source is newer than what a file has.
         title = CASE WHEN s.is_shown AND (p_is_exact OR f.title = '') THEN s.title ELSE f.title END,
         subtitle = CASE WHEN s.is_shown AND (p_is_exact OR f.subtitle = '') THEN s.subtitle ELSE f.subtitle END,
         url = CASE WHEN s.is_shown AND (p_is_exact OR f.url = '') THEN s.url ELSE f.url END,
         image = CASE WHEN s.is_shown AND (p_is_exact OR f.image = '') THEN s.image ELSE f.image END,
         snapshot = CASE WHEN p_is_exact THEN s.snapshot ELSE coalesce(f.snapshot, s.snapshot) END
    FROM (
      SELECT n.kind, n.id, n.note, n.rank, n.added_at, n.snapshot, coalesce(n.title, '') AS title, coalesce(n.subtitle, '') AS subtitle,
             coalesce(n.url, '') AS url, coalesce(n.image, '') AS image, o.title = '' OR n.kind IN ('gif', 'photo') AS is_shown,
             CASE WHEN p_is_exact THEN n.tags
                  ELSE (ARRAY(SELECT DISTINCT t COLLATE "C" FROM unnest(o.tags || n.tags) AS t ORDER BY 1))[:100] END AS tags,
             (ARRAY(SELECT DISTINCT x.id FROM (
                SELECT i AS id FROM unnest(n.collections) AS i
                UNION ALL SELECT i FROM unnest(o.collections) AS i WHERE NOT p_is_exact
                UNION ALL SELECT c.id FROM magpie.collection c WHERE c.account_id = v_account AND c.name = ANY (n.collection_names)) AS x
               ORDER BY 1))[:100] AS collections
        FROM jsonb_to_recordset(p_document -> 'favorites') AS n(kind text, id text, title text, subtitle text, url text, image text,
               note text, tags text[], collections uuid[], collection_names text[], rank text, added_at timestamptz, snapshot jsonb)
             JOIN magpie.favorite o ON o.account_id = v_account AND o.kind = n.kind AND o.subject_id = n.id) AS s
   WHERE f.account_id = v_account AND f.kind = s.kind AND f.subject_id = s.id;
  GET DIAGNOSTICS favorites = ROW_COUNT;
  INSERT INTO magpie.favorite (account_id, kind, subject_id, title, subtitle, url, image, state, note, tags, collections, rank, added_at, snapshot)
  SELECT v_account, n.kind, n.id, coalesce(n.title, ''), coalesce(n.subtitle, ''), coalesce(n.url, ''), coalesce(n.image, ''),
         coalesce(n.state, 'ok'), coalesce(n.note, ''), coalesce(n.tags, '{}'),
         ARRAY(SELECT i FROM unnest(n.collections) AS i
               UNION SELECT c.id FROM magpie.collection c WHERE c.account_id = v_account AND c.name = ANY (n.collection_names)),
         coalesce(n.rank, ''), coalesce(n.added_at, now()), n.snapshot
    FROM jsonb_to_recordset(p_document -> 'favorites') AS n(kind text, id text, title text, subtitle text, url text, image text, state text,
           note text, tags text[], collections uuid[], collection_names text[], rank text, added_at timestamptz, snapshot jsonb)
   WHERE NOT EXISTS (SELECT FROM magpie.favorite o WHERE o.account_id = v_account AND o.kind = n.kind AND o.subject_id = n.id)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  favorites := favorites + v_count;

  tombstones := 0;
  IF p_is_exact THEN
    INSERT INTO magpie.favorite_tombstone AS t (account_id, kind, subject_id, version, deleted_at, title, subtitle, url, image, state, note,
      tags, collections, rank, added_at, snapshot)
    SELECT v_account, n.kind, n.id, magpie.next_version(v_account), n.deleted_at, n.title, n.subtitle, n.url, n.image, n.state, n.note,
           n.tags, n.collections, n.rank, n.added_at, n.snapshot
      FROM jsonb_to_recordset(p_document #> '{tombstones,favorites}') AS n(kind text, id text, title text, subtitle text, url text,
             image text, state text, note text, tags text[], collections uuid[], rank text, added_at timestamptz, deleted_at timestamptz, snapshot jsonb)
     WHERE NOT EXISTS (SELECT FROM magpie.favorite f WHERE f.account_id = v_account AND f.kind = n.kind AND f.subject_id = n.id)
       AND NOT EXISTS (SELECT FROM magpie.favorite_tombstone o WHERE o.account_id = v_account AND o.kind = n.kind AND o.subject_id = n.id);
    GET DIAGNOSTICS tombstones = ROW_COUNT;
    INSERT INTO magpie.collection_tombstone AS t (account_id, id, version, deleted_at)
    SELECT v_account, n.id, magpie.next_version(v_account), n.deleted_at
      FROM jsonb_to_recordset(p_document #> '{tombstones,collections}') AS n(id uuid, deleted_at timestamptz)
     WHERE NOT EXISTS (SELECT FROM magpie.collection c WHERE c.account_id = v_account AND c.id = n.id)
       AND NOT EXISTS (SELECT FROM magpie.collection_tombstone o WHERE o.account_id = v_account AND o.id = n.id);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    tombstones := tombstones + v_count;
    PERFORM magpie.settle_versions();
  END IF;
  SELECT a.version INTO version FROM magpie.account a WHERE a.id = v_account;
  RETURN NEXT;
END $$;

RESET ROLE;
