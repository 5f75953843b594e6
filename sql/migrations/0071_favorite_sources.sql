-- Favorites know their sources: what the mirror knows is filled in and followed, and what is named by login or by owner and
-- name becomes the real thing when its id is known.

SET LOCAL ROLE magpie_owner;

CREATE INDEX favorite_unresolved ON magpie.favorite (kind, subject_id)
  WHERE kind IN ('github-user', 'github-repo') AND (title = '' OR subject_id LIKE '@%');

-- What is stored of the thing behind a favorite. No row when nothing is.
CREATE FUNCTION magpie.favorite_source(p_kind text, p_id text)
RETURNS TABLE (title text, subtitle text, url text, image text, state text, name_member text, snapshot jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_id !~ '^[1-9][0-9]{0,17}$' THEN RETURN; END IF;
  IF p_kind = 'github-user' THEN
    RETURN QUERY
      SELECT u.login, left(coalesce(u.name, ''), 500),
             left(coalesce(CASE WHEN p.d ->> 'login' = u.login THEN p.d ->> 'html_url' END,
                           CASE WHEN s.d ->> 'login' = u.login THEN s.d ->> 'html_url' END,
                           'https://github.com/' || u.login), 2000),
             left(u.avatar_url, 2000), u.state, 'login',
             CASE WHEN octet_length(coalesce(p.d, s.d)::text) <= 40000 THEN coalesce(p.d, s.d) END
        FROM magpie.github_user u
             CROSS JOIN LATERAL (SELECT u.profile::jsonb AS d) AS p CROSS JOIN LATERAL (SELECT u.summary::jsonb AS d) AS s
       WHERE u.id = p_id::bigint;
  ELSIF p_kind = 'github-repo' THEN
    RETURN QUERY
      SELECT left(r.full_name, 500), left(coalesce(d.d ->> 'description', ''), 500),
             left(coalesce(CASE WHEN d.d ->> 'full_name' = r.full_name THEN d.d ->> 'html_url' END,
                           'https://github.com/' || r.full_name), 2000),
             left(coalesce(d.d #>> '{owner,avatar_url}', ''), 2000),
             CASE r.state WHEN 'blocked' THEN 'restricted' ELSE r.state END, 'full_name',
             CASE WHEN octet_length(d.d::text) <= 40000 THEN d.d END
        FROM magpie.github_repo r
             CROSS JOIN LATERAL (SELECT CASE WHEN r.document IS NULL OR r.validated_at < r.summary_at THEN coalesce(r.summary, r.document)
                                             ELSE r.document END::jsonb AS d) AS d
       WHERE r.id = p_id::bigint;
  END IF;
END $$;
COMMENT ON FUNCTION magpie.favorite_source(text, text) IS
  'What is stored of the thing behind a favorite: title, subtitle, addresses, state, which member of a snapshot has its name, and the whole of it.';

CREATE FUNCTION magpie.favorite_state(p_state text, p_title text, p_known_as text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_state = 'ok' AND lower(p_known_as) <> lower(p_title) THEN 'renamed' ELSE p_state END;
COMMENT ON FUNCTION magpie.favorite_state(text, text, text) IS
  'renamed is what is there under another name than the one in the favorite''s snapshot.';

CREATE OR REPLACE FUNCTION magpie.favorite_before() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_old magpie.favorite_tombstone;
  v_source record;
  v_version bigint;
BEGIN
  NEW.tags := ARRAY(SELECT DISTINCT t COLLATE "C" FROM unnest(NEW.tags) AS t ORDER BY 1);
  NEW.collections := ARRAY(SELECT DISTINCT c FROM unnest(NEW.collections) AS c ORDER BY 1);
  IF TG_OP = 'UPDATE' THEN
    IF (NEW.account_id, NEW.kind, NEW.subject_id) IS DISTINCT FROM (OLD.account_id, OLD.kind, OLD.subject_id) THEN
      RAISE EXCEPTION 'a favorite cannot become another one: delete and insert' USING ERRCODE = 'MG422';
    END IF;
    -- Writing the same again changes nothing, so it raises no version either.
    NEW.version := OLD.version; NEW.updated_at := OLD.updated_at;
    NEW.search := OLD.search; NEW.title_key := OLD.title_key; NEW.document := OLD.document;
    IF NEW IS NOT DISTINCT FROM OLD THEN RETURN NEW; END IF;
  END IF;
  v_version := magpie.next_version(NEW.account_id);
  IF v_version IS NULL THEN
    IF TG_OP = 'UPDATE' THEN RETURN NEW; END IF;  -- the account itself is being deleted
    RAISE EXCEPTION 'there is no account with the id %', coalesce(NEW.account_id::text, 'NULL') USING ERRCODE = 'MG404',
      HINT = 'admin.accounts lists them, and admin.account_id(''NAME'') gives the id of one.';
  END IF;
  NEW.version := v_version;
  IF TG_OP = 'INSERT' THEN
    IF NEW.subject_id LIKE '@%' AND NEW.kind LIKE 'github-%' THEN
      -- By name: it waits for its id.
      IF NOT (CASE NEW.kind WHEN 'github-user' THEN NEW.subject_id ~* '^@[a-z0-9_-]{1,60}(\[bot\])?$'
                           ELSE NEW.subject_id ~* '^@[a-z0-9_-]{1,60}(\[bot\])?/[a-z0-9_.-]{1,100}$' END) THEN
        RAISE EXCEPTION 'no such name can be: %', quote_literal(NEW.subject_id) USING ERRCODE = 'MG422',
          HINT = 'People are @LOGIN, repositories @OWNER/NAME, as long as their ids are not known.';
      END IF;
      IF NEW.title = '' THEN NEW.title := substr(NEW.subject_id, 2); END IF;
      IF NEW.url = '' THEN NEW.url := 'https://github.com/' || substr(NEW.subject_id, 2); END IF;
      NEW.subject_id := lower(NEW.subject_id);
      NEW.state := CASE WHEN NEW.state = 'ok' THEN 'pending' ELSE NEW.state END;
    END IF;
    DELETE FROM magpie.favorite_tombstone t
     WHERE t.account_id = NEW.account_id AND t.kind = NEW.kind AND t.subject_id = NEW.subject_id
    RETURNING t.* INTO v_old;
    IF FOUND THEN
      NEW.note := CASE WHEN NEW.note = '' THEN v_old.note ELSE NEW.note END;
      NEW.tags := CASE WHEN NEW.tags = '{}' THEN v_old.tags ELSE NEW.tags END;
      NEW.rank := CASE WHEN NEW.rank = '' THEN v_old.rank ELSE NEW.rank END;
      NEW.title := CASE WHEN NEW.title = '' THEN v_old.title ELSE NEW.title END;
      NEW.subtitle := CASE WHEN NEW.subtitle = '' THEN v_old.subtitle ELSE NEW.subtitle END;
      NEW.url := CASE WHEN NEW.url = '' THEN v_old.url ELSE NEW.url END;
      NEW.image := CASE WHEN NEW.image = '' THEN v_old.image ELSE NEW.image END;
      NEW.snapshot := coalesce(NEW.snapshot, v_old.snapshot);
      IF NEW.collections = '{}' AND v_old.collections <> '{}' THEN
        NEW.collections := ARRAY(SELECT c.id FROM magpie.collection c
                                  WHERE c.account_id = NEW.account_id AND c.id = ANY (v_old.collections) ORDER BY 1);
      END IF;
    END IF;
    -- What the mirror has is newer than what an app, a tombstone or a hand has.
    SELECT s.* INTO v_source FROM magpie.favorite_source(NEW.kind, NEW.subject_id) AS s;
    IF FOUND THEN
      NEW.title := v_source.title; NEW.subtitle := v_source.subtitle; NEW.url := v_source.url; NEW.image := v_source.image;
      NEW.snapshot := coalesce(NEW.snapshot, v_source.snapshot);
      NEW.state := magpie.favorite_state(v_source.state, v_source.title, NEW.snapshot ->> v_source.name_member);
    END IF;
  END IF;
  IF NEW.collections <> '{}' AND (TG_OP = 'INSERT' OR NEW.collections IS DISTINCT FROM OLD.collections)
     AND (SELECT count(*) FROM magpie.collection c WHERE c.account_id = NEW.account_id AND c.id = ANY (NEW.collections))
         < cardinality(NEW.collections) THEN
    RAISE EXCEPTION 'no such collection' USING ERRCODE = 'MG424', HINT = 'Collections are made before things are put into them.';
  END IF;
  NEW.updated_at := now();
  NEW.search := magpie.fold(concat_ws(' ', NEW.title, NEW.subtitle, NEW.url, NEW.note, array_to_string(NEW.tags, ' ')));
  NEW.title_key := left(magpie.fold(NEW.title), 200);
  NEW.document := format(
    '{"kind":%s,"id":%s,"title":%s,"subtitle":%s,"url":%s,"image":%s,"state":%s,"note":%s,"tags":%s,"collections":%s,"rank":%s,'
      '"added_at":"%s","updated_at":"%s","version":%s,"snapshot":%s}',
    to_json(NEW.kind), to_json(NEW.subject_id), to_json(NEW.title), to_json(NEW.subtitle), to_json(NEW.url), to_json(NEW.image),
    to_json(NEW.state), to_json(NEW.note), to_json(NEW.tags), to_json(NEW.collections), to_json(NEW.rank),
    magpie.json_time(NEW.added_at), magpie.json_time(NEW.updated_at), NEW.version, coalesce(NEW.snapshot::text, 'null'));
  RETURN NEW;
END $$;

-- All favorites of one thing, after the mirror has learned something of it. Accounts in order, so that two who do this wait
-- for each other instead of both.
CREATE FUNCTION magpie.follow_source(p_kind text, p_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  s record;
  v_account bigint;
BEGIN
  SELECT x.* INTO s FROM magpie.favorite_source(p_kind, p_id) AS x;
  IF NOT FOUND THEN RETURN; END IF;
  FOR v_account IN
    SELECT f.account_id FROM magpie.favorite f
     WHERE f.kind = p_kind AND f.subject_id = p_id
       AND (f.title, f.subtitle, f.url, f.image, f.state) IS DISTINCT FROM
           (s.title, s.subtitle, s.url, s.image, magpie.favorite_state(s.state, s.title, coalesce(f.snapshot, s.snapshot) ->> s.name_member))
     ORDER BY 1
  LOOP
    UPDATE magpie.favorite f
       SET title = s.title, subtitle = s.subtitle, url = s.url, image = s.image,
           state = magpie.favorite_state(s.state, s.title, coalesce(f.snapshot, s.snapshot) ->> s.name_member),
           snapshot = coalesce(f.snapshot, s.snapshot)
     WHERE f.account_id = v_account AND f.kind = p_kind AND f.subject_id = p_id;
  END LOOP;
END $$;
COMMENT ON FUNCTION magpie.follow_source(text, text) IS
  'Brings all favorites of one thing up to what is stored of it. Snapshots stay: they are how it was when it was starred.';

-- What was starred by name becomes what it is. The earlier time stays; of notes, tags and places nothing is lost.
CREATE FUNCTION magpie.resolve_favorites(p_kind text, p_name text, p_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_account bigint;
  p magpie.favorite;
BEGIN
  FOR v_account IN
    SELECT f.account_id FROM magpie.favorite f WHERE f.kind = p_kind AND f.subject_id = '@' || p_name ORDER BY 1
  LOOP
    -- The row is gone before the other comes: an account may be full.
    DELETE FROM magpie.favorite f WHERE f.account_id = v_account AND f.kind = p_kind AND f.subject_id = '@' || p_name
    RETURNING f.* INTO p;
    CONTINUE WHEN NOT FOUND;
    UPDATE magpie.favorite f
       SET added_at = least(f.added_at, p.added_at),
           note = CASE WHEN p.note = '' OR p.note = f.note THEN f.note WHEN f.note = '' THEN p.note
                       WHEN octet_length(f.note) + octet_length(p.note) <= 9998 THEN f.note || E'\n\n' || p.note ELSE f.note END,
           tags = (ARRAY(SELECT DISTINCT t FROM unnest(f.tags || p.tags) AS t ORDER BY 1))[:100],
           collections = (ARRAY(SELECT DISTINCT c FROM unnest(f.collections || p.collections) AS c ORDER BY 1))[:100],
           rank = CASE WHEN f.rank = '' THEN p.rank ELSE f.rank END
     WHERE f.account_id = v_account AND f.kind = p_kind AND f.subject_id = p_id;
    IF NOT FOUND THEN
      INSERT INTO magpie.favorite (account_id, kind, subject_id, title, subtitle, url, image, note, tags, collections, rank, added_at, snapshot)
      VALUES (v_account, p_kind, p_id, p.title, p.subtitle, p.url, p.image, p.note, p.tags, p.collections, p.rank, p.added_at, p.snapshot);
    END IF;
  END LOOP;
END $$;
COMMENT ON FUNCTION magpie.resolve_favorites(text, text, text) IS
  'Turns favorites by name into those of the id that bears it, joined with what is there. The names leave tombstones.';

CREATE FUNCTION magpie.people_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.login_key IS DISTINCT FROM OLD.login_key
     AND EXISTS (SELECT FROM magpie.favorite f WHERE f.kind = 'github-user' AND f.subject_id = '@' || NEW.login_key) THEN
    PERFORM magpie.resolve_favorites('github-user', NEW.login_key, NEW.id::text);
  END IF;
  IF EXISTS (SELECT FROM magpie.favorite f WHERE f.kind = 'github-user' AND f.subject_id = NEW.id::text) THEN
    PERFORM magpie.follow_source('github-user', NEW.id::text);
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.people_changed() IS 'Tells favorites that a person is called otherwise, looks otherwise, is gone or is back.';
CREATE TRIGGER favorites_follow AFTER UPDATE ON magpie.github_user FOR EACH ROW
  WHEN (OLD.login IS DISTINCT FROM NEW.login OR OLD.login_key IS DISTINCT FROM NEW.login_key OR OLD.name IS DISTINCT FROM NEW.name
        OR OLD.avatar_url IS DISTINCT FROM NEW.avatar_url OR OLD.state IS DISTINCT FROM NEW.state
        OR OLD.profile IS NULL AND NEW.profile IS NOT NULL)
  EXECUTE FUNCTION magpie.people_changed();

-- Hundreds of new people come at once, and hardly ever is one of them awaited.
CREATE FUNCTION magpie.people_came() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE r record;
BEGIN
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
COMMENT ON FUNCTION magpie.people_came() IS 'Tells favorites that people are known from now on.';
CREATE TRIGGER favorites_await AFTER INSERT ON magpie.github_user REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION magpie.people_came();

CREATE FUNCTION magpie.repositories_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.name_key IS NOT NULL
     AND EXISTS (SELECT FROM magpie.favorite f WHERE f.kind = 'github-repo' AND f.subject_id = '@' || NEW.name_key) THEN
    PERFORM magpie.resolve_favorites('github-repo', NEW.name_key, NEW.id::text);
  END IF;
  IF EXISTS (SELECT FROM magpie.favorite f WHERE f.kind = 'github-repo' AND f.subject_id = NEW.id::text) THEN
    PERFORM magpie.follow_source('github-repo', NEW.id::text);
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.repositories_changed() IS 'Tells favorites that a repository is known, called otherwise, blocked, gone or back.';
-- A repository is noted first and then given its summary or record, so that no trigger on INSERT is needed.
CREATE TRIGGER favorites_follow AFTER UPDATE ON magpie.github_repo FOR EACH ROW
  WHEN (OLD.full_name IS DISTINCT FROM NEW.full_name OR OLD.name_key IS DISTINCT FROM NEW.name_key OR OLD.state IS DISTINCT FROM NEW.state
        OR OLD.search IS DISTINCT FROM NEW.search
        OR OLD.summary IS NULL AND NEW.summary IS NOT NULL OR OLD.document IS NULL AND NEW.document IS NOT NULL)
  EXECUTE FUNCTION magpie.repositories_changed();

-- What the upstream says of a name that favorites wait for: there is nobody, or it leads elsewhere.
CREATE FUNCTION magpie.names_answered() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_kind constant text := split_part(NEW.subject, ':', 1);
  v_name constant text := substr(NEW.subject, length(split_part(NEW.subject, ':', 1)) + 2);
  v_id text;
  v_account bigint;
BEGIN
  IF NEW.status = 301 THEN
    SELECT n.repo_id::text INTO v_id FROM magpie.github_repo_name n WHERE n.name_key = v_name ORDER BY n.seen_until DESC LIMIT 1;
    IF FOUND THEN PERFORM magpie.resolve_favorites(v_kind, v_name, v_id); END IF;
    RETURN NULL;
  END IF;
  FOR v_account IN
    SELECT f.account_id FROM magpie.favorite f WHERE f.kind = v_kind AND f.subject_id = '@' || v_name ORDER BY 1
  LOOP
    UPDATE magpie.favorite f SET state = CASE WHEN NEW.status IN (403, 451) THEN 'restricted' ELSE 'gone' END
     WHERE f.account_id = v_account AND f.kind = v_kind AND f.subject_id = '@' || v_name;
  END LOOP;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.names_answered() IS
  'A favorite by a name that nobody bears is gone, and stays until it is removed, or until somebody bears the name.';
CREATE TRIGGER favorites_answered AFTER INSERT OR UPDATE ON magpie.upstream_fact FOR EACH ROW
  WHEN (NEW.subject LIKE 'github-user:%' OR NEW.subject LIKE 'github-repo:%') EXECUTE FUNCTION magpie.names_answered();

-- A favorite by name asks for itself, whoever has written it.
CREATE FUNCTION magpie.favorite_awaits() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM magpie.await_favorites(NEW.kind, substr(NEW.subject_id, 2), 2, NEW.account_id);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.favorite_awaits() IS 'Has the id of a favorite by name looked up.';

CREATE FUNCTION magpie.await_favorites(p_kind text, p_name text, p_priority int, p_account bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_id bigint;
BEGIN
  IF p_kind = 'github-user' THEN
    SELECT u.id INTO v_id FROM magpie.github_user u WHERE u.login_key = p_name AND u.state <> 'gone';
  ELSE
    SELECT r.id INTO v_id FROM magpie.github_repo r
     WHERE r.name_key = p_name AND r.state <> 'gone' AND (r.summary IS NOT NULL OR r.document IS NOT NULL);
  END IF;
  IF v_id IS NOT NULL THEN
    PERFORM magpie.resolve_favorites(p_kind, p_name, v_id::text);
    RETURN true;
  END IF;
  PERFORM magpie.request_job(p_kind, p_name, p_priority => p_priority, p_again => false, p_account => p_account);
  RETURN false;
END $$;
COMMENT ON FUNCTION magpie.await_favorites(text, text, int, bigint) IS
  'Resolves favorites by a name that is known by now, or else orders its look-up. Answers whether it was known.';
CREATE TRIGGER awaits AFTER INSERT ON magpie.favorite FOR EACH ROW
  WHEN (NEW.subject_id LIKE '@%' AND NEW.kind LIKE 'github-%') EXECUTE FUNCTION magpie.favorite_awaits();

-- Nothing waits for ever because a job was given up or a notice lost: the worker goes through what waits.
CREATE FUNCTION magpie.await_favorites(p_limit int) RETURNS int
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  r record;
  v_count int := 0;
BEGIN
  FOR r IN
    SELECT DISTINCT f.kind, f.subject_id FROM magpie.favorite f
     WHERE f.kind IN ('github-user', 'github-repo') AND (f.title = '' OR f.subject_id LIKE '@%') AND f.subject_id LIKE '@%'
       AND f.state = 'pending'
       AND NOT EXISTS (SELECT FROM magpie.job j WHERE j.kind = f.kind AND j.subject = substr(f.subject_id, 2))
       AND NOT EXISTS (SELECT FROM magpie.job_done d WHERE d.state = 'discarded' AND d.kind = f.kind AND d.subject = substr(f.subject_id, 2)
                          AND d.finished_at > now() - interval '10 minutes')
     LIMIT p_limit
  LOOP
    PERFORM magpie.await_favorites(r.kind, substr(r.subject_id, 2), 3, NULL);
    v_count := v_count + 1;
  END LOOP;
  RETURN v_count;
END $$;
COMMENT ON FUNCTION magpie.await_favorites(int) IS
  'Has favorites by name looked up again whose job is over without an answer; how many names were asked for.';
GRANT EXECUTE ON FUNCTION magpie.await_favorites(int) TO magpie_worker, magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.favorite_source(text, text), magpie.follow_source(text, text) TO magpie_admin;

RESET ROLE;
