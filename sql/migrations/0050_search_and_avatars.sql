-- Answers of the upstream's search, pictures of people, and what is under way of each budget.
SET LOCAL ROLE magpie_owner;

-- Requests under way are a matter of one resource: twenty pages of a list must not make a search seem spent.
ALTER TABLE magpie.budget ADD COLUMN outstanding int NOT NULL DEFAULT 0 CHECK (outstanding >= 0);
COMMENT ON COLUMN magpie.budget.outstanding IS 'Requests that were granted for this resource and not settled yet.';

-- One page of a search as the upstream has answered it, shared by all who ask the same. Never a reason to change or delete
-- anything that is mirrored: a search is a sample.
CREATE TABLE magpie.search_page (
  search_key    bytea NOT NULL CHECK (length(search_key) = 32),
  page          int NOT NULL CHECK (page > 0),
  kind          text NOT NULL CHECK (kind IN ('users', 'repositories')),
  query         text NOT NULL,
  status        int NOT NULL CHECK (status IN (200, 422)),
  total_count   bigint NOT NULL DEFAULT 0 CHECK (total_count >= 0),
  is_incomplete boolean NOT NULL DEFAULT false,
  ids           bigint[] NOT NULL DEFAULT '{}',
  documents     text[] NOT NULL DEFAULT '{}' CHECK (cardinality(documents) = cardinality(ids)),
  refusal       text,
  fetched_at    timestamptz NOT NULL DEFAULT now(),
  validated_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (search_key, page),
  CHECK ((status = 200) = (refusal IS NULL))
);
CREATE INDEX search_page_age ON magpie.search_page (validated_at);
COMMENT ON TABLE magpie.search_page IS 'Answers of the upstream''s search by query and page, for a short while.';
COMMENT ON COLUMN magpie.search_page.search_key IS
  'SHA-256 of kind, query in its normal form, order and page size. Job github-search is named by it, in hexadecimal, and the page.';
COMMENT ON COLUMN magpie.search_page.documents IS 'The items as they came, in the upstream''s order; ids are theirs.';
COMMENT ON COLUMN magpie.search_page.refusal IS 'A query the upstream does not take (422): its message and errors, as JSON of our own making.';

-- Whoever a search has shown is found by prefix from then on. What is known of somebody is never overwritten by a search,
-- whose index lags behind.
CREATE FUNCTION magpie.note_found_people(
  p_ids bigint[], p_logins text[], p_names text[], p_types text[], p_avatars text[], p_documents text[])
RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO magpie.github_user (id, login, login_key, name, type, avatar_url, search, summary, summary_at)
  SELECT n.id, n.login, lower(n.login), nullif(n.name, ''), n.type, n.avatar,
         magpie.fold(concat_ws(' ', n.login, nullif(n.name, ''))), n.document, now()
    FROM unnest(p_ids, p_logins, p_names, p_types, p_avatars, p_documents) AS n(id, login, name, type, avatar, document)
   ORDER BY n.id
  ON CONFLICT DO NOTHING
$$;
COMMENT ON FUNCTION magpie.note_found_people(bigint[], text[], text[], text[], text[], text[]) IS
  'Notes people whom a search has shown for the first time. Arrays run in parallel; changes nobody who is known.';

-- Prefixes are looked up in the order of the key's bytes, whatever the database's collation is.
CREATE INDEX github_user_login_prefix ON magpie.github_user (login_key text_pattern_ops);
CREATE INDEX github_user_name_prefix ON magpie.github_user (magpie.fold(name) text_pattern_ops) WHERE name IS NOT NULL;

-- Pictures by their content, so that the same bytes are kept once.
CREATE TABLE magpie.image (
  sha256     bytea PRIMARY KEY CHECK (length(sha256) = 32),
  media_type text NOT NULL CHECK (media_type IN ('image/png', 'image/jpeg', 'image/gif', 'image/webp')),
  width      int NOT NULL CHECK (width > 0),
  height     int NOT NULL CHECK (height > 0),
  bytes      bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE magpie.image ALTER COLUMN bytes SET STORAGE EXTERNAL;
COMMENT ON TABLE magpie.image IS 'Pictures by the SHA-256 of their bytes. The type is what the bytes say, not what anybody claimed.';

CREATE TABLE magpie.avatar (
  user_id       bigint NOT NULL REFERENCES magpie.github_user ON DELETE CASCADE,
  size          int NOT NULL CHECK (size IN (40, 80, 160, 460)),
  url           text NOT NULL,
  sha256        bytea REFERENCES magpie.image,
  etag          text,
  last_modified text,
  fetched_at    timestamptz,
  validated_at  timestamptz,
  failed_at     timestamptz,
  failure       text,
  PRIMARY KEY (user_id, size)
);
CREATE INDEX avatar_image ON magpie.avatar (sha256);
COMMENT ON TABLE magpie.avatar IS 'Which picture somebody has in a size. Without one, initials are drawn.';
COMMENT ON COLUMN magpie.avatar.url IS 'As the upstream gives it, without our size: another one means another picture.';
COMMENT ON COLUMN magpie.avatar.failed_at IS 'When the picture could last not be had, and why. It is not asked for again for an hour.';

-- Pictures that nobody shows any more. A day is left for requests under way.
CREATE FUNCTION magpie.sweep_images(p_limit int DEFAULT 1000) RETURNS bigint
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  WITH gone AS (
    DELETE FROM magpie.image i WHERE i.sha256 IN (
      SELECT x.sha256 FROM magpie.image x
       WHERE x.created_at < now() - interval '1 day' AND NOT EXISTS (SELECT FROM magpie.avatar a WHERE a.sha256 = x.sha256)
       LIMIT p_limit)
    RETURNING 1)
  SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION magpie.sweep_images(int) IS 'Deletes pictures without a use that are older than a day.';

-- Answers that nobody will be given any more, and the oldest beyond a number of pages.
CREATE FUNCTION magpie.sweep_searches(p_keep interval DEFAULT '1 day', p_max bigint DEFAULT 20000) RETURNS bigint
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  WITH gone AS (
    DELETE FROM magpie.search_page s
     WHERE s.validated_at < now() - p_keep
        OR s.validated_at < (SELECT x.validated_at FROM magpie.search_page x ORDER BY x.validated_at DESC OFFSET greatest(p_max, 1) - 1 LIMIT 1)
    RETURNING 1)
  SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION magpie.sweep_searches(interval, bigint) IS 'Deletes answers of searches that are old, or beyond the number kept.';

GRANT SELECT ON magpie.search_page, magpie.image, magpie.avatar TO magpie_app, magpie_worker, magpie_admin;
GRANT INSERT, UPDATE, DELETE ON magpie.search_page, magpie.image, magpie.avatar TO magpie_worker;
GRANT DELETE ON magpie.search_page, magpie.avatar TO magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.note_found_people(bigint[], text[], text[], text[], text[], text[]),
  magpie.sweep_images(int), magpie.sweep_searches(interval, bigint) TO magpie_worker;

RESET ROLE;
