-- The mirror for administrators.
SET LOCAL ROLE magpie_owner;

CREATE OR REPLACE FUNCTION admin.refresh(subject text, priority text DEFAULT 'background') RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_kind text := coalesce(split_part(refresh.subject, ':', 1), '');
  v_key text := lower(substr(refresh.subject, length(split_part(refresh.subject, ':', 1)) + 2));
  v_priority int := CASE refresh.priority WHEN 'interactive' THEN 0 WHEN 'soon' THEN 1 WHEN 'background' THEN 2 WHEN 'idle' THEN 3 END;
  v_id bigint;
BEGIN
  IF NOT (v_kind IN ('github-user', 'github-followers', 'github-following', 'github-repos', 'github-gists', 'github-orgs')
          AND v_key ~ '^[a-z0-9_-]{1,60}(\[bot\])?$|^id:[0-9]{1,18}$'
       OR v_kind IN ('github-repo', 'github-languages', 'github-commits')
          AND v_key ~ '^[a-z0-9_-]{1,60}(\[bot\])?/[a-z0-9_.-]{1,100}$|^id:[0-9]{1,18}$'
       OR v_kind IN ('photos', 'albums') AND v_key = 'all') THEN
    RAISE EXCEPTION 'no such subject: %', quote_literal(refresh.subject) USING ERRCODE = 'MG422',
      HINT = 'Subjects are github-user:LOGIN and, with the same login, github-followers, -following, -repos, -gists and -orgs; github-repo:OWNER/NAME and, with the same name, github-languages and -commits; photos:all and albums:all. id:NUMBER may stand for the login or the name.';
  END IF;
  IF v_priority IS NULL THEN
    RAISE EXCEPTION 'no such priority: %', quote_literal(refresh.priority) USING ERRCODE = 'MG422',
      HINT = 'Priorities are interactive, soon, background and idle.';
  END IF;
  -- Of commits the first page is meant, whose job bears the page's query in its name.
  IF v_kind = 'github-commits' THEN v_key := v_key || '?per_page=30'; END IF;
  SELECT j.id INTO v_id FROM magpie.request_job(v_kind, v_key, p_priority => v_priority) AS j;
  RETURN v_id;
END $$;
COMMENT ON FUNCTION admin.refresh(text, text) IS
  'Orders a refresh of a subject such as github-followers:octocat and returns the job''s id; asking again is one job.';

DROP VIEW IF EXISTS admin.freshness;
CREATE VIEW admin.freshness WITH (security_invoker = true) AS
  SELECT 'github-user:' || u.login AS subject, u.state, u.profile_fetched_at AS fetched_at, u.profile_validated_at AS validated_at,
         NULL::bigint AS members, NULL::int AS generation
    FROM magpie.github_user u WHERE u.profile IS NOT NULL
  UNION ALL
  SELECT 'github-' || l.kind || ':' || u.login, CASE WHEN l.generation = 0 THEN 'walking' ELSE u.state END, l.fetched_at, l.validated_at,
         coalesce(w.members, 0), l.generation
    FROM magpie.listing l JOIN magpie.github_user u ON u.id = l.owner_id LEFT JOIN magpie.walk w ON w.id = l.walk_id
  UNION ALL
  SELECT 'github-repo:' || r.full_name, r.state, r.fetched_at, r.validated_at, NULL, NULL
    FROM magpie.github_repo r WHERE r.document IS NOT NULL
  UNION ALL
  SELECT 'github-languages:' || r.full_name, r.state, l.fetched_at, l.validated_at, NULL, NULL
    FROM magpie.github_languages l JOIN magpie.github_repo r ON r.id = l.repo_id
  UNION ALL
  SELECT 'github-commits:' || r.full_name, r.state, c.fetched_at, c.validated_at, NULL, NULL
    FROM magpie.github_commits c JOIN magpie.github_repo r ON r.id = c.repo_id WHERE c.query = 'per_page=30'
  UNION ALL
  SELECT s.name || ':all', 'ok', s.fetched_at, s.validated_at, s.expected, s.generation::int
    FROM magpie.photo_set s WHERE s.generation > 0;
COMMENT ON VIEW admin.freshness IS 'What is mirrored, and since when it is known to be true.';

RESET ROLE;
