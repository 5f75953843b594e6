-- Filtered lists that do not read everything, and what apps count.

SET LOCAL ROLE magpie_owner;

-- The indexes behind filters are GIN, and conditions of that sort may not pass row-level security into an index, since their
-- operators could tell of rows that the caller must not see. This function looks for the caller alone, and gives keys only: the
-- rows are read by the caller's own rights.
CREATE FUNCTION magpie.favorite_candidates(p_kind text, p_tag text, p_text text, p_collection uuid, p_limit int)
RETURNS TABLE (kind text, subject_id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 100 AS $$
DECLARE
  v_account constant bigint := magpie.current_account();
  v_pattern constant text := magpie.like_containing(magpie.fold(p_text));
BEGIN
  IF p_limit = 0 THEN RETURN; END IF;
  IF p_collection IS NOT NULL THEN
    RETURN QUERY SELECT c.kind, c.subject_id FROM magpie.favorite_collection c
      WHERE c.account_id = v_account AND c.collection_id = p_collection AND (p_kind IS NULL OR c.kind = p_kind) LIMIT p_limit;
  ELSIF p_tag IS NOT NULL THEN
    RETURN QUERY SELECT f.kind, f.subject_id FROM magpie.favorite f
      WHERE f.account_id = v_account AND f.tags @> ARRAY[p_tag] AND (p_kind IS NULL OR f.kind = p_kind)
        AND (v_pattern IS NULL OR f.search LIKE v_pattern) LIMIT p_limit;
  ELSIF p_text IS NOT NULL THEN
    RETURN QUERY SELECT f.kind, f.subject_id FROM magpie.favorite f
      WHERE f.account_id = v_account AND f.search LIKE v_pattern AND (p_kind IS NULL OR f.kind = p_kind) LIMIT p_limit;
  ELSE
    RETURN QUERY SELECT f.kind, f.subject_id FROM magpie.favorite f
      WHERE f.account_id = v_account AND f.kind = p_kind LIMIT p_limit;
  END IF;
END $$;
COMMENT ON FUNCTION magpie.favorite_candidates(text, text, text, uuid, int) IS
  'Some of the caller''s favorites, among which are all that a filter lets through unless there are more than the limit. By way of the rarest of the filter''s conditions.';
GRANT EXECUTE ON FUNCTION magpie.favorite_candidates(text, text, text, uuid, int) TO magpie_app;

CREATE TABLE magpie.activity (
  account_id bigint NOT NULL REFERENCES magpie.account ON DELETE CASCADE,
  kind       text NOT NULL CHECK (kind IN ('copied', 'shared', 'opened')),
  count      bigint NOT NULL DEFAULT 0,
  subject    text NOT NULL DEFAULT '' CHECK (length(subject) <= 220),
  last_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, kind)
) WITH (fillfactor = 70);
COMMENT ON TABLE magpie.activity IS 'How often an account''s apps have copied, shared or opened something. Numbers, and the last thing; no history.';
COMMENT ON COLUMN magpie.activity.subject IS 'What it was the last time, as kind:id.';
ALTER TABLE magpie.activity ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.activity FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON magpie.activity TO magpie_app
  USING (account_id = magpie.current_account()) WITH CHECK (account_id = magpie.current_account());
CREATE POLICY all_rows ON magpie.activity TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON magpie.activity TO magpie_app, magpie_admin;

RESET ROLE;
