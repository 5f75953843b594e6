-- What devices have done, applied in one statement: a batch under one lock of the account's row.

SET LOCAL ROLE magpie_owner;

CREATE TYPE magpie.sync_result AS (status text, version bigint, server text, ancestor text, pointer text, error text);
COMMENT ON TYPE magpie.sync_result IS
  'What became of one operation: ok, conflict or invalid; the server''s copy and the common ancestor as JSON; what is wrong where.';

CREATE FUNCTION magpie.deleted_entry(p_kind text, p_id text, p_version bigint) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN format('{"kind":%s,"id":%s,"deleted":true,"version":%s}', to_json(p_kind), to_json(p_id), p_version);
COMMENT ON FUNCTION magpie.deleted_entry(text, text, bigint) IS 'How devices are told of a deletion.';

CREATE FUNCTION magpie.earlier_entry(p_state magpie.favorite_history) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN p_state.version IS NULL OR p_state.is_absence THEN NULL
  ELSE format('{"kind":%s,"id":%s,"note":%s,"tags":%s,"collections":%s,"rank":%s,"added_at":"%s","version":%s}',
    to_json(p_state.kind), to_json(p_state.subject_id), to_json(p_state.note), to_json(p_state.tags),
    to_json(p_state.collections), to_json(p_state.rank),
    magpie.json_time(p_state.added_at), p_state.version) END;
COMMENT ON FUNCTION magpie.earlier_entry(magpie.favorite_history) IS
  'An earlier state in what devices can edit; NULL for none and for an absence.';

CREATE FUNCTION magpie.text_list(p_list jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN jsonb_typeof(p_list) = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(p_list)) END;
COMMENT ON FUNCTION magpie.text_list(jsonb) IS 'A JSON array of texts as an array; NULL for anything else.';

-- Tags as sets: what one side has added to and removed from the common ancestor is done to the other side. What came or went
-- since the ancestor, and is undone by now, has had its turn: else an answer that was lost, and asked for again, would undo
-- what others did meanwhile.
CREATE FUNCTION magpie.merged_tags(
  p_now text[], p_add text[], p_remove text[], p_since magpie.favorite_history[]) RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT ARRAY(
    SELECT t FROM unnest(p_now) AS t
     WHERE t <> ALL (p_remove) OR EXISTS (SELECT FROM unnest(p_since) AS s WHERE NOT s.is_absence AND t <> ALL (s.tags))
    UNION
    SELECT t FROM unnest(p_add) AS t
     WHERE NOT EXISTS (SELECT FROM unnest(p_since) AS s WHERE NOT s.is_absence AND t = ANY (s.tags))
    ORDER BY 1)
$$;
COMMENT ON FUNCTION magpie.merged_tags(text[], text[], text[], magpie.favorite_history[]) IS
  'The tags of now with some added and some removed, but for those that came or went in the states since.';

CREATE FUNCTION magpie.sync_put(p_account bigint, p_start bigint, p_horizon bigint, o jsonb) RETURNS magpie.sync_result
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
    -- comes back. Without a base, or with one that knows of the deletion, this adds.
    IF v_base > 0 AND (v_gone.version > v_base AND v_gone.version <= p_start OR v_gone.version IS NULL AND v_base < p_horizon) THEN
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
COMMENT ON FUNCTION magpie.sync_put(bigint, bigint, bigint, jsonb) IS
  'Adds a favorite or changes what the operation names. Since base_version: tags are merged as sets, rank is the last one''s, a note that both sides changed is a conflict, and a deletion wins.';

CREATE FUNCTION magpie.sync_delete(p_account bigint, p_start bigint, o jsonb) RETURNS magpie.sync_result
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_kind    constant text := o ->> 'kind';
  v_id      constant text := o ->> 'id';
  v_base    constant bigint := (o ->> 'base_version')::bigint;
  v_now     magpie.favorite;
  v_version bigint;
BEGIN
  IF v_base > p_start THEN RETURN ROW('invalid', NULL, NULL, NULL, '/base_version', 'is a version that is yet to come')::magpie.sync_result; END IF;
  SELECT f.* INTO v_now FROM magpie.favorite f
   WHERE f.account_id = p_account AND f.kind = v_kind AND f.subject_id = v_id;
  -- Deleted once since and added again: what was to be deleted is gone, and this is another one.
  IF v_now.account_id IS NOT NULL AND v_base IS NOT NULL AND EXISTS (
    SELECT FROM magpie.favorite_history h
     WHERE h.account_id = p_account AND h.kind = v_kind AND h.subject_id = v_id AND h.is_absence
       AND h.version > v_base AND h.version <= p_start)
  THEN
    RETURN ROW('conflict', v_now.version, v_now.document, NULL, NULL, NULL)::magpie.sync_result;
  END IF;
  DELETE FROM magpie.favorite f WHERE f.account_id = p_account AND f.kind = v_kind AND f.subject_id = v_id;
  SELECT t.version INTO v_version FROM magpie.favorite_tombstone t
   WHERE t.account_id = p_account AND t.kind = v_kind AND t.subject_id = v_id;
  RETURN ROW('ok', v_version, NULL, NULL, NULL, NULL)::magpie.sync_result;
END $$;
COMMENT ON FUNCTION magpie.sync_delete(bigint, bigint, jsonb) IS
  'Deletes a favorite, also one that was edited since base_version, but not one that was deleted and added again since.';

CREATE FUNCTION magpie.sync_tags(p_account bigint, p_start bigint, o jsonb) RETURNS magpie.sync_result
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_kind    constant text := o ->> 'kind';
  v_id      constant text := o ->> 'id';
  v_base    constant bigint := (o ->> 'base_version')::bigint;
  v_add     constant text[] := coalesce(magpie.text_list(o -> 'add'), '{}');
  v_remove  constant text[] := coalesce(magpie.text_list(o -> 'remove'), '{}');
  v_now     magpie.favorite;
  v_gone    magpie.favorite_tombstone;
  v_since   magpie.favorite_history[] := '{}';
  v_tags    text[];
  v_version bigint;
BEGIN
  IF v_base > p_start THEN RETURN ROW('invalid', NULL, NULL, NULL, '/base_version', 'is a version that is yet to come')::magpie.sync_result; END IF;
  SELECT f.* INTO v_now FROM magpie.favorite f
   WHERE f.account_id = p_account AND f.kind = v_kind AND f.subject_id = v_id;
  IF v_now.account_id IS NULL THEN
    UPDATE magpie.favorite_tombstone t SET tags = magpie.merged_tags(t.tags, v_add, v_remove, '{}')
     WHERE t.account_id = p_account AND t.kind = v_kind AND t.subject_id = v_id
       AND cardinality(t.tags) + cardinality(v_add) <= 100
    RETURNING t.* INTO v_gone;
    SELECT t.* INTO v_gone FROM magpie.favorite_tombstone t
     WHERE t.account_id = p_account AND t.kind = v_kind AND t.subject_id = v_id;
    RETURN ROW('conflict', v_gone.version, CASE WHEN v_gone.version IS NOT NULL THEN magpie.deleted_entry(v_kind, v_id, v_gone.version) END,
            NULL, NULL, NULL)::magpie.sync_result;
  END IF;
  IF v_base < v_now.version THEN
    v_since := ARRAY(
      SELECT h FROM magpie.favorite_history h
       WHERE h.account_id = p_account AND h.kind = v_kind AND h.subject_id = v_id AND h.version > v_base AND h.version <= p_start);
  END IF;
  v_tags := magpie.merged_tags(v_now.tags, v_add, v_remove, v_since);
  IF cardinality(v_tags) > 100 THEN RETURN ROW('invalid', NULL, NULL, NULL, '/add', 'makes more than 100 tags')::magpie.sync_result; END IF;
  UPDATE magpie.favorite f SET tags = v_tags WHERE f.account_id = p_account AND f.kind = v_kind AND f.subject_id = v_id
  RETURNING f.version INTO v_version;
  RETURN ROW('ok', v_version, NULL, NULL, NULL, NULL)::magpie.sync_result;
END $$;
COMMENT ON FUNCTION magpie.sync_tags(bigint, bigint, jsonb) IS 'Adds tags to a favorite and removes others, whatever else it has.';

CREATE FUNCTION magpie.sync_apply(p_account bigint, p_start bigint, p_horizon bigint, o jsonb) RETURNS magpie.sync_result
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  CASE o ->> 'op'
    WHEN 'put' THEN RETURN magpie.sync_put(p_account, p_start, p_horizon, o);
    WHEN 'delete' THEN RETURN magpie.sync_delete(p_account, p_start, o);
    WHEN 'tags' THEN RETURN magpie.sync_tags(p_account, p_start, o);
    ELSE RETURN ROW('invalid', NULL, NULL, NULL, NULL, NULL)::magpie.sync_result;
  END CASE;
END $$;
COMMENT ON FUNCTION magpie.sync_apply(bigint, bigint, bigint, jsonb) IS
  'One operation of a batch. Versions above p_start are of the batch itself, so nobody else''s.';

CREATE FUNCTION magpie.sync_push(p_token_hash bytea, p_since bigint, p_ops text[], p_atomic boolean)
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
    SELECT FROM magpie.session s WHERE s.token_hash = p_token_hash AND s.full_read_version >= v_horizon)
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
    IF p_atomic AND v_failed AND v_result.status = 'ok' THEN
      -- Taken back with the others; what the server has is what it had.
      SELECT 'conflict', f.version, f.document, NULL, '', 'was not applied, since another operation of the batch failed'
        INTO v_result
        FROM (SELECT) AS one LEFT JOIN magpie.favorite f
          ON f.account_id = v_account AND f.kind = p_ops[i]::jsonb ->> 'kind' AND f.subject_id = p_ops[i]::jsonb ->> 'id';
    END IF;
    account_id := v_account; status := v_result.status; version := v_result.version; server := v_result.server; ancestor := v_result.ancestor;
    pointer := v_result.pointer; error := v_result.error;
    RETURN NEXT;
  END LOOP;
END $$;
COMMENT ON FUNCTION magpie.sync_push(bytea, bigint, text[], boolean) IS
  'Applies the operations of a device in order and tells what became of each; with p_atomic all of them or none. No rows: nobody''s token. MG400 and MG410: the device''s cursor is none, or too old.';

GRANT EXECUTE ON FUNCTION magpie.deleted_entry(text, text, bigint), magpie.sync_push(bytea, bigint, text[], boolean) TO magpie_app;

RESET ROLE;
