-- The mirror: people of GitHub as the upstream shows them, and their lists as walks with generations.
-- Identity is the numeric id everywhere; logins are attributes with a history.

CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA magpie;
CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA magpie;

SET LOCAL ROLE magpie_owner;

CREATE FUNCTION magpie.fold(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
-- Immutable as long as nobody edits the unaccent rules, which is why the dictionary is named.
RETURN lower(magpie.unaccent('magpie.unaccent', p_text));
COMMENT ON FUNCTION magpie.fold(text) IS 'Text without case and accents, for searching.';

CREATE FUNCTION magpie.like_containing(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN '%' || regexp_replace(p_text, '([\\%_])', '\\\1', 'g') || '%';
COMMENT ON FUNCTION magpie.like_containing(text) IS
  'A pattern for LIKE that matches what contains the text. To be given folded text, since folding may make wildcards.';

CREATE TABLE magpie.github_user (
  id                   bigint PRIMARY KEY,
  login                text NOT NULL,
  login_key            text UNIQUE,
  name                 text,
  type                 text NOT NULL DEFAULT 'User',
  avatar_url           text NOT NULL DEFAULT '',
  state                text NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'gone', 'restricted')),
  search               text NOT NULL,
  first_seen_at        timestamptz NOT NULL DEFAULT now(),
  summary              text,
  summary_at           timestamptz,
  profile              text,
  profile_fetched_at   timestamptz,
  profile_validated_at timestamptz,
  profile_etag         text,
  profile_modified     text,
  profile_credential   text,
  followers            bigint,
  following            bigint
) WITH (fillfactor = 90);
ALTER TABLE magpie.github_user ALTER COLUMN summary SET STORAGE EXTERNAL, ALTER COLUMN profile SET STORAGE EXTERNAL;
CREATE INDEX github_user_search ON magpie.github_user USING gin (search magpie.gin_trgm_ops);
COMMENT ON TABLE magpie.github_user IS 'Every account of GitHub that was ever seen, in a list or by its profile.';
COMMENT ON COLUMN magpie.github_user.login_key IS 'The login in lower case; NULL when somebody else bears it now and the new one is not known yet.';
COMMENT ON COLUMN magpie.github_user.summary IS 'The latest list item, as it came. Never overwrites the profile.';
COMMENT ON COLUMN magpie.github_user.profile IS 'The latest answer of /users/{login}, as it came.';
COMMENT ON COLUMN magpie.github_user.profile_fetched_at IS 'When the content last changed (a 200).';
COMMENT ON COLUMN magpie.github_user.profile_validated_at IS 'When the upstream last confirmed it (200 or 304).';
COMMENT ON COLUMN magpie.github_user.profile_credential IS 'Whose ETag it is: validators are good for one credential only.';

CREATE TABLE magpie.github_login (
  login_key  text NOT NULL,
  user_id    bigint NOT NULL REFERENCES magpie.github_user ON DELETE CASCADE,
  seen_from  timestamptz NOT NULL DEFAULT now(),
  seen_until timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (login_key, user_id)
);
CREATE INDEX github_login_user ON magpie.github_login (user_id);
COMMENT ON TABLE magpie.github_login IS 'Logins that were given up: an old one leads to its person as long as nobody else has taken it.';

CREATE FUNCTION magpie.github_login_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.login_key IS NOT NULL THEN
    INSERT INTO magpie.github_login AS l (login_key, user_id, seen_from) VALUES (OLD.login_key, OLD.id, OLD.first_seen_at)
    ON CONFLICT (login_key, user_id) DO UPDATE SET seen_until = now();
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.github_login_changed() IS 'Keeps the history of logins.';
CREATE TRIGGER login_changed AFTER UPDATE OF login_key ON magpie.github_user FOR EACH ROW
  WHEN (OLD.login_key IS DISTINCT FROM NEW.login_key) EXECUTE FUNCTION magpie.github_login_changed();

CREATE TABLE magpie.upstream_fact (
  subject    text PRIMARY KEY,
  status     int NOT NULL CHECK (status IN (404, 409, 410, 451)),
  message    text NOT NULL DEFAULT '',
  checked_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE magpie.upstream_fact IS 'What the upstream says is not there. A fact with a short life, never data.';

CREATE TABLE magpie.listing (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner_id        bigint NOT NULL REFERENCES magpie.github_user ON DELETE CASCADE,
  kind            text NOT NULL CHECK (kind IN ('followers', 'following')),
  walk_id         bigint,
  generation      int NOT NULL DEFAULT 0,
  last_generation int NOT NULL DEFAULT 0,
  member_count    bigint NOT NULL DEFAULT 0,
  fetched_at      timestamptz,
  validated_at    timestamptz,
  full_at         timestamptz,
  UNIQUE (owner_id, kind)
) WITH (fillfactor = 70);
COMMENT ON TABLE magpie.listing IS 'One list of one person. Readers see walk_id: the last complete walk, or the first while it runs.';
COMMENT ON COLUMN magpie.listing.generation IS 'Of the last complete walk; 0 before the first is complete.';
COMMENT ON COLUMN magpie.listing.last_generation IS 'Of the newest walk, complete or not.';
COMMENT ON COLUMN magpie.listing.fetched_at IS 'When the content last changed.';
COMMENT ON COLUMN magpie.listing.validated_at IS 'When a complete walk last confirmed the whole list.';
COMMENT ON COLUMN magpie.listing.full_at IS 'When a walk last read every page without a single 304.';

CREATE TABLE magpie.walk (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  listing_id     bigint NOT NULL REFERENCES magpie.listing ON DELETE CASCADE,
  generation     int NOT NULL,
  job_id         bigint,
  state          text NOT NULL DEFAULT 'walking' CHECK (state IN ('walking', 'complete', 'abandoned')),
  started_at     timestamptz NOT NULL DEFAULT now(),
  finished_at    timestamptz,
  pages          int NOT NULL DEFAULT 0,
  pages_unchanged int NOT NULL DEFAULT 0,
  expected_pages int,
  members        bigint NOT NULL DEFAULT 0,
  expected       bigint,
  drift          int NOT NULL DEFAULT 0,
  UNIQUE (listing_id, generation)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX walk_one_running ON magpie.walk (listing_id) WHERE state = 'walking';
ALTER TABLE magpie.listing ADD FOREIGN KEY (walk_id) REFERENCES magpie.walk DEFERRABLE INITIALLY DEFERRED;
COMMENT ON TABLE magpie.walk IS 'One reading of a list from its first page to its last. A walk that is not complete removes nothing.';
COMMENT ON COLUMN magpie.walk.job_id IS 'The job that walks. Another job waits for it as long as that one is in the queue.';
COMMENT ON COLUMN magpie.walk.drift IS 'Members met twice: the list moved while it was read.';
COMMENT ON COLUMN magpie.walk.expected IS 'How many members there should be, by the owner''s counter or the last page''s number.';

CREATE TABLE magpie.walk_page (
  walk_id    bigint NOT NULL REFERENCES magpie.walk ON DELETE CASCADE,
  page       int NOT NULL CHECK (page > 0),
  first      bigint NOT NULL,
  members    bigint[] NOT NULL,
  documents  text[] NOT NULL,
  digests    bigint[] NOT NULL,
  url        text NOT NULL,
  next_url   text,
  etag       text,
  credential text NOT NULL,
  fetched_at timestamptz NOT NULL DEFAULT now(),
  unchanged  boolean NOT NULL DEFAULT false,
  PRIMARY KEY (walk_id, page),
  CHECK (cardinality(documents) = cardinality(members) AND cardinality(digests) = cardinality(members))
);
-- A page of people is an eighth of its size when it is compressed, and lz4 is several times as fast as the default.
DO $$
BEGIN
  ALTER TABLE magpie.walk_page ALTER COLUMN documents SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
  RAISE NOTICE 'this PostgreSQL was built without lz4: pages of lists are compressed by pglz';
END $$;
CREATE INDEX walk_page_first ON magpie.walk_page (walk_id, first);
COMMENT ON TABLE magpie.walk_page IS
  'A page of the upstream as it came: the ids in their order, what it says of each, the validator, the next link.';
COMMENT ON COLUMN magpie.walk_page.documents IS
  'The items, one for each of members, as this reading of the list had them.';
COMMENT ON COLUMN magpie.walk_page.digests IS
  'Of the documents: a server that remembers a member''s document by its digest need not be sent it again.';
COMMENT ON COLUMN magpie.walk_page.etag IS 'Of the page as it came; NULL when members were left out, since it would vouch for them.';
COMMENT ON COLUMN magpie.walk_page.first IS 'Position of the page''s first member in the whole list, from 0; members seen on an earlier page are left out.';

CREATE TABLE magpie.follow_edge (
  listing_id       bigint NOT NULL,
  member_id        bigint NOT NULL,
  first_generation int NOT NULL,
  gone_generation  int,
  first_seen_at    timestamptz NOT NULL DEFAULT now(),
  ended_at         timestamptz,
  PRIMARY KEY (listing_id, member_id, first_generation)
) WITH (fillfactor = 95);
CREATE UNIQUE INDEX follow_edge_live ON magpie.follow_edge (listing_id, member_id) WHERE gone_generation IS NULL;
COMMENT ON TABLE magpie.follow_edge IS
  'Who is in which list, from which generation on and until which (that one excluded). Unchanged members are never rewritten.';

-- Stores people as a list shows them. A summary never touches a profile, and an older answer never replaces a newer one.
CREATE FUNCTION magpie.store_summaries(
  p_ids bigint[], p_logins text[], p_bear boolean[], p_names text[], p_types text[], p_avatars text[], p_documents text[],
  p_seen_at timestamptz)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_former bigint[];
BEGIN
  -- A login that somebody else bears now is given up by whoever had it. OFFSET 0 has each login looked up: a plan that was made
  -- while the table was small would go on reading all of it.
  v_former := ARRAY(SELECT f.id FROM unnest(p_ids, p_logins) AS n(id, login)
    CROSS JOIN LATERAL (SELECT u.id FROM magpie.github_user u WHERE u.login_key = lower(n.login) AND u.id <> n.id OFFSET 0) AS f);
  IF cardinality(v_former) > 0 THEN
    UPDATE magpie.github_user u SET login_key = NULL WHERE u.id = ANY (v_former);
  END IF;
  INSERT INTO magpie.github_user AS u (id, login, login_key, name, type, avatar_url, search, summary, summary_at)
  SELECT n.id, n.login, CASE WHEN n.bears THEN lower(n.login) END, nullif(n.name, ''), n.type, n.avatar,
         -- ASCII has no accents, and most people have nothing else.
         CASE WHEN octet_length(n.login || n.name) = char_length(n.login || n.name) THEN lower(concat_ws(' ', n.login, nullif(n.name, '')))
              ELSE magpie.fold(concat_ws(' ', n.login, nullif(n.name, ''))) END,
         n.document, p_seen_at
    FROM unnest(p_ids, p_logins, p_bear, p_names, p_types, p_avatars, p_documents)
         AS n(id, login, bears, name, type, avatar, document)
  ON CONFLICT (id) DO UPDATE SET
    login = EXCLUDED.login, login_key = EXCLUDED.login_key, name = coalesce(EXCLUDED.name, u.name), type = EXCLUDED.type,
    avatar_url = EXCLUDED.avatar_url, search = magpie.fold(concat_ws(' ', EXCLUDED.login, coalesce(EXCLUDED.name, u.name))),
    summary = EXCLUDED.summary, summary_at = EXCLUDED.summary_at,
    state = CASE WHEN u.state = 'gone' THEN 'ok' ELSE u.state END
   WHERE (u.summary_at IS NULL OR u.summary_at <= EXCLUDED.summary_at)
     AND (u.summary IS DISTINCT FROM EXCLUDED.summary OR u.login_key IS DISTINCT FROM EXCLUDED.login_key OR u.state = 'gone');
END $$;
COMMENT ON FUNCTION magpie.store_summaries(bigint[], text[], boolean[], text[], text[], text[], text[], timestamptz) IS
  'Stores the people of one page. Arrays run in parallel, in the order of the ids, in which all who store people lock them; of those who share a login one bears it; an empty name means the page has none.';

CREATE FUNCTION magpie.store_profile(
  p_id bigint, p_login text, p_name text, p_type text, p_avatar text, p_document text, p_followers bigint, p_following bigint,
  p_etag text, p_modified text, p_credential text)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.github_user u SET login_key = NULL WHERE u.login_key = lower(p_login) AND u.id <> p_id;
  INSERT INTO magpie.github_user AS u (id, login, login_key, name, type, avatar_url, search, profile, profile_fetched_at,
    profile_validated_at, profile_etag, profile_modified, profile_credential, followers, following)
  VALUES (p_id, p_login, lower(p_login), p_name, p_type, p_avatar, magpie.fold(concat_ws(' ', p_login, p_name)), p_document,
    now(), now(), p_etag, p_modified, p_credential, p_followers, p_following)
  ON CONFLICT (id) DO UPDATE SET
    login = EXCLUDED.login, login_key = EXCLUDED.login_key, name = EXCLUDED.name, type = EXCLUDED.type,
    avatar_url = EXCLUDED.avatar_url, search = EXCLUDED.search, state = 'ok', profile = EXCLUDED.profile,
    profile_fetched_at = CASE WHEN u.profile IS NOT DISTINCT FROM EXCLUDED.profile THEN u.profile_fetched_at ELSE now() END,
    profile_validated_at = now(), profile_etag = EXCLUDED.profile_etag, profile_modified = EXCLUDED.profile_modified,
    profile_credential = EXCLUDED.profile_credential, followers = EXCLUDED.followers, following = EXCLUDED.following;
  DELETE FROM magpie.upstream_fact f WHERE f.subject IN ('github-user:' || lower(p_login), 'github-user:id:' || p_id);
END $$;
COMMENT ON FUNCTION magpie.store_profile(bigint, text, text, text, text, text, bigint, bigint, text, text, text) IS
  'Stores a whole profile with its validators.';

-- Whoever was gone is back, and what the upstream said of their absence no longer holds.
CREATE FUNCTION magpie.confirm_person(p_id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.github_user u SET state = 'ok' WHERE u.id = p_id AND u.state <> 'ok';
  DELETE FROM magpie.upstream_fact f
   WHERE f.subject = 'github-user:id:' || p_id
      OR f.subject = (SELECT 'github-user:' || u.login_key FROM magpie.github_user u WHERE u.id = p_id);
END $$;
COMMENT ON FUNCTION magpie.confirm_person(bigint) IS 'Notes that the upstream has shown a person, or a list of theirs.';

-- Notes a person by id and login alone, which is all that a list's own address tells.
CREATE FUNCTION magpie.note_person(p_id bigint, p_login text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.github_user u SET login_key = NULL WHERE u.login_key = lower(p_login) AND u.id <> p_id;
  INSERT INTO magpie.github_user AS u (id, login, login_key, search) VALUES (p_id, p_login, lower(p_login), magpie.fold(p_login))
  ON CONFLICT (id) DO UPDATE SET login_key = EXCLUDED.login_key,
    login = CASE WHEN lower(u.login) = EXCLUDED.login_key THEN u.login ELSE EXCLUDED.login END
   WHERE u.login_key IS DISTINCT FROM EXCLUDED.login_key;
END $$;
COMMENT ON FUNCTION magpie.note_person(bigint, text) IS 'Notes that a login belongs to an id.';

-- Begins a walk, or goes on with the one that is under way.
CREATE FUNCTION magpie.open_walk(p_owner bigint, p_kind text, p_job bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_listing magpie.listing;
  v_walk bigint;
  v_job bigint;
BEGIN
  INSERT INTO magpie.listing AS l (owner_id, kind) VALUES (p_owner, p_kind) ON CONFLICT (owner_id, kind) DO NOTHING;
  SELECT * INTO v_listing FROM magpie.listing l WHERE l.owner_id = p_owner AND l.kind = p_kind FOR UPDATE;
  SELECT w.id, w.job_id INTO v_walk, v_job FROM magpie.walk w WHERE w.listing_id = v_listing.id AND w.state = 'walking';
  IF FOUND THEN
    IF v_job IS NOT DISTINCT FROM p_job THEN RETURN v_walk; END IF;
    -- One list can be asked for by login and by id. Two walks at once would tread on each other's pages.
    IF EXISTS (SELECT FROM magpie.job j WHERE j.id = v_job) THEN RETURN NULL; END IF;
    UPDATE magpie.walk w SET job_id = p_job WHERE w.id = v_walk;
  ELSE
    INSERT INTO magpie.walk (listing_id, generation, job_id) VALUES (v_listing.id, v_listing.last_generation + 1, p_job)
    RETURNING id INTO v_walk;
    UPDATE magpie.listing l
       SET last_generation = v_listing.last_generation + 1,
           walk_id = CASE WHEN v_listing.generation > 0 THEN l.walk_id ELSE v_walk END
     WHERE l.id = v_listing.id;
  END IF;
  PERFORM magpie.confirm_person(p_owner);
  RETURN v_walk;
END $$;
COMMENT ON FUNCTION magpie.open_walk(bigint, text, bigint) IS
  'The walk for a job to go on with, a new one if none is under way; NULL while another job walks the same list.';

-- Adds a page. Doing it twice is the same as once. Members met on an earlier page are counted as drift and left out.
CREATE FUNCTION magpie.digests(p_documents text[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(array_agg(hashtextextended(d.document, 0) ORDER BY d.n), '{}') FROM unnest(p_documents) WITH ORDINALITY AS d(document, n)
$$;
COMMENT ON FUNCTION magpie.digests(text[]) IS 'What documents are told apart by, together with the id of what they are about.';

-- The items of an unchanged page are those of the last complete walk.
CREATE FUNCTION magpie.store_page(
  p_walk bigint, p_page int, p_members bigint[], p_documents text[], p_url text, p_next_url text, p_etag text, p_credential text, p_unchanged boolean,
  p_expected_pages int, p_expected bigint)
RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_walk magpie.walk;
  v_first bigint;
  v_unchanged int;
  v_before bigint[];
  v_members bigint[];
  v_documents text[] := p_documents;
BEGIN
  SELECT * INTO v_walk FROM magpie.walk w WHERE w.id = p_walk AND w.state = 'walking' FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF p_page > v_walk.pages + 1 THEN
    RAISE EXCEPTION 'page % of walk % comes after page %', p_page, p_walk, v_walk.pages USING ERRCODE = 'MG500';
  END IF;
  v_first := v_walk.members;
  v_unchanged := v_walk.pages_unchanged;
  IF p_page <= v_walk.pages THEN
    -- A page that is read again replaces what stood there and, since positions follow, all that came after it.
    DELETE FROM magpie.walk_page p WHERE p.walk_id = p_walk AND p.page >= p_page;
    SELECT coalesce(max(p.first + cardinality(p.members)), 0), count(*) FILTER (WHERE p.unchanged) INTO v_first, v_unchanged
      FROM magpie.walk_page p WHERE p.walk_id = p_walk;
  END IF;
  v_before := ARRAY(SELECT m FROM magpie.walk_page p, unnest(p.members) AS m
                     WHERE p.walk_id = p_walk AND p.page = ANY (ARRAY[p_page - 1, p_page - 2]));
  v_members := p_members;
  IF (SELECT count(DISTINCT m) < count(*) FROM unnest(p_members || v_before) AS m) THEN
    SELECT coalesce(array_agg(m.id ORDER BY m.n), '{}') INTO v_members
      FROM (SELECT u.id, min(u.n) AS n FROM unnest(p_members) WITH ORDINALITY AS u(id, n) GROUP BY u.id) AS m
     WHERE m.id <> ALL (v_before);
  END IF;
  IF p_unchanged THEN
    SELECT p.documents INTO v_documents
      FROM magpie.listing l JOIN magpie.walk_page p ON p.walk_id = l.walk_id AND p.page = p_page AND p.members = p_members
     WHERE l.id = v_walk.listing_id AND l.generation > 0;
    -- Published anew since it was asked for: the page must be read again.
    IF NOT FOUND THEN RETURN NULL; END IF;
  END IF;
  IF cardinality(v_members) < cardinality(p_members) THEN
    SELECT coalesce(array_agg(u.document ORDER BY u.n), '{}') INTO v_documents
      FROM (SELECT DISTINCT ON (d.id) d.id, d.document, d.n FROM unnest(p_members, v_documents) WITH ORDINALITY AS d(id, document, n)
             WHERE d.id = ANY (v_members) ORDER BY d.id, d.n) AS u;
  END IF;
  INSERT INTO magpie.walk_page (walk_id, page, first, members, documents, digests, url, next_url, etag, credential, unchanged)
  VALUES (p_walk, p_page, v_first, v_members, v_documents, magpie.digests(v_documents), p_url, p_next_url,
    CASE WHEN cardinality(v_members) = cardinality(p_members) THEN p_etag END, p_credential, p_unchanged);
  INSERT INTO magpie.follow_edge (listing_id, member_id, first_generation)
  -- Nobody else adds to this list: a list has one walk, whose row is locked. OFFSET 0 has each member looked up, where the
  -- planner, who does not know how long lists are, would read the whole list for every page.
  SELECT v_walk.listing_id, m, v_walk.generation FROM unnest(v_members) AS m
   WHERE (SELECT l.kind FROM magpie.listing l WHERE l.id = v_walk.listing_id) IN ('followers', 'following')
     AND NOT EXISTS (SELECT FROM magpie.follow_edge e
                      WHERE e.listing_id = v_walk.listing_id AND e.member_id = m AND e.gone_generation IS NULL OFFSET 0);
  UPDATE magpie.walk w SET pages = p_page, members = v_first + cardinality(v_members),
         pages_unchanged = v_unchanged + p_unchanged::int,
         drift = w.drift + cardinality(p_members) - cardinality(v_members),
         expected_pages = coalesce(p_expected_pages, w.expected_pages),
         expected = greatest(coalesce(p_expected, w.expected), v_first + cardinality(v_members))
   WHERE w.id = p_walk;
  RETURN v_first + cardinality(v_members);
END $$;
COMMENT ON FUNCTION magpie.store_page(bigint, int, bigint[], text[], text, text, text, text, boolean, int, bigint) IS
  'Adds one page to a walk and answers how many members it has now; NULL when the walk must begin anew.';

-- Makes a finished walk the one that readers see, all at once.
CREATE FUNCTION magpie.publish_walk(p_walk bigint, p_allow_loss boolean DEFAULT false)
RETURNS TABLE (outcome text, members bigint, joined bigint, left_members bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_walk magpie.walk;
  v_listing magpie.listing;
  v_pages bigint; v_last int; v_open int;
  v_met bigint; v_members bigint;
  v_unmet bigint[]; v_left bigint[]; v_never bigint[];
BEGIN
  SELECT * INTO v_walk FROM magpie.walk w WHERE w.id = p_walk AND w.state = 'walking' FOR UPDATE;
  IF NOT FOUND THEN RETURN QUERY SELECT 'not under way', 0::bigint, 0::bigint, 0::bigint; RETURN; END IF;
  SELECT * INTO v_listing FROM magpie.listing l WHERE l.id = v_walk.listing_id FOR UPDATE;
  SELECT count(*), max(p.page), count(*) FILTER (WHERE p.next_url IS NOT NULL) INTO v_pages, v_last, v_open
    FROM magpie.walk_page p WHERE p.walk_id = p_walk;
  IF v_pages = 0 OR v_pages <> v_last OR v_open <> v_last - 1
     OR EXISTS (SELECT 1 FROM magpie.walk_page p WHERE p.walk_id = p_walk AND p.page = v_last AND p.next_url IS NOT NULL) THEN
    RETURN QUERY SELECT 'incomplete', v_walk.members, 0::bigint, 0::bigint; RETURN;
  END IF;
  -- Whoever was met again on a later page, because the list moved while it was read, stands at the first place only.
  SELECT count(*), count(DISTINCT m) INTO v_met, v_members
    FROM magpie.walk_page p, unnest(p.members) AS m WHERE p.walk_id = p_walk;
  IF v_met > v_members THEN
    WITH places AS (
      SELECT p.page, m.id, m.n, row_number() OVER (PARTITION BY m.id ORDER BY p.page, m.n) AS nth
        FROM magpie.walk_page p, unnest(p.members) WITH ORDINALITY AS m(id, n) WHERE p.walk_id = p_walk),
    kept AS (
      SELECT l.page, coalesce(array_agg(l.id ORDER BY l.n) FILTER (WHERE l.nth = 1), '{}') AS ids,
             array_agg(l.n) FILTER (WHERE l.nth > 1) AS doubles, bool_or(l.nth > 1) AS is_cut
        FROM places l GROUP BY l.page),
    moved AS (
      SELECT k.page, k.ids, k.doubles, k.is_cut, sum(cardinality(k.ids)) OVER (ORDER BY k.page) - cardinality(k.ids) AS first FROM kept k)
    UPDATE magpie.walk_page p
       SET first = m.first, members = m.ids,
           documents = CASE WHEN m.is_cut THEN ARRAY(
             SELECT d.document FROM unnest(p.documents) WITH ORDINALITY AS d(document, n)
              WHERE d.n <> ALL (m.doubles) ORDER BY d.n) ELSE p.documents END,
           digests = CASE WHEN m.is_cut THEN ARRAY(
             SELECT d.digest FROM unnest(p.digests) WITH ORDINALITY AS d(digest, n)
              WHERE d.n <> ALL (m.doubles) ORDER BY d.n) ELSE p.digests END,
           etag = CASE WHEN m.is_cut THEN NULL ELSE p.etag END
      FROM moved m WHERE p.walk_id = p_walk AND p.page = m.page AND (m.is_cut OR p.first <> m.first);
    UPDATE magpie.walk w SET members = v_members, drift = w.drift + (v_met - v_members) WHERE w.id = p_walk;
    v_walk.members := v_members;
  END IF;
  -- Whom the walk did not meet. A set operation, since the planner, who knows nothing of the arrays' lengths, would look for
  -- each member in all of them.
  v_unmet := ARRAY(
    SELECT e.member_id FROM magpie.follow_edge e WHERE e.listing_id = v_walk.listing_id AND e.gone_generation IS NULL
    EXCEPT SELECT m FROM magpie.walk_page p, unnest(p.members) AS m WHERE p.walk_id = p_walk);
  -- Among them: members of the last complete walk, and those that only a walk without an end has shown.
  SELECT coalesce(array_agg(e.member_id) FILTER (WHERE e.first_generation <= v_listing.generation), '{}'),
         coalesce(array_agg(e.member_id) FILTER (WHERE e.first_generation > v_listing.generation), '{}')
    INTO v_left, v_never
    FROM magpie.follow_edge e
   WHERE e.listing_id = v_walk.listing_id AND e.gone_generation IS NULL AND e.member_id = ANY (v_unmet);
  left_members := cardinality(v_left);
  IF NOT p_allow_loss AND left_members > greatest(20, 0.2 * v_listing.member_count) THEN
    -- Many people gone at once is more often a fault of the upstream than the truth: a second walk must agree.
    UPDATE magpie.walk w SET state = 'abandoned', finished_at = now() WHERE w.id = p_walk;
    RETURN QUERY SELECT 'suspicious', v_walk.members, 0::bigint, left_members; RETURN;
  END IF;
  UPDATE magpie.follow_edge e SET gone_generation = v_walk.generation, ended_at = now()
   WHERE e.listing_id = v_walk.listing_id AND e.gone_generation IS NULL AND e.member_id = ANY (v_left);
  -- Readers never saw these in a complete list, so their leaving is no event either.
  DELETE FROM magpie.follow_edge e
   WHERE e.listing_id = v_walk.listing_id AND e.gone_generation IS NULL AND e.member_id = ANY (v_never);
  SELECT count(*) INTO joined FROM magpie.follow_edge e
   WHERE e.listing_id = v_walk.listing_id AND e.gone_generation IS NULL AND e.first_generation > v_listing.generation;
  UPDATE magpie.walk w SET state = 'complete', finished_at = now(), expected = w.members WHERE w.id = p_walk;
  UPDATE magpie.listing l SET walk_id = p_walk, generation = v_walk.generation, member_count = v_walk.members, validated_at = now(),
         fetched_at = CASE WHEN joined = 0 AND left_members = 0 AND l.generation > 0 AND v_walk.pages_unchanged = v_walk.pages
                           THEN l.fetched_at ELSE now() END,
         full_at = CASE WHEN v_walk.pages_unchanged = 0 THEN now() ELSE l.full_at END
   WHERE l.id = v_walk.listing_id;
  PERFORM magpie.confirm_person(v_listing.owner_id);
  -- Readers may still page through the walk before this one, however old it is, and through those of the last hour.
  DELETE FROM magpie.walk w
   WHERE w.listing_id = v_walk.listing_id AND w.id <> p_walk AND w.id IS DISTINCT FROM v_listing.walk_id
     AND w.finished_at < now() - interval '1 hour';
  outcome := 'published'; members := v_walk.members;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION magpie.publish_walk(bigint, boolean) IS
  'Ends a complete walk and shows it. Refuses when a page is missing, or when suspiciously many members would leave.';

CREATE FUNCTION magpie.abandon_walk(p_walk bigint) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  UPDATE magpie.walk w SET state = 'abandoned', finished_at = now() WHERE w.id = p_walk AND w.state = 'walking'
$$;
COMMENT ON FUNCTION magpie.abandon_walk(bigint) IS 'Gives a walk up; nothing that readers see changes.';

GRANT SELECT ON magpie.github_user, magpie.github_login, magpie.upstream_fact, magpie.listing, magpie.walk, magpie.walk_page,
  magpie.follow_edge TO magpie_app, magpie_worker, magpie_admin;
GRANT INSERT, UPDATE, DELETE ON magpie.github_user, magpie.github_login, magpie.upstream_fact, magpie.listing, magpie.walk,
  magpie.walk_page, magpie.follow_edge TO magpie_worker;
GRANT EXECUTE ON FUNCTION magpie.fold(text), magpie.like_containing(text) TO magpie_app, magpie_worker, magpie_admin;
GRANT EXECUTE ON FUNCTION
  magpie.digests(text[]), magpie.note_person(bigint, text), magpie.confirm_person(bigint),
  magpie.store_summaries(bigint[], text[], boolean[], text[], text[], text[], text[], timestamptz),
  magpie.store_profile(bigint, text, text, text, text, text, bigint, bigint, text, text, text),
  magpie.open_walk(bigint, text, bigint), magpie.store_page(bigint, int, bigint[], text[], text, text, text, text, boolean, int, bigint),
  magpie.publish_walk(bigint, boolean), magpie.abandon_walk(bigint) TO magpie_worker;

RESET ROLE;
