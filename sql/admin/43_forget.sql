-- Erasing a subject for good, and explaining one.
SET LOCAL ROLE magpie_owner;

CREATE OR REPLACE FUNCTION admin.forget_subject(kind text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_login text;
  v_was_there boolean;
  v_walks bigint[];
  v_keys text[];
  v_pictures bytea[];
  v_repos bigint[];
  v_names text[];
BEGIN
  IF forget_subject.kind IS DISTINCT FROM 'github-user' OR forget_subject.id IS NULL OR forget_subject.id <= 0 THEN
    RAISE EXCEPTION 'no such kind or id: %', coalesce(quote_literal(forget_subject.kind), 'NULL') USING ERRCODE = 'MG422',
      HINT = 'The kind that can be forgotten is github-user, with GitHub''s numeric id.';
  END IF;
  INSERT INTO magpie.forgotten (digest, kind) VALUES (magpie.forgotten_digest(forget_subject.kind, forget_subject.id), forget_subject.kind)
  ON CONFLICT DO NOTHING;
  -- What is being stored at this moment is stored first, and erased with the rest. In the order in which workers write.
  LOCK TABLE magpie.github_user, magpie.github_repo, magpie.search_page, magpie.listing, magpie.walk_page, magpie.follow_edge IN SHARE ROW EXCLUSIVE MODE;
  IF (SELECT t.tgenabled = 'D' FROM pg_trigger t WHERE t.tgrelid = 'magpie.github_user'::regclass AND t.tgname = 'refuse_forgotten') THEN
    ALTER TABLE magpie.github_user ENABLE TRIGGER refuse_forgotten;
  END IF;
  SELECT u.login_key INTO v_login FROM magpie.github_user u WHERE u.id = forget_subject.id;
  v_was_there := FOUND;
  v_keys := ARRAY(SELECT l.login_key FROM magpie.github_login l WHERE l.user_id = forget_subject.id)
         || ARRAY['id:' || forget_subject.id] || CASE WHEN v_login IS NOT NULL THEN ARRAY[v_login] ELSE '{}' END;

  v_repos := ARRAY(SELECT r.id FROM magpie.github_repo r WHERE r.owner_id = forget_subject.id);
  v_was_there := v_was_there OR cardinality(v_repos) > 0;
  -- All they were called, but for what somebody else's is called now.
  v_names := ARRAY(SELECT 'id:' || r FROM unnest(v_repos) AS r)
    || ARRAY(SELECT r.name_key FROM magpie.github_repo r WHERE r.id = ANY (v_repos) AND r.name_key IS NOT NULL)
    || ARRAY(SELECT n.name_key FROM magpie.github_repo_name n
              WHERE n.repo_id = ANY (v_repos)
                AND NOT EXISTS (SELECT FROM magpie.github_repo o WHERE o.name_key = n.name_key AND o.id <> ALL (v_repos)));

  -- Out of other people's lists, page by page; places of those behind move up.
  -- Members of other lists are repositories and gists, whose numbers are their own.
  v_walks := ARRAY(SELECT DISTINCT p.walk_id FROM magpie.walk_page p
                     JOIN magpie.walk w ON w.id = p.walk_id JOIN magpie.listing l ON l.id = w.listing_id
                    WHERE p.members @> ARRAY[forget_subject.id] AND l.kind IN ('followers', 'following', 'orgs'));
  UPDATE magpie.walk_page p SET
      members = array_remove(p.members, forget_subject.id),
      documents = ARRAY(SELECT x.document FROM unnest(p.members, p.documents) WITH ORDINALITY AS x(member, document, n)
                         WHERE x.member <> forget_subject.id ORDER BY x.n),
      digests = ARRAY(SELECT x.digest FROM unnest(p.members, p.digests) WITH ORDINALITY AS x(member, digest, n)
                       WHERE x.member <> forget_subject.id ORDER BY x.n)
    WHERE p.walk_id = ANY (v_walks) AND p.members @> ARRAY[forget_subject.id];
  UPDATE magpie.walk_page p SET first = s.first
    FROM (SELECT q.walk_id, q.page, sum(cardinality(q.members)) OVER (PARTITION BY q.walk_id ORDER BY q.page) - cardinality(q.members) AS first
            FROM magpie.walk_page q WHERE q.walk_id = ANY (v_walks)) s
   WHERE p.walk_id = s.walk_id AND p.page = s.page AND p.first <> s.first;
  UPDATE magpie.walk w SET members = w.members - 1, expected = w.expected - 1 WHERE w.id = ANY (v_walks);
  UPDATE magpie.listing l SET member_count = l.member_count - 1 WHERE l.walk_id = ANY (v_walks) AND l.generation > 0;
  DELETE FROM magpie.list_order o WHERE o.id IN (SELECT p.order_id FROM magpie.list_order_page p WHERE p.ids @> ARRAY[forget_subject.id]);
  DELETE FROM magpie.follow_event e WHERE e.member_id = forget_subject.id;
  DELETE FROM magpie.follow_check c WHERE c.member_id = forget_subject.id;
  DELETE FROM magpie.follow_edge e
   WHERE e.member_id = forget_subject.id
      OR e.listing_id IN (SELECT l.id FROM magpie.listing l WHERE l.owner_id = forget_subject.id);

  -- Orders for it, finished ones included, and what the upstream has said of its absence.
  DELETE FROM magpie.job j WHERE j.kind LIKE 'github-%' AND j.subject = ANY (v_keys);
  DELETE FROM magpie.job_done j WHERE j.kind LIKE 'github-%' AND j.subject = ANY (v_keys);
  DELETE FROM magpie.upstream_fact f
   WHERE f.subject IN (SELECT k || ':' || n FROM unnest(v_keys) AS n, unnest(ARRAY['github-user', 'github-followers', 'github-following']) AS k);
  -- The same of repositories. Jobs for commits bear a query behind the name.
  DELETE FROM magpie.job j
   WHERE j.kind IN ('github-repo', 'github-languages', 'github-commits') AND split_part(j.subject, '?', 1) = ANY (v_names);
  DELETE FROM magpie.job_done j
   WHERE j.kind IN ('github-repo', 'github-languages', 'github-commits') AND split_part(j.subject, '?', 1) = ANY (v_names);
  DELETE FROM magpie.upstream_fact f
   WHERE split_part(f.subject, '?', 1) IN (SELECT k || ':' || n FROM unnest(v_names) AS n, unnest(ARRAY['github-repo', 'github-commits']) AS k);
  -- Languages, commits and former names go with them.
  DELETE FROM magpie.github_repo r WHERE r.id = ANY (v_repos);
  -- The trigger leaves out what is forgotten by now.
  UPDATE magpie.search_page p SET ids = p.ids WHERE p.kind = 'repositories';
  UPDATE magpie.search_page p SET
      ids = array_remove(p.ids, forget_subject.id),
      documents = ARRAY(SELECT x.document FROM unnest(p.ids, p.documents) WITH ORDINALITY AS x(found, document, n)
                         WHERE x.found <> forget_subject.id ORDER BY x.n)
    WHERE p.kind = 'users' AND p.ids @> ARRAY[forget_subject.id];
  v_pictures := ARRAY(SELECT a.sha256 FROM magpie.avatar a WHERE a.user_id = forget_subject.id AND a.sha256 IS NOT NULL);
  -- The rest goes with the person: former logins, lists, walks, events, history, prepared orders, pictures.
  DELETE FROM magpie.github_user u WHERE u.id = forget_subject.id;
  DELETE FROM magpie.image i WHERE i.sha256 = ANY (v_pictures) AND NOT EXISTS (SELECT FROM magpie.avatar a WHERE a.sha256 = i.sha256);
  RETURN v_was_there;
END $$;
COMMENT ON FUNCTION admin.forget_subject(text, bigint) IS
  'Erases all that is mirrored of a subject, its repositories, its history and its place in other lists included, and keeps it from being stored again. Favorites stay: they are their accounts'' own. Answers whether anything was known. DELETE FROM magpie.forgotten lets all come back.';

CREATE OR REPLACE FUNCTION magpie.rough(p_span interval) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(date_trunc('second', p_span)::text, 'never')
$$;
COMMENT ON FUNCTION magpie.rough(interval) IS 'A span of time for people, in whole seconds.';
GRANT EXECUTE ON FUNCTION magpie.rough(interval) TO magpie_admin;

-- Why a subject is as it is, line by line.
CREATE OR REPLACE FUNCTION admin.explain(subject text) RETURNS TABLE (what text, answer text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_kind text := split_part(explain.subject, ':', 1);
  v_key text := lower(substr(explain.subject, length(split_part(explain.subject, ':', 1)) + 2));
  v_is_photos constant boolean := v_kind IN ('photos', 'albums');
  v_is_repo constant boolean := v_kind IN ('github-repo', 'github-languages', 'github-commits');
  -- Jobs for commits bear the query of their page in their name; the first is meant, as by refresh.
  v_query constant text := CASE WHEN v_kind = 'github-commits' THEN 'per_page=30' END;
  v_user magpie.github_user;
  v_repo magpie.github_repo;
  v_set magpie.photo_set;
  v_keys text[];
  v_fetched timestamptz;
  v_validated timestamptz;
  v_listing magpie.listing;
  v_walk magpie.walk;
  v_fact magpie.upstream_fact;
  v_job magpie.job;
  v_last magpie.job_done;
  v_gate record;
  v_class int := 0;
  v_checks bigint;
BEGIN
  IF explain.subject IS NULL
     OR NOT (v_kind IN ('github-user', 'github-followers', 'github-following', 'github-repos', 'github-repos-member', 'github-repos-all',
                        'github-gists', 'github-orgs')
             AND v_key ~ '^[a-z0-9_-]{1,60}(\[bot\])?$|^id:[0-9]{1,18}$'
          OR v_is_repo AND v_key ~ '^[a-z0-9_-]{1,60}(\[bot\])?/[a-z0-9_.-]{1,100}$|^id:[0-9]{1,18}$'
          OR v_is_photos AND v_key = 'all') THEN
    RAISE EXCEPTION 'no such subject: %', quote_nullable(explain.subject) USING ERRCODE = 'MG422',
      HINT = 'Subjects are github-user:LOGIN and, with the same login, github-followers, -following, -repos, -repos-member, -repos-all, -gists and -orgs; github-repo:OWNER/NAME and, with the same name, github-languages and -commits; photos:all and albums:all. id:NUMBER may stand for the login or the name.';
  END IF;
  IF v_is_photos THEN
    v_keys := ARRAY[v_key];
  ELSIF v_is_repo THEN
    SELECT r.* INTO v_repo FROM magpie.github_repo r
     WHERE CASE WHEN v_key LIKE 'id:%' THEN r.id = substr(v_key, 4)::bigint ELSE r.name_key = v_key END;
    IF NOT FOUND THEN
      -- A name it had before.
      SELECT r.* INTO v_repo FROM magpie.github_repo_name n JOIN magpie.github_repo r ON r.id = n.repo_id
       WHERE n.name_key = v_key ORDER BY n.seen_until DESC LIMIT 1;
    END IF;
    v_keys := ARRAY[v_key, v_repo.name_key, 'id:' || v_repo.id];
    what := 'repository';
    answer := CASE WHEN v_repo.id IS NULL THEN 'not stored' ELSE format('%s, id %s, %s', v_repo.full_name, v_repo.id, v_repo.state) END;
    RETURN NEXT;
  ELSE
    SELECT u.* INTO v_user FROM magpie.github_user u
     WHERE CASE WHEN v_key LIKE 'id:%' THEN u.id = substr(v_key, 4)::bigint ELSE u.login_key = v_key END;
    v_keys := ARRAY[v_key, v_user.login_key, 'id:' || v_user.id];
    what := 'person';
    answer := CASE WHEN v_user.id IS NULL THEN 'not stored' ELSE format('%s, id %s, %s', v_user.login, v_user.id, v_user.state) END;
    RETURN NEXT;
  END IF;

  what := 'stored';
  IF v_kind IN ('github-user', 'github-repo', 'github-languages', 'github-commits') THEN
    CASE v_kind
      WHEN 'github-user' THEN v_fetched := v_user.profile_fetched_at; v_validated := v_user.profile_validated_at;
      WHEN 'github-repo' THEN v_fetched := v_repo.fetched_at; v_validated := v_repo.validated_at;
      WHEN 'github-languages' THEN
        SELECT l.fetched_at, l.validated_at INTO v_fetched, v_validated FROM magpie.github_languages l WHERE l.repo_id = v_repo.id;
      ELSE
        SELECT c.fetched_at, c.validated_at INTO v_fetched, v_validated
          FROM magpie.github_commits c WHERE c.repo_id = v_repo.id AND c.query = v_query;
    END CASE;
    answer := CASE WHEN v_fetched IS NULL
      THEN CASE v_kind WHEN 'github-user' THEN 'no profile' WHEN 'github-repo' THEN 'no record' WHEN 'github-languages' THEN 'no languages'
             ELSE 'no commits' END
      ELSE format('%s, changed %s ago and confirmed %s ago',
                  CASE v_kind WHEN 'github-user' THEN 'a profile' WHEN 'github-repo' THEN 'a record' WHEN 'github-languages' THEN 'languages'
                    ELSE 'the first page of commits' END,
                  magpie.rough(now() - v_fetched), magpie.rough(now() - v_validated)) END;
  ELSIF v_is_photos THEN
    SELECT s.* INTO v_set FROM magpie.photo_set s WHERE s.name = v_kind;
    answer := CASE WHEN v_set.generation IS NULL OR v_set.generation = 0 THEN format('no %s', v_kind)
      ELSE format('%s %s, changed %s ago and confirmed %s ago', v_set.expected, v_kind, magpie.rough(now() - v_set.fetched_at),
                  magpie.rough(now() - v_set.validated_at)) END;
  ELSE
    SELECT l.* INTO v_listing FROM magpie.listing l WHERE l.owner_id = v_user.id AND 'github-' || l.kind = v_kind;
    answer := CASE WHEN v_listing.id IS NULL THEN 'no list'
      WHEN v_listing.generation = 0 THEN 'a first walk that has not come to its end'
      ELSE format('%s members, changed %s ago and confirmed %s ago, by walk %s', v_listing.member_count,
                  magpie.rough(now() - v_listing.fetched_at), magpie.rough(now() - v_listing.validated_at), v_listing.generation) END;
  END IF;
  RETURN NEXT;

  -- Of a person or a repository facts speak as a whole; that there are no commits is a fact of its own.
  SELECT f.* INTO v_fact FROM magpie.upstream_fact f
   WHERE NOT v_is_photos
     AND (f.subject = ANY (SELECT CASE WHEN v_is_repo THEN 'github-repo:' ELSE 'github-user:' END || k FROM unnest(v_keys) AS k)
       OR v_kind = 'github-commits' AND f.subject = 'github-commits:id:' || v_repo.id)
   ORDER BY f.checked_at DESC LIMIT 1;
  IF FOUND THEN
    what := 'upstream says';
    answer := format('%s, %s ago', v_fact.status, magpie.rough(now() - v_fact.checked_at));
    RETURN NEXT;
  END IF;
  SELECT w.* INTO v_walk FROM magpie.walk w WHERE w.listing_id = v_listing.id AND w.state = 'walking';
  IF FOUND THEN
    what := 'walk';
    answer := format('under way since %s, %s of %s pages', magpie.rough(now() - v_walk.started_at), v_walk.pages,
                     coalesce(v_walk.expected_pages::text, 'unknown'));
    RETURN NEXT;
  END IF;
  SELECT count(*) INTO v_checks FROM magpie.follow_check c WHERE c.listing_id = v_listing.id;
  IF v_checks > 0 THEN
    what := 'checks';
    answer := format('%s missing members are to be looked at singly', v_checks);
    RETURN NEXT;
  END IF;

  IF v_query IS NOT NULL THEN v_keys := ARRAY(SELECT k || '?' || v_query FROM unnest(v_keys) AS k); END IF;
  SELECT j.* INTO v_job FROM magpie.job j
   WHERE j.kind = v_kind AND j.subject = ANY (v_keys) ORDER BY j.priority, j.id LIMIT 1;
  what := 'job';
  IF FOUND THEN
    v_class := v_job.priority;
    answer := format('%s: %s, priority %s, attempt %s of %s', v_job.id, v_job.state, v_job.priority, v_job.attempt, v_job.max_attempts)
      || coalesce(', ' || v_job.wait_reason, '') || coalesce(', last error: ' || v_job.last_error, '');
  ELSE
    SELECT d.* INTO v_last FROM magpie.job_done d
     WHERE d.kind = v_kind AND d.subject = ANY (v_keys) ORDER BY d.finished_at DESC LIMIT 1;
    answer := CASE WHEN FOUND THEN format('none; the last, %s, was %s %s ago', v_last.id, v_last.state, magpie.rough(now() - v_last.finished_at))
      || coalesce(': ' || v_last.last_error, '') ELSE 'none, and none that is remembered' END;
  END IF;
  RETURN NEXT;

  what := 'budget';
  SELECT w.opens_at, w.reason INTO v_gate
    FROM magpie.credential c JOIN magpie.budget b ON b.credential = c.id AND b.resource = 'core',
         magpie.budget_gate(c, b, v_class, 1, now()) w
   WHERE c.pool = CASE WHEN v_is_photos THEN 'photos' ELSE 'github' END AND c.seen_at > now() - interval '30 minutes' ORDER BY w.opens_at LIMIT 1;
  answer := CASE WHEN NOT FOUND THEN 'no worker with a credential has been seen for half an hour'
    WHEN v_gate.reason IS NULL THEN 'open'
    ELSE v_gate.reason || CASE WHEN v_gate.opens_at < 'infinity' THEN format(', opens in %s', magpie.rough(v_gate.opens_at - now())) ELSE '' END END;
  RETURN NEXT;

  what := 'next';
  answer := CASE
    WHEN v_job.id IS NULL THEN 'nothing, until somebody reads it when it is stale, or orders a refresh'
    WHEN EXISTS (SELECT FROM magpie.queue_pause q WHERE q.kind IN ('*', v_kind)) THEN 'nothing, since the queue is paused'
    WHEN v_job.state = 'running' THEN format('it is being fetched, page %s of %s', coalesce(v_job.progress_done, 0), coalesce(v_job.progress_total::text, 'unknown'))
    WHEN v_job.available_at > now() THEN format('tried in %s', magpie.rough(v_job.available_at - now()))
    WHEN NOT EXISTS (SELECT FROM magpie.worker w WHERE w.state <> 'dead') THEN 'it waits for a worker, and there is none'
    ELSE 'it is next in line' END;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION admin.explain(text) IS
  'Why a subject is fresh or stale: what is stored, which job is at it, what its budget says, and what happens next.';

RESET ROLE;
