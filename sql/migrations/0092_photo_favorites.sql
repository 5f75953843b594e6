-- Photos among the sources of favorites: a star on a photo knows its title and its pictures, also one that was set before the
-- photos were fetched.
SET LOCAL ROLE magpie_owner;

CREATE FUNCTION magpie.placeholder_path(p_url text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((
    SELECT '/images/placeholder/' || m[1] || '/' || lpad(lower(m[2]), 6, '0') || '.png'
      FROM regexp_match(p_url, '^https?://via\.placeholder\.com/([1-9][0-9]{0,3})/([0-9a-fA-F]{1,6})$') AS m WHERE m IS NOT NULL),
    p_url, '')
$$;
COMMENT ON FUNCTION magpie.placeholder_path(text) IS
  'The path, below this server''s address, of the picture that stands in for one at the dead host; other addresses as they are.';

ALTER FUNCTION magpie.favorite_source(text, text) RENAME TO github_source;
COMMENT ON FUNCTION magpie.github_source(text, text) IS 'magpie.favorite_source for GitHub''s people and repositories.';

CREATE FUNCTION magpie.favorite_source(p_kind text, p_id text)
RETURNS TABLE (title text, subtitle text, url text, image text, state text, name_member text, snapshot jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_kind <> 'photo' THEN
    RETURN QUERY SELECT g.* FROM magpie.github_source(p_kind, p_id) AS g;
  ELSIF p_id ~ '^[1-9][0-9]{0,17}$' THEN
    RETURN QUERY
      SELECT left(p.title, 500), left(coalesce(a.title, ''), 500),
             left(magpie.placeholder_path(d.d ->> 'url'), 2000), left(magpie.placeholder_path(d.d ->> 'thumbnailUrl'), 2000),
             'ok', 'title', CASE WHEN octet_length(d.d::text) <= 40000 THEN d.d END
        FROM magpie.photo p CROSS JOIN LATERAL (SELECT p.document::jsonb AS d) AS d
             LEFT JOIN magpie.album a ON a.id = p.album_id
       WHERE p.id = p_id::bigint;
  END IF;
END $$;
COMMENT ON FUNCTION magpie.favorite_source(text, text) IS
  'What is stored of the thing behind a favorite: title, subtitle, addresses, state, which member of a snapshot has its name, and the whole of it.';

CREATE FUNCTION magpie.follow_photos() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM magpie.follow_source('photo', f.subject_id)
     FROM (SELECT DISTINCT x.subject_id FROM magpie.favorite x WHERE x.kind = 'photo' ORDER BY 1) AS f;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.follow_photos() IS 'Brings the favorites of photos up to what is stored, when a new generation is.';
CREATE TRIGGER follow_photos AFTER UPDATE OF generation ON magpie.photo_set
  FOR EACH ROW WHEN (OLD.generation <> NEW.generation) EXECUTE FUNCTION magpie.follow_photos();

GRANT EXECUTE ON FUNCTION magpie.favorite_source(text, text), magpie.placeholder_path(text) TO magpie_admin;

RESET ROLE;
