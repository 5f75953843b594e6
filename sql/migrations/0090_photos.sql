-- Photos and albums of the photo service: all of them, so that they are there when the service is not.
SET LOCAL ROLE magpie_owner;

CREATE TABLE magpie.photo_set (
  name          text PRIMARY KEY CHECK (name IN ('photos', 'albums')),
  generation    bigint NOT NULL DEFAULT 0,
  expected      int NOT NULL DEFAULT 0 CHECK (expected >= 0),
  url           text NOT NULL DEFAULT '',
  etag          text,
  last_modified text,
  fetched_at    timestamptz,
  validated_at  timestamptz
);
INSERT INTO magpie.photo_set (name) VALUES ('photos'), ('albums');
COMMENT ON TABLE magpie.photo_set IS 'What is stored of the photo service as a whole, and since when it is known to be true.';
COMMENT ON COLUMN magpie.photo_set.generation IS 'Grows with every change of the items, all of which change at once; 0: nothing is stored.';
COMMENT ON COLUMN magpie.photo_set.expected IS
  'How many items there are. An answer with fewer is taken for a broken one; set it to 0 to let the service shrink.';
COMMENT ON COLUMN magpie.photo_set.url IS 'Where the items and their validators come from.';

CREATE TABLE magpie.photo (
  id       bigint PRIMARY KEY CHECK (id > 0),
  position int NOT NULL,
  album_id bigint NOT NULL,
  title    text NOT NULL,
  document text NOT NULL
);
CREATE INDEX photo_place ON magpie.photo (position);
CREATE INDEX photo_album ON magpie.photo (album_id, position);
COMMENT ON TABLE magpie.photo IS 'Photos. Changed only by magpie.publish_photos, since servers keep them in memory by the generation.';
COMMENT ON COLUMN magpie.photo.position IS 'The place in the service''s own order, from 1.';
COMMENT ON COLUMN magpie.photo.document IS 'The item as it came.';

CREATE TABLE magpie.album (
  id       bigint PRIMARY KEY CHECK (id > 0),
  position int NOT NULL,
  user_id  bigint NOT NULL,
  title    text NOT NULL,
  document text NOT NULL
);
CREATE INDEX album_place ON magpie.album (position);
COMMENT ON TABLE magpie.album IS 'Albums of photos. Changed only by magpie.publish_photos.';
COMMENT ON COLUMN magpie.album.position IS 'The place in the service''s own order, from 1.';
COMMENT ON COLUMN magpie.album.document IS 'The item as it came.';

-- Readers see the items of before or those of after, never some of both. Whoever holds the same items again changes nothing.
CREATE FUNCTION magpie.publish_photos(
  p_name text, p_ids bigint[], p_parents bigint[], p_titles text[], p_documents text[],
  p_url text, p_etag text, p_last_modified text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_set magpie.photo_set;
  v_changed bigint;
  v_gone bigint;
BEGIN
  SELECT s.* INTO v_set FROM magpie.photo_set s WHERE s.name = p_name FOR UPDATE;
  IF p_name = 'photos' THEN
    INSERT INTO magpie.photo AS p (id, position, album_id, title, document)
    SELECT n.id, n.position, n.parent, n.title, n.document
      FROM unnest(p_ids, p_parents, p_titles, p_documents) WITH ORDINALITY AS n(id, parent, title, document, position)
    ON CONFLICT (id) DO UPDATE SET position = EXCLUDED.position, album_id = EXCLUDED.album_id, title = EXCLUDED.title,
        document = EXCLUDED.document
      WHERE (p.position, p.document) IS DISTINCT FROM (EXCLUDED.position, EXCLUDED.document);
    GET DIAGNOSTICS v_changed = ROW_COUNT;
    DELETE FROM magpie.photo p WHERE NOT EXISTS (SELECT FROM unnest(p_ids) AS n(id) WHERE n.id = p.id);
  ELSE
    INSERT INTO magpie.album AS a (id, position, user_id, title, document)
    SELECT n.id, n.position, n.parent, n.title, n.document
      FROM unnest(p_ids, p_parents, p_titles, p_documents) WITH ORDINALITY AS n(id, parent, title, document, position)
    ON CONFLICT (id) DO UPDATE SET position = EXCLUDED.position, user_id = EXCLUDED.user_id, title = EXCLUDED.title,
        document = EXCLUDED.document
      WHERE (a.position, a.document) IS DISTINCT FROM (EXCLUDED.position, EXCLUDED.document);
    GET DIAGNOSTICS v_changed = ROW_COUNT;
    DELETE FROM magpie.album a WHERE NOT EXISTS (SELECT FROM unnest(p_ids) AS n(id) WHERE n.id = a.id);
  END IF;
  GET DIAGNOSTICS v_gone = ROW_COUNT;
  UPDATE magpie.photo_set s SET
      generation = s.generation + (v_changed + v_gone > 0 OR s.generation = 0)::int,
      expected = cardinality(p_ids), url = p_url, etag = p_etag, last_modified = p_last_modified, validated_at = now(),
      fetched_at = CASE WHEN v_changed + v_gone > 0 OR s.fetched_at IS NULL THEN now() ELSE s.fetched_at END
    WHERE s.name = p_name;
  RETURN v_changed + v_gone;
END $$;
COMMENT ON FUNCTION magpie.publish_photos(text, bigint[], bigint[], text[], text[], text, text, text) IS
  'Makes these items all there are of photos or albums, at once. Arrays run in parallel. Answers how many have changed.';

-- Limits that an upstream never states, since only the operator has them from its owner.
CREATE FUNCTION magpie.set_budget_limit(p_credential text, p_resource text, p_limit int) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  UPDATE magpie.budget b SET window_limit = p_limit, remaining = greatest(0, b.remaining + p_limit - b.window_limit)
   WHERE b.credential = p_credential AND b.resource = p_resource AND b.window_limit <> p_limit
$$;
COMMENT ON FUNCTION magpie.set_budget_limit(text, text, int) IS 'Requests in a window, by the operator''s word. What is spent stays spent.';

GRANT SELECT ON magpie.photo_set, magpie.photo, magpie.album TO magpie_app, magpie_worker, magpie_admin;
GRANT INSERT, UPDATE, DELETE ON magpie.photo, magpie.album TO magpie_worker;
GRANT UPDATE ON magpie.photo_set TO magpie_worker, magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.publish_photos(text, bigint[], bigint[], text[], text[], text, text, text),
  magpie.set_budget_limit(text, text, int) TO magpie_worker;

RESET ROLE;
