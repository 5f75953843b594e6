-- Whoever was forgotten is forgotten with all that is theirs.
SET LOCAL ROLE magpie_owner;

-- A repository's record shows whose it is: what belongs to somebody who was forgotten is not stored either.
CREATE FUNCTION magpie.refuse_forgotten_repository() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM magpie.forgotten) AND cardinality(magpie.forgotten_among('github-user', ARRAY[NEW.owner_id])) > 0 THEN
    -- It may have been somebody else's before.
    DELETE FROM magpie.github_repo r WHERE r.id = NEW.id AND r.seen_at <= NEW.seen_at;
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION magpie.refuse_forgotten_repository() IS 'Keeps repositories of people who were forgotten from being stored, whoever tries.';
CREATE TRIGGER refuse_forgotten BEFORE INSERT ON magpie.github_repo FOR EACH ROW
  WHEN (NEW.owner_id IS NOT NULL) EXECUTE FUNCTION magpie.refuse_forgotten_repository();

CREATE FUNCTION magpie.refuse_forgotten_part() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM magpie.forgotten) AND NOT EXISTS (SELECT FROM magpie.github_repo r WHERE r.id = NEW.repo_id) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION magpie.refuse_forgotten_part() IS
  'Leaves out what belongs to a repository that was not stored, since its owner was forgotten: a job about it must not fail for that.';
CREATE TRIGGER refuse_forgotten BEFORE INSERT ON magpie.github_repo_name FOR EACH ROW EXECUTE FUNCTION magpie.refuse_forgotten_part();
CREATE TRIGGER refuse_forgotten BEFORE INSERT ON magpie.github_languages FOR EACH ROW EXECUTE FUNCTION magpie.refuse_forgotten_part();
CREATE TRIGGER refuse_forgotten BEFORE INSERT ON magpie.github_commits FOR EACH ROW EXECUTE FUNCTION magpie.refuse_forgotten_part();

-- As in 0030; whoever asks for a repository that is not stored for that reason is told that there is none.
CREATE OR REPLACE FUNCTION magpie.store_repository(
  p_id bigint, p_document text, p_url text, p_etag text, p_modified text, p_credential text, p_seen_at timestamptz)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.github_repo r
     SET document = p_document, state = 'ok',
         fetched_at = CASE WHEN r.document IS NOT DISTINCT FROM p_document THEN r.fetched_at ELSE now() END,
         validated_at = now(), url = p_url, etag = p_etag, modified = p_modified, credential = p_credential
   WHERE r.id = p_id AND (r.validated_at IS NULL OR r.validated_at <= p_seen_at);
  IF NOT FOUND AND NOT EXISTS (SELECT FROM magpie.github_repo r WHERE r.id = p_id) THEN
    PERFORM magpie.store_repository_absence(lower(p_document::json ->> 'full_name'), p_id, 404, NULL);
    RETURN;
  END IF;
  DELETE FROM magpie.upstream_fact f
   WHERE f.subject = 'github-repo:id:' || p_id
      OR f.subject = (SELECT 'github-repo:' || r.name_key FROM magpie.github_repo r WHERE r.id = p_id);
END $$;

CREATE OR REPLACE FUNCTION magpie.store_repository_move(p_key text, p_id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM magpie.github_repo r WHERE r.id = p_id) THEN
    PERFORM magpie.store_repository_absence(p_key, p_id, 404, NULL);
    RETURN;
  END IF;
  UPDATE magpie.github_repo r SET name_key = NULL WHERE r.name_key = p_key AND r.id <> p_id;
  INSERT INTO magpie.github_repo_name AS n (name_key, repo_id) VALUES (p_key, p_id)
  ON CONFLICT (name_key, repo_id) DO UPDATE SET seen_until = now();
  INSERT INTO magpie.upstream_fact AS f (subject, status) VALUES ('github-repo:' || p_key, 301)
  ON CONFLICT (subject) DO UPDATE SET status = 301, message = '', checked_at = now();
END $$;

-- As in 0051, and for repositories, which have their owners in their documents.
CREATE OR REPLACE FUNCTION magpie.strip_forgotten() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_people bigint[] := NEW.ids;
  v_forgotten bigint[];
BEGIN
  IF NOT EXISTS (SELECT FROM magpie.forgotten) THEN RETURN NEW; END IF;
  IF NEW.kind = 'repositories' THEN
    v_people := ARRAY(SELECT CASE WHEN x.owner ~ '^[0-9]{1,18}$' THEN x.owner::bigint END
                        FROM (SELECT n, document::json #>> '{owner,id}' AS owner FROM unnest(NEW.documents) WITH ORDINALITY AS d(document, n)) x
                       ORDER BY x.n);
  END IF;
  v_forgotten := magpie.forgotten_among('github-user', v_people);
  IF cardinality(v_forgotten) > 0 THEN
    SELECT coalesce(array_agg(x.id ORDER BY x.n), '{}'), coalesce(array_agg(x.document ORDER BY x.n), '{}')
      INTO NEW.ids, NEW.documents
      FROM unnest(NEW.ids, NEW.documents, v_people) WITH ORDINALITY AS x(id, document, person, n)
     WHERE (x.person = ANY (v_forgotten)) IS NOT TRUE;
  END IF;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION magpie.strip_forgotten() IS 'Leaves people who were forgotten, and repositories of theirs, out of what searches have found.';

-- What has stayed of those who were forgotten before.
DELETE FROM magpie.github_repo r
 WHERE magpie.has_forgotten()
   AND r.owner_id = ANY (magpie.forgotten_among('github-user', ARRAY(SELECT DISTINCT o.owner_id FROM magpie.github_repo o)));
UPDATE magpie.search_page s SET ids = s.ids WHERE magpie.has_forgotten() AND s.kind = 'repositories';

RESET ROLE;
