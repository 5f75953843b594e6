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
  IF v_kind NOT IN ('github-user', 'github-followers', 'github-following') OR v_key !~ '^[a-z0-9_-]{1,60}(\[bot\])?$|^id:[0-9]{1,18}$' THEN
    RAISE EXCEPTION 'no such subject: %', quote_literal(refresh.subject) USING ERRCODE = 'MG422',
      HINT = 'Subjects are github-user:LOGIN, github-followers:LOGIN and github-following:LOGIN, or with id:NUMBER for the login.';
  END IF;
  IF v_priority IS NULL THEN
    RAISE EXCEPTION 'no such priority: %', quote_literal(refresh.priority) USING ERRCODE = 'MG422',
      HINT = 'Priorities are interactive, soon, background and idle.';
  END IF;
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
    FROM magpie.listing l JOIN magpie.github_user u ON u.id = l.owner_id LEFT JOIN magpie.walk w ON w.id = l.walk_id;
COMMENT ON VIEW admin.freshness IS 'What is mirrored, and since when it is known to be true.';

RESET ROLE;
