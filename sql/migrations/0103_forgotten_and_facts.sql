-- Pages of lists have members of three kinds: accounts, repositories, and gists by numbers of ours. Only accounts are forgotten, and
-- a repository or a gist that happens to have the same number is not one.
SET LOCAL ROLE magpie_owner;

CREATE OR REPLACE FUNCTION magpie.refuse_forgotten_page() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM magpie.forgotten)
     AND (SELECT l.kind IN ('followers', 'following', 'orgs')
            FROM magpie.walk w JOIN magpie.listing l ON l.id = w.listing_id WHERE w.id = NEW.walk_id)
     AND cardinality(magpie.forgotten_among('github-user', NEW.members)) > 0 THEN
    RAISE EXCEPTION 'a page shows somebody who was forgotten' USING ERRCODE = 'MG409';
  END IF;
  RETURN NEW;
END $$;

-- What the upstream says is not there is a fact for minutes. Whoever mistypes a name must not leave a row for good.
CREATE INDEX upstream_fact_checked ON magpie.upstream_fact (checked_at) WHERE status IN (404, 410);

CREATE FUNCTION magpie.sweep_facts(p_older_than interval DEFAULT '1 day', p_limit int DEFAULT 5000) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_count int;
BEGIN
  DELETE FROM magpie.upstream_fact d WHERE d.subject IN (
    SELECT f.subject FROM magpie.upstream_fact f
     WHERE f.status IN (404, 410) AND f.checked_at < now() - p_older_than
       -- Of a repository that is known it says since when it is gone.
       AND NOT EXISTS (SELECT FROM magpie.github_repo r
                        WHERE r.id = CASE WHEN f.subject ~ '^github-repo:id:[0-9]{1,18}$' THEN substr(f.subject, 16)::bigint END
                          AND r.state <> 'ok')
     ORDER BY f.checked_at LIMIT p_limit FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;
COMMENT ON FUNCTION magpie.sweep_facts(interval, int) IS
  'Forgets what was not there a day ago, some at a time. Answers how many: as many as were allowed means that there may be more.';
REVOKE EXECUTE ON FUNCTION magpie.sweep_facts(interval, int) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION magpie.sweep_facts(interval, int) TO magpie_worker;

RESET ROLE;
