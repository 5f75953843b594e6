-- A hundred new people come with each page of a walk. Looking for favorites that await them takes a tenth of the time of
-- storing them, and nearly always no favorite awaits anybody.
SET LOCAL ROLE magpie_owner;

CREATE OR REPLACE FUNCTION magpie.people_came() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE r record;
BEGIN
  -- The condition is that of the index favorite_unresolved.
  IF NOT EXISTS (
    SELECT FROM magpie.favorite f
     WHERE f.kind = 'github-user' AND f.kind IN ('github-user', 'github-repo') AND (f.title = '' OR f.subject_id LIKE '@%'))
  THEN
    RETURN NULL;
  END IF;
  FOR r IN
    SELECT DISTINCT w.id, w.login_key, f.subject_id LIKE '@%' AS by_name
      FROM written w CROSS JOIN LATERAL (
        SELECT f.subject_id FROM magpie.favorite f
         WHERE f.kind = 'github-user' AND f.kind IN ('github-user', 'github-repo') AND (f.title = '' OR f.subject_id LIKE '@%')
           AND f.subject_id = ANY (ARRAY[w.id::text, '@' || w.login_key]) OFFSET 0) AS f
     ORDER BY 1, 3 DESC
  LOOP
    IF r.by_name THEN PERFORM magpie.resolve_favorites('github-user', r.login_key, r.id::text);
    ELSE PERFORM magpie.follow_source('github-user', r.id::text); END IF;
  END LOOP;
  RETURN NULL;
END $$;

RESET ROLE;
