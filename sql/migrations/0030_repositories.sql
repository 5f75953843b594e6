-- The mirror's repositories, with their languages and commits, and lists of repositories, gists and organizations.
-- A repository is its numeric id; names are attributes that change hands, as logins are.

SET LOCAL ROLE magpie_owner;

ALTER TABLE magpie.listing DROP CONSTRAINT listing_kind_check;
ALTER TABLE magpie.listing ADD CONSTRAINT listing_kind_check
  CHECK (kind IN ('followers', 'following', 'repos', 'repos-member', 'repos-all', 'gists', 'orgs'));

ALTER TABLE magpie.upstream_fact DROP CONSTRAINT upstream_fact_status_check;
ALTER TABLE magpie.upstream_fact ADD CONSTRAINT upstream_fact_status_check
  CHECK (status IN (301, 403, 404, 409, 410, 451));

CREATE TABLE magpie.github_repo (
  id            bigint PRIMARY KEY,
  full_name     text NOT NULL,
  name_key      text COLLATE "C" UNIQUE,
  name          text NOT NULL,
  owner_id      bigint,
  state         text NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'blocked', 'gone')),
  language      text,
  is_fork       boolean NOT NULL DEFAULT false,
  stars         bigint NOT NULL DEFAULT 0,
  created_at    timestamptz,
  updated_at    timestamptz,
  pushed_at     timestamptz,
  search        text NOT NULL,
  first_seen_at timestamptz NOT NULL DEFAULT now(),
  seen_at       timestamptz NOT NULL,
  summary       text,
  summary_at    timestamptz,
  digest        bigint,
  document      text,
  fetched_at    timestamptz,
  validated_at  timestamptz,
  url           text,
  etag          text,
  modified      text,
  credential    text
) WITH (fillfactor = 90);
CREATE INDEX github_repo_owner ON magpie.github_repo (owner_id);
CREATE INDEX github_repo_search ON magpie.github_repo USING gin (search magpie.gin_trgm_ops);
COMMENT ON TABLE magpie.github_repo IS 'Every repository that was ever seen, in a list, a search or by its record.';
COMMENT ON COLUMN magpie.github_repo.name_key IS
  'Owner and name in lower case; NULL when another repository bears it now and the new one is not known yet.';
COMMENT ON COLUMN magpie.github_repo.seen_at IS 'When the newest answer was asked for that names and figures come from.';
COMMENT ON COLUMN magpie.github_repo.summary IS 'The latest list item, as it came. Never overwrites the document.';
COMMENT ON COLUMN magpie.github_repo.digest IS 'Of the summary, as the digests of a page of a list.';
COMMENT ON COLUMN magpie.github_repo.document IS 'The latest answer of /repos/{owner}/{repo}, as it came but for secrets.';
COMMENT ON COLUMN magpie.github_repo.fetched_at IS 'When the document last changed.';
COMMENT ON COLUMN magpie.github_repo.validated_at IS 'When the upstream last confirmed the document (200 or 304).';
COMMENT ON COLUMN magpie.github_repo.url IS 'Which address the validators belong to.';
COMMENT ON COLUMN magpie.github_repo.credential IS 'Whose validators they are.';

CREATE TABLE magpie.github_repo_name (
  name_key   text COLLATE "C" NOT NULL,
  repo_id    bigint NOT NULL REFERENCES magpie.github_repo ON DELETE CASCADE,
  seen_from  timestamptz NOT NULL DEFAULT now(),
  seen_until timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (name_key, repo_id)
);
CREATE INDEX github_repo_name_repo ON magpie.github_repo_name (repo_id);
COMMENT ON TABLE magpie.github_repo_name IS
  'Names that lead to a repository but are not its present one: it was renamed or transferred, or GitHub redirects them.';

CREATE TABLE magpie.github_languages (
  repo_id      bigint PRIMARY KEY REFERENCES magpie.github_repo ON DELETE CASCADE,
  document     text NOT NULL,
  shares       text NOT NULL,
  fetched_at   timestamptz NOT NULL,
  validated_at timestamptz NOT NULL,
  url          text NOT NULL,
  etag         text,
  modified     text,
  credential   text NOT NULL
);
COMMENT ON TABLE magpie.github_languages IS 'Answers of …/languages.';
COMMENT ON COLUMN magpie.github_languages.shares IS 'The same sorted, with percentages, ready to be spliced.';

CREATE TABLE magpie.github_commits (
  repo_id      bigint NOT NULL REFERENCES magpie.github_repo ON DELETE CASCADE,
  query        text COLLATE "C" NOT NULL,
  document     text NOT NULL,
  latest       text NOT NULL,
  has_next     boolean NOT NULL,
  last_page    int,
  fetched_at   timestamptz NOT NULL,
  validated_at timestamptz NOT NULL,
  url          text NOT NULL,
  etag         text,
  modified     text,
  credential   text NOT NULL,
  PRIMARY KEY (repo_id, query)
);
ALTER TABLE magpie.github_commits ALTER COLUMN latest SET STORAGE EXTERNAL;
COMMENT ON TABLE magpie.github_commits IS 'Pages of …/commits, each by the query it answers. A few of each repository are kept.';
COMMENT ON COLUMN magpie.github_commits.latest IS 'The essence of the first few commits, ready to be spliced.';

CREATE TABLE magpie.github_gist (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  gist_id       text COLLATE "C" NOT NULL UNIQUE,
  first_seen_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE magpie.github_gist IS 'Numbers for gists, whose own ids are hexadecimal: members of lists are numbers.';

CREATE TABLE magpie.walk_order (
  walk_id bigint NOT NULL REFERENCES magpie.walk ON DELETE CASCADE,
  sort    text NOT NULL CHECK (sort IN ('created', 'updated', 'pushed', 'full_name', 'stars', 'name')),
  first   bigint NOT NULL,
  members bigint[] NOT NULL,
  PRIMARY KEY (walk_id, sort, first)
);
COMMENT ON TABLE magpie.walk_order IS
  'The repositories of a complete walk in the orders that are asked for, ascending, a hundred a row: no page costs more for being deep, and nothing moves while somebody reads on.';
COMMENT ON COLUMN magpie.walk_order.first IS 'Position of the row''s first member in the order, from 0.';

CREATE FUNCTION magpie.github_repo_renamed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.name_key IS NOT NULL THEN
    INSERT INTO magpie.github_repo_name AS n (name_key, repo_id, seen_from) VALUES (OLD.name_key, OLD.id, OLD.first_seen_at)
    ON CONFLICT (name_key, repo_id) DO UPDATE SET seen_until = now();
  END IF;
  -- They were asked for by a name that may have been another repository's by then.
  DELETE FROM magpie.github_languages l WHERE l.repo_id = OLD.id;
  DELETE FROM magpie.github_commits c WHERE c.repo_id = OLD.id;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.github_repo_renamed() IS 'Keeps the history of names, and forgets what was asked for by the old one.';
CREATE TRIGGER renamed AFTER UPDATE OF name_key ON magpie.github_repo FOR EACH ROW
  WHEN (OLD.name_key IS DISTINCT FROM NEW.name_key) EXECUTE FUNCTION magpie.github_repo_renamed();

-- Stores repositories as a list or a record shows them: what they are called and measured by, and that they are there.
CREATE FUNCTION magpie.note_repositories(
  p_ids bigint[], p_names text[], p_full_names text[], p_owners bigint[], p_texts text[], p_languages text[], p_forks boolean[],
  p_stars bigint[], p_created text[], p_updated text[], p_pushed text[], p_seen_at timestamptz)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- A name that another one bears now is given up by whichever had it, unless that has been seen with it since.
  UPDATE magpie.github_repo r SET name_key = NULL
    FROM unnest(p_ids, p_full_names) AS n(id, full_name)
   WHERE r.name_key = lower(n.full_name) AND r.id <> n.id AND r.seen_at <= p_seen_at;
  INSERT INTO magpie.github_repo AS r (id, full_name, name_key, name, owner_id, language, is_fork, stars, created_at, updated_at,
    pushed_at, search, seen_at)
  SELECT n.id, n.full_name,
         CASE WHEN row_number() OVER (PARTITION BY lower(n.full_name) ORDER BY n.id DESC) = 1
               AND NOT EXISTS (SELECT FROM magpie.github_repo o WHERE o.name_key = lower(n.full_name) AND o.id <> n.id)
              THEN lower(n.full_name) END,
         n.name, nullif(n.owner, 0), nullif(n.language, ''), n.fork, n.stars, nullif(n.created, '')::timestamptz,
         nullif(n.updated, '')::timestamptz, nullif(n.pushed, '')::timestamptz,
         magpie.fold(concat_ws(' ', n.name, nullif(n.description, ''))), p_seen_at
    FROM unnest(p_ids, p_names, p_full_names, p_owners, p_texts, p_languages, p_forks, p_stars, p_created, p_updated, p_pushed)
      AS n(id, name, full_name, owner, description, language, fork, stars, created, updated, pushed)
   ORDER BY n.id
  ON CONFLICT (id) DO UPDATE SET
    full_name = EXCLUDED.full_name, name_key = EXCLUDED.name_key, name = EXCLUDED.name, owner_id = EXCLUDED.owner_id,
    language = EXCLUDED.language, is_fork = EXCLUDED.is_fork, stars = EXCLUDED.stars, created_at = EXCLUDED.created_at,
    updated_at = EXCLUDED.updated_at, pushed_at = EXCLUDED.pushed_at, search = EXCLUDED.search, seen_at = EXCLUDED.seen_at
   WHERE r.seen_at <= EXCLUDED.seen_at;
  -- Whatever was said of the names while nobody bore them is over.
  DELETE FROM magpie.upstream_fact f
   WHERE f.checked_at <= p_seen_at AND f.status IN (301, 404)
     AND f.subject = ANY (SELECT 'github-repo:' || lower(n) FROM unnest(p_full_names) AS n);
END $$;
COMMENT ON FUNCTION magpie.note_repositories(bigint[], text[], text[], bigint[], text[], text[], boolean[], bigint[], text[], text[], text[], timestamptz) IS
  'Notes what repositories are called and measured by. Arrays run in parallel; empty texts and owner 0 mean that there is none. Older answers change nothing.';

CREATE FUNCTION magpie.store_repository_summaries(p_ids bigint[], p_documents text[], p_seen_at timestamptz) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  UPDATE magpie.github_repo r
     SET summary = n.document, summary_at = p_seen_at, digest = n.digest,
         -- A blocked repository stands in its owner's list as if nothing was wrong; one that was gone is back.
         state = CASE WHEN r.state = 'gone' THEN 'ok' ELSE r.state END
    FROM unnest(p_ids, p_documents, magpie.digests(p_documents)) AS n(id, document, digest)
   WHERE r.id = n.id AND (r.summary_at IS NULL OR r.summary_at <= p_seen_at)
$$;
COMMENT ON FUNCTION magpie.store_repository_summaries(bigint[], text[], timestamptz) IS
  'Stores list items of repositories that have been noted. Never touches a document.';

CREATE FUNCTION magpie.store_repository(
  p_id bigint, p_document text, p_url text, p_etag text, p_modified text, p_credential text, p_seen_at timestamptz)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.github_repo r
     SET document = p_document, state = 'ok',
         fetched_at = CASE WHEN r.document IS NOT DISTINCT FROM p_document THEN r.fetched_at ELSE now() END,
         validated_at = now(), url = p_url, etag = p_etag, modified = p_modified, credential = p_credential
   WHERE r.id = p_id AND (r.validated_at IS NULL OR r.validated_at <= p_seen_at);
  DELETE FROM magpie.upstream_fact f
   WHERE f.subject = 'github-repo:id:' || p_id
      OR f.subject = (SELECT 'github-repo:' || r.name_key FROM magpie.github_repo r WHERE r.id = p_id);
END $$;
COMMENT ON FUNCTION magpie.store_repository(bigint, text, text, text, text, text, timestamptz) IS
  'Stores the record of a repository that has been noted, with its validators.';

CREATE FUNCTION magpie.confirm_repository(p_id bigint) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM magpie.upstream_fact f
   WHERE f.subject = 'github-repo:id:' || p_id
      OR f.subject = (SELECT 'github-repo:' || r.name_key FROM magpie.github_repo r WHERE r.id = p_id);
  UPDATE magpie.github_repo r SET validated_at = now(), seen_at = greatest(r.seen_at, now()), state = 'ok' WHERE r.id = p_id;
$$;
COMMENT ON FUNCTION magpie.confirm_repository(bigint) IS 'Notes that the stored record is still right.';

-- What the upstream says of a name or id instead of showing a repository, and what that means for the one it may stand for.
CREATE FUNCTION magpie.store_repository_absence(p_key text, p_id bigint, p_status int, p_reason text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO magpie.upstream_fact AS f (subject, status, message)
  SELECT DISTINCT s, p_status, coalesce(p_reason, '')
    FROM unnest(ARRAY['github-repo:' || p_key, 'github-repo:id:' || p_id]) AS s WHERE s IS NOT NULL
  ON CONFLICT (subject) DO UPDATE SET status = EXCLUDED.status, message = EXCLUDED.message, checked_at = now();
  UPDATE magpie.github_repo r SET state = CASE WHEN p_status IN (403, 451) THEN 'blocked' ELSE 'gone' END WHERE r.id = p_id;
END $$;
COMMENT ON FUNCTION magpie.store_repository_absence(text, bigint, int, text) IS
  'Notes that a repository is blocked or gone. The id is NULL when none is known.';

CREATE FUNCTION magpie.store_repository_move(p_key text, p_id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.github_repo r SET name_key = NULL WHERE r.name_key = p_key AND r.id <> p_id;
  INSERT INTO magpie.github_repo_name AS n (name_key, repo_id) VALUES (p_key, p_id)
  ON CONFLICT (name_key, repo_id) DO UPDATE SET seen_until = now();
  INSERT INTO magpie.upstream_fact AS f (subject, status) VALUES ('github-repo:' || p_key, 301)
  ON CONFLICT (subject) DO UPDATE SET status = 301, message = '', checked_at = now();
END $$;
COMMENT ON FUNCTION magpie.store_repository_move(text, bigint) IS 'Notes that a name leads to a repository that is called otherwise.';

CREATE FUNCTION magpie.gist_ids(p_gists text[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO magpie.github_gist (gist_id) SELECT DISTINCT g FROM unnest(p_gists) AS g ORDER BY g
  ON CONFLICT (gist_id) DO NOTHING;
  RETURN (SELECT coalesce(array_agg(x.id ORDER BY g.n), '{}')
            FROM unnest(p_gists) WITH ORDINALITY AS g(id, n) JOIN magpie.github_gist x ON x.gist_id = g.id);
END $$;
COMMENT ON FUNCTION magpie.gist_ids(text[]) IS 'The numbers of gists, in the same order; new ones get theirs now.';

-- Ends a walk through things and shows it, as publish_walk does with people: without edges, but with the orders ready.
CREATE FUNCTION magpie.publish_items(p_walk bigint, p_allow_loss boolean DEFAULT false) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_walk magpie.walk;
  v_listing magpie.listing;
  v_lost bigint;
  v_outcome text;
BEGIN
  SELECT * INTO v_walk FROM magpie.walk w WHERE w.id = p_walk AND w.state = 'walking' FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not under way'; END IF;
  SELECT * INTO v_listing FROM magpie.listing l WHERE l.id = v_walk.listing_id FOR UPDATE;
  IF NOT p_allow_loss AND v_listing.generation > 0 AND v_walk.members < v_listing.member_count THEN
    SELECT count(*) INTO v_lost FROM (
      SELECT m FROM magpie.walk_page p, unnest(p.members) AS m WHERE p.walk_id = v_listing.walk_id
      EXCEPT SELECT m FROM magpie.walk_page p, unnest(p.members) AS m WHERE p.walk_id = p_walk) AS lost;
    IF v_lost > greatest(20, 0.2 * v_listing.member_count) THEN
      UPDATE magpie.walk w SET state = 'abandoned', finished_at = now() WHERE w.id = p_walk;
      RETURN 'suspicious';
    END IF;
  END IF;
  SELECT x.outcome INTO v_outcome FROM magpie.publish_walk(p_walk, true) AS x;
  IF v_outcome = 'published' AND v_listing.kind LIKE 'repos%' THEN
    INSERT INTO magpie.walk_order (walk_id, sort, first, members)
    WITH member AS MATERIALIZED (
      SELECT r.id, coalesce(r.created_at, '-infinity') AS created, coalesce(r.updated_at, '-infinity') AS updated,
             coalesce(r.pushed_at, '-infinity') AS pushed, lower(r.full_name) COLLATE "C" AS full_name, r.stars,
             lower(r.name) COLLATE "C" AS name
        FROM magpie.walk_page p CROSS JOIN LATERAL unnest(p.members) AS m JOIN magpie.github_repo r ON r.id = m
       WHERE p.walk_id = p_walk),
    place AS (
      SELECT 'created' AS sort, m.id, row_number() OVER (ORDER BY m.created, m.id) - 1 AS n FROM member m
      UNION ALL SELECT 'updated', m.id, row_number() OVER (ORDER BY m.updated, m.id) - 1 FROM member m
      UNION ALL SELECT 'pushed', m.id, row_number() OVER (ORDER BY m.pushed, m.id) - 1 FROM member m
      UNION ALL SELECT 'full_name', m.id, row_number() OVER (ORDER BY m.full_name, m.id) - 1 FROM member m
      UNION ALL SELECT 'stars', m.id, row_number() OVER (ORDER BY m.stars, m.id) - 1 FROM member m
      UNION ALL SELECT 'name', m.id, row_number() OVER (ORDER BY m.name, m.id) - 1 FROM member m)
    SELECT p_walk, p.sort, p.n / 100 * 100, array_agg(p.id ORDER BY p.n) FROM place p GROUP BY p.sort, p.n / 100;
  END IF;
  RETURN v_outcome;
END $$;
COMMENT ON FUNCTION magpie.publish_items(bigint, boolean) IS
  'Ends a complete walk through repositories, gists or organizations and shows it. Refuses when a page is missing, or when suspiciously many would leave.';

GRANT SELECT ON magpie.github_repo, magpie.github_repo_name, magpie.github_languages, magpie.github_commits, magpie.github_gist,
  magpie.walk_order TO magpie_app, magpie_worker, magpie_admin;
GRANT INSERT, UPDATE, DELETE ON magpie.github_repo, magpie.github_repo_name, magpie.github_languages, magpie.github_commits,
  magpie.github_gist, magpie.walk_order TO magpie_worker;
GRANT EXECUTE ON FUNCTION
  magpie.note_repositories(bigint[], text[], text[], bigint[], text[], text[], boolean[], bigint[], text[], text[], text[], timestamptz),
  magpie.store_repository_summaries(bigint[], text[], timestamptz),
  magpie.store_repository(bigint, text, text, text, text, text, timestamptz), magpie.confirm_repository(bigint),
  magpie.store_repository_absence(text, bigint, int, text), magpie.store_repository_move(text, bigint),
  magpie.gist_ids(text[]), magpie.publish_items(bigint, boolean) TO magpie_worker;

RESET ROLE;
