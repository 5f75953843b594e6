-- Taking an account's favorites along, and bringing them back.

SET LOCAL ROLE magpie_owner;

-- All of it or nothing: one call is one statement. The API has checked every value; constraints stand behind it.
CREATE FUNCTION magpie.import_favorites(p_document jsonb, p_is_exact boolean)
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
     SET note = coalesce(s.note, f.note), tags = s.tags, collections = s.collections, rank = coalesce(s.rank, f.rank),
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
COMMENT ON FUNCTION magpie.import_favorites(jsonb, boolean) IS
  'Brings favorites, collections and tombstones of a checked document into the caller''s account. Exactly as they stand there, or joined with what is here.';
GRANT EXECUTE ON FUNCTION magpie.import_favorites(jsonb, boolean) TO magpie_app;

RESET ROLE;
