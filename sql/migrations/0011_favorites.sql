-- Favorites of all kinds: one set, one order and one version counter an account.

SET LOCAL ROLE magpie_owner;

CREATE TABLE magpie.favorite (
  account_id  bigint NOT NULL REFERENCES magpie.account ON DELETE CASCADE,
  kind        text NOT NULL CHECK (kind IN ('github-user', 'github-repo', 'gif', 'photo')),
  subject_id  text NOT NULL CHECK (length(subject_id) BETWEEN 1 AND 200),
  title       text NOT NULL DEFAULT '' CHECK (length(title) <= 500),
  subtitle    text NOT NULL DEFAULT '' CHECK (length(subtitle) <= 500),
  url         text NOT NULL DEFAULT '' CHECK (length(url) <= 2000),
  image       text NOT NULL DEFAULT '' CHECK (length(image) <= 2000),
  state       text NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'pending', 'renamed', 'gone', 'restricted')),
  note        text NOT NULL DEFAULT '' CHECK (octet_length(note) <= 10000),
  tags        text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 100 AND array_position(tags, NULL) IS NULL),
  rank        text NOT NULL DEFAULT '' CHECK (length(rank) <= 100),
  added_at    timestamptz NOT NULL DEFAULT now(),
  updated_at  timestamptz NOT NULL DEFAULT now(),
  version     bigint NOT NULL DEFAULT 0,
  snapshot    jsonb CHECK (octet_length(snapshot::text) <= 40000),
  search      text NOT NULL DEFAULT '',
  document    text NOT NULL DEFAULT '',
  PRIMARY KEY (account_id, kind, subject_id)
) WITH (fillfactor = 85);
CREATE INDEX favorite_newest ON magpie.favorite (account_id, added_at DESC, kind, subject_id);
CREATE INDEX favorite_version ON magpie.favorite (account_id, version);
COMMENT ON TABLE magpie.favorite IS
  'What an account has starred. By hand only (account_id, kind, subject_id) is needed; triggers keep version, search and document.';
COMMENT ON COLUMN magpie.favorite.subject_id IS 'The upstream''s id as text.';
COMMENT ON COLUMN magpie.favorite.rank IS 'Place in the manual order: fractional, compared byte by byte.';
COMMENT ON COLUMN magpie.favorite.version IS 'The account''s version at the last change. Set by trigger.';
COMMENT ON COLUMN magpie.favorite.search IS 'What q= looks in, folded. Set by trigger.';
COMMENT ON COLUMN magpie.favorite.document IS 'The item as the API gives it, ready to be spliced. Set by trigger.';
COMMENT ON COLUMN magpie.favorite.snapshot IS 'The API takes 20,000 bytes, which jsonb writes with more blanks. What the source looked like when it was starred; keeps the favorite readable when it is gone.';

CREATE TABLE magpie.favorite_tombstone (
  account_id  bigint NOT NULL REFERENCES magpie.account ON DELETE CASCADE,
  kind        text NOT NULL,
  subject_id  text NOT NULL,
  version     bigint NOT NULL,
  deleted_at  timestamptz NOT NULL DEFAULT now(),
  added_at    timestamptz NOT NULL,
  note        text NOT NULL,
  tags        text[] NOT NULL,
  rank        text NOT NULL,
  snapshot    jsonb,
  PRIMARY KEY (account_id, kind, subject_id)
);
CREATE INDEX favorite_tombstone_version ON magpie.favorite_tombstone (account_id, version);
COMMENT ON TABLE magpie.favorite_tombstone IS
  'Tells other devices of a deletion, and gives note, tags and place back when the favorite returns.';

CREATE FUNCTION magpie.json_time(p_time timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char(p_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
COMMENT ON FUNCTION magpie.json_time(timestamptz) IS 'RFC 3339 in UTC with microseconds.';

CREATE FUNCTION magpie.favorite_before() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_old magpie.favorite_tombstone;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF (NEW.account_id, NEW.kind, NEW.subject_id) IS DISTINCT FROM (OLD.account_id, OLD.kind, OLD.subject_id) THEN
      RAISE EXCEPTION 'a favorite cannot become another one: delete and insert' USING ERRCODE = 'MG422';
    END IF;
    -- Writing the same again changes nothing, so it raises no version either.
    NEW.version := OLD.version; NEW.updated_at := OLD.updated_at; NEW.search := OLD.search; NEW.document := OLD.document;
    IF NEW IS NOT DISTINCT FROM OLD THEN RETURN NEW; END IF;
  END IF;
  UPDATE magpie.account a SET version = a.version + 1 WHERE a.id = NEW.account_id RETURNING a.version INTO NEW.version;
  IF TG_OP = 'INSERT' THEN
    DELETE FROM magpie.favorite_tombstone t
     WHERE t.account_id = NEW.account_id AND t.kind = NEW.kind AND t.subject_id = NEW.subject_id
    RETURNING t.* INTO v_old;
    IF FOUND THEN
      NEW.note := CASE WHEN NEW.note = '' THEN v_old.note ELSE NEW.note END;
      NEW.tags := CASE WHEN NEW.tags = '{}' THEN v_old.tags ELSE NEW.tags END;
      NEW.rank := CASE WHEN NEW.rank = '' THEN v_old.rank ELSE NEW.rank END;
      NEW.snapshot := coalesce(NEW.snapshot, v_old.snapshot);
    END IF;
  END IF;
  NEW.tags := ARRAY(SELECT DISTINCT t FROM unnest(NEW.tags) AS t ORDER BY t);
  NEW.updated_at := now();
  NEW.search := lower(concat_ws(' ', NEW.title, NEW.subtitle, NEW.url, NEW.note, array_to_string(NEW.tags, ' ')));
  NEW.document := format(
    '{"kind":%s,"id":%s,"title":%s,"subtitle":%s,"url":%s,"image":%s,"state":%s,"note":%s,"tags":%s,"collections":[],"rank":%s,'
      '"added_at":"%s","updated_at":"%s","version":%s,"snapshot":%s}',
    to_json(NEW.kind), to_json(NEW.subject_id), to_json(NEW.title), to_json(NEW.subtitle), to_json(NEW.url), to_json(NEW.image),
    to_json(NEW.state), to_json(NEW.note), to_json(NEW.tags), to_json(NEW.rank),
    magpie.json_time(NEW.added_at), magpie.json_time(NEW.updated_at), NEW.version, coalesce(NEW.snapshot::text, 'null'));
  RETURN NEW;
END $$;
COMMENT ON FUNCTION magpie.favorite_before() IS 'Gives every insert and change of a favorite its version, search text and document.';
CREATE TRIGGER before_write BEFORE INSERT OR UPDATE ON magpie.favorite
  FOR EACH ROW EXECUTE FUNCTION magpie.favorite_before();

CREATE FUNCTION magpie.favorite_deleted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_version bigint;
BEGIN
  UPDATE magpie.account a SET version = a.version + 1 WHERE a.id = OLD.account_id RETURNING a.version INTO v_version;
  IF NOT FOUND THEN RETURN NULL; END IF;  -- the account itself is being deleted
  INSERT INTO magpie.favorite_tombstone AS t (account_id, kind, subject_id, version, added_at, note, tags, rank, snapshot)
  VALUES (OLD.account_id, OLD.kind, OLD.subject_id, v_version, OLD.added_at, OLD.note, OLD.tags, OLD.rank, OLD.snapshot)
  ON CONFLICT (account_id, kind, subject_id) DO UPDATE SET version = EXCLUDED.version, deleted_at = now(),
    added_at = EXCLUDED.added_at, note = EXCLUDED.note, tags = EXCLUDED.tags, rank = EXCLUDED.rank, snapshot = EXCLUDED.snapshot;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.favorite_deleted() IS 'Leaves a tombstone for every deleted favorite.';
CREATE TRIGGER after_delete AFTER DELETE ON magpie.favorite FOR EACH ROW EXECUTE FUNCTION magpie.favorite_deleted();

ALTER TABLE magpie.favorite ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.favorite FORCE ROW LEVEL SECURITY;
ALTER TABLE magpie.favorite_tombstone ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.favorite_tombstone FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON magpie.favorite TO magpie_app
  USING (account_id = magpie.current_account()) WITH CHECK (account_id = magpie.current_account());
CREATE POLICY own_rows ON magpie.favorite_tombstone TO magpie_app
  USING (account_id = magpie.current_account()) WITH CHECK (account_id = magpie.current_account());
CREATE POLICY all_rows ON magpie.favorite TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);
CREATE POLICY all_rows ON magpie.favorite_tombstone TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON magpie.favorite TO magpie_app, magpie_admin;
GRANT SELECT ON magpie.favorite_tombstone TO magpie_app, magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.json_time(timestamptz) TO magpie_app, magpie_worker, magpie_admin;

RESET ROLE;
