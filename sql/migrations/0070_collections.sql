-- Collections; orders and filters of favorites that stay quick when there are many; what comes back with a deleted favorite.

CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA magpie;

SET LOCAL ROLE magpie_owner;

-- Versions. A row's version is one number higher than the last one of its account, whoever writes.

ALTER TABLE magpie.account ADD COLUMN favorite_count int NOT NULL DEFAULT 0;
COMMENT ON COLUMN magpie.account.favorite_count IS 'How many favorites there are. Kept by trigger.';
UPDATE magpie.account a SET favorite_count = (SELECT count(*) FROM magpie.favorite f WHERE f.account_id = a.id);

-- Each UPDATE of one row in one transaction has to pass by all those before it: ten thousand would take seconds and forty
-- thousand minutes. A statement with many rows therefore takes versions in growing blocks, and gives back what is left over.
CREATE FUNCTION magpie.next_version(p_account bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_block bigint[] := nullif(current_setting('magpie.version_block', true), '')::bigint[];  -- account, next, last, size
  v_size bigint := 1;
  v_last bigint;
BEGIN
  IF v_block[1] = p_account THEN
    IF v_block[2] <= v_block[3] THEN
      PERFORM set_config('magpie.version_block', ARRAY[p_account, v_block[2] + 1, v_block[3], v_block[4]]::text, true);
      RETURN v_block[2];
    END IF;
    v_size := least(2 * v_block[4], 8192);
  ELSE
    PERFORM magpie.settle_versions();
  END IF;
  UPDATE magpie.account a SET version = a.version + v_size WHERE a.id = p_account RETURNING a.version INTO v_last;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM set_config('magpie.version_block', ARRAY[p_account, v_last - v_size + 2, v_last, v_size]::text, true);
  RETURN v_last - v_size + 1;
END $$;
COMMENT ON FUNCTION magpie.next_version(bigint) IS
  'Raises an account''s version, under its row''s lock, and returns it; NULL when there is no such account. The statement must end with settle_versions().';

CREATE FUNCTION magpie.settle_versions() RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_block bigint[] := nullif(current_setting('magpie.version_block', true), '')::bigint[];
BEGIN
  IF v_block IS NULL THEN RETURN; END IF;
  IF v_block[2] <= v_block[3] THEN
    UPDATE magpie.account a SET version = v_block[2] - 1 WHERE a.id = v_block[1] AND a.version = v_block[3];
  END IF;
  PERFORM set_config('magpie.version_block', '', true);
END $$;
COMMENT ON FUNCTION magpie.settle_versions() IS 'Gives back the versions that a statement has taken and not used.';

CREATE FUNCTION magpie.settle() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM magpie.settle_versions();
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.settle() IS 'Ends every statement on a table whose rows have versions.';

-- Collections.

CREATE TABLE magpie.collection (
  account_id  bigint NOT NULL REFERENCES magpie.account ON DELETE CASCADE,
  id          uuid NOT NULL DEFAULT gen_random_uuid(),
  name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  rank        text COLLATE "C" NOT NULL DEFAULT '' CHECK (rank ~ '^[!-~]{0,100}$'),
  created_at  timestamptz NOT NULL DEFAULT now() CHECK (created_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'),
  updated_at  timestamptz NOT NULL DEFAULT now(),
  version     bigint NOT NULL DEFAULT 0,
  document    text NOT NULL DEFAULT '',
  PRIMARY KEY (account_id, id)
) WITH (fillfactor = 85);
CREATE INDEX collection_version ON magpie.collection (account_id, version);
COMMENT ON TABLE magpie.collection IS
  'Named collections of favorites. By hand only (account_id, name) is needed. The key begins with the account, so that an id tells nobody whether somebody else has it.';
COMMENT ON COLUMN magpie.collection.rank IS 'Place in the manual order: fractional, compared byte by byte; ties by id.';
COMMENT ON COLUMN magpie.collection.version IS 'The account''s version at the last change of name or rank. Set by trigger.';
COMMENT ON COLUMN magpie.collection.document IS 'The collection as the API gives it, ready to be spliced. Set by trigger.';

CREATE TABLE magpie.collection_tombstone (
  account_id  bigint NOT NULL REFERENCES magpie.account ON DELETE CASCADE,
  id          uuid NOT NULL,
  version     bigint NOT NULL,
  deleted_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
CREATE INDEX collection_tombstone_version ON magpie.collection_tombstone (account_id, version);
COMMENT ON TABLE magpie.collection_tombstone IS 'Tells other devices of a collection''s deletion.';

CREATE TABLE magpie.favorite_collection (
  account_id    bigint NOT NULL,
  kind          text NOT NULL,
  subject_id    text NOT NULL,
  collection_id uuid NOT NULL,
  PRIMARY KEY (account_id, collection_id, kind, subject_id),
  FOREIGN KEY (account_id, kind, subject_id) REFERENCES magpie.favorite ON DELETE CASCADE,
  FOREIGN KEY (account_id, collection_id) REFERENCES magpie.collection ON DELETE CASCADE
);
CREATE INDEX favorite_collection_item ON magpie.favorite_collection (account_id, kind, subject_id, collection_id);
COMMENT ON TABLE magpie.favorite_collection IS
  'Which favorites are in which collections. A change here changes the favorite''s column collections, and the other way round.';

-- Favorites.

ALTER TABLE magpie.favorite DISABLE TRIGGER before_write;
UPDATE magpie.favorite f SET rank = '' WHERE f.rank !~ '^[!-~]{0,100}$';
ALTER TABLE magpie.favorite
  ADD COLUMN collections uuid[] NOT NULL DEFAULT '{}'
    CHECK (cardinality(collections) <= 100 AND array_position(collections, NULL) IS NULL),
  ADD COLUMN title_key text COLLATE "C" NOT NULL DEFAULT '',
  ALTER COLUMN rank TYPE text COLLATE "C",
  DROP CONSTRAINT favorite_rank_check,
  ADD CONSTRAINT favorite_rank_check CHECK (rank ~ '^[!-~]{0,100}$'),
  ADD CONSTRAINT favorite_tag_check CHECK (octet_length(array_to_string(tags, '')) <= 40000);
UPDATE magpie.favorite f
   SET search = magpie.fold(concat_ws(' ', f.title, f.subtitle, f.url, f.note, array_to_string(f.tags, ' '))),
       title_key = left(magpie.fold(f.title), 200),
       document = CASE WHEN f.rank = '' THEN regexp_replace(f.document, '("rank":)"[^"]*"', '\1""') ELSE f.document END;
ALTER TABLE magpie.favorite ENABLE TRIGGER before_write;
COMMENT ON COLUMN magpie.favorite.collections IS 'Ids of the collections it is in, sorted. The same as in magpie.favorite_collection: either can be written.';
COMMENT ON COLUMN magpie.favorite.title_key IS 'What sort=title goes by: the beginning of the title, folded. Set by trigger.';

CREATE INDEX favorite_oldest ON magpie.favorite (account_id, added_at, kind, subject_id);
CREATE INDEX favorite_title ON magpie.favorite (account_id, title_key, kind, subject_id);
CREATE INDEX favorite_rank ON magpie.favorite (account_id, rank, kind, subject_id);
CREATE INDEX favorite_subject ON magpie.favorite (kind, subject_id);
CREATE INDEX favorite_tags ON magpie.favorite USING gin (account_id, tags);
CREATE INDEX favorite_search ON magpie.favorite USING gin (account_id, search magpie.gin_trgm_ops);

ALTER TABLE magpie.favorite_tombstone
  ADD COLUMN title text NOT NULL DEFAULT '',
  ADD COLUMN subtitle text NOT NULL DEFAULT '',
  ADD COLUMN url text NOT NULL DEFAULT '',
  ADD COLUMN image text NOT NULL DEFAULT '',
  ADD COLUMN state text NOT NULL DEFAULT 'ok',
  ADD COLUMN collections uuid[] NOT NULL DEFAULT '{}';

CREATE OR REPLACE FUNCTION magpie.favorite_before() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_old magpie.favorite_tombstone;
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

CREATE OR REPLACE FUNCTION magpie.favorite_deleted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_version bigint := magpie.next_version(OLD.account_id);
BEGIN
  IF v_version IS NULL THEN RETURN NULL; END IF;  -- the account itself is being deleted
  INSERT INTO magpie.favorite_tombstone AS t (account_id, kind, subject_id, version, added_at, note, tags, rank, snapshot,
    title, subtitle, url, image, state, collections)
  VALUES (OLD.account_id, OLD.kind, OLD.subject_id, v_version, OLD.added_at, OLD.note, OLD.tags, OLD.rank, OLD.snapshot,
    OLD.title, OLD.subtitle, OLD.url, OLD.image, OLD.state, OLD.collections)
  ON CONFLICT (account_id, kind, subject_id) DO UPDATE SET version = EXCLUDED.version, deleted_at = now(),
    added_at = EXCLUDED.added_at, note = EXCLUDED.note, tags = EXCLUDED.tags, rank = EXCLUDED.rank, snapshot = EXCLUDED.snapshot,
    title = EXCLUDED.title, subtitle = EXCLUDED.subtitle, url = EXCLUDED.url, image = EXCLUDED.image, state = EXCLUDED.state,
    collections = EXCLUDED.collections;
  RETURN NULL;
END $$;

-- Counting, and the limit. In triggers that fire at the end of a statement, since a row that ON CONFLICT leaves out passes the
-- others too.
CREATE FUNCTION magpie.favorite_counted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM magpie.settle_versions();
  IF TG_OP = 'INSERT' THEN
    UPDATE magpie.account a SET favorite_count = a.favorite_count + c.n
      FROM (SELECT w.account_id, count(*) AS n FROM written w GROUP BY 1) AS c WHERE a.id = c.account_id;
    PERFORM 1 FROM magpie.account a WHERE a.id IN (SELECT w.account_id FROM written w) AND a.favorite_count > 100000;
    IF FOUND THEN
      RAISE EXCEPTION 'an account has 100000 favorites at most' USING ERRCODE = 'MG429';
    END IF;
  ELSE
    UPDATE magpie.account a SET favorite_count = a.favorite_count - c.n
      FROM (SELECT w.account_id, count(*) AS n FROM written w GROUP BY 1) AS c WHERE a.id = c.account_id;
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.favorite_counted() IS 'Keeps account.favorite_count and its limit, and ends a statement''s versions.';
CREATE TRIGGER counted AFTER INSERT ON magpie.favorite REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION magpie.favorite_counted();
CREATE TRIGGER uncounted AFTER DELETE ON magpie.favorite REFERENCING OLD TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION magpie.favorite_counted();
CREATE TRIGGER settled AFTER UPDATE ON magpie.favorite FOR EACH STATEMENT EXECUTE FUNCTION magpie.settle();

-- Membership. The column and the table say the same, whichever of them is written.
CREATE FUNCTION magpie.favorite_collections_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- In one statement, so that the table's own triggers see it when both say the same.
  WITH gone AS (
    DELETE FROM magpie.favorite_collection c
     WHERE c.account_id = NEW.account_id AND c.kind = NEW.kind AND c.subject_id = NEW.subject_id
       AND c.collection_id <> ALL (NEW.collections))
  INSERT INTO magpie.favorite_collection (account_id, kind, subject_id, collection_id)
  SELECT NEW.account_id, NEW.kind, NEW.subject_id, c FROM unnest(NEW.collections) AS c
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.favorite_collections_changed() IS 'Writes a favorite''s column collections into magpie.favorite_collection.';
CREATE TRIGGER collections_given AFTER INSERT ON magpie.favorite FOR EACH ROW
  WHEN (NEW.collections <> '{}') EXECUTE FUNCTION magpie.favorite_collections_changed();
CREATE TRIGGER collections_changed AFTER UPDATE ON magpie.favorite FOR EACH ROW
  WHEN (NEW.collections IS DISTINCT FROM OLD.collections) EXECUTE FUNCTION magpie.favorite_collections_changed();

CREATE FUNCTION magpie.membership_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.favorite f SET collections = s.ids
    FROM (SELECT k.account_id, k.kind, k.subject_id,
                 ARRAY(SELECT c.collection_id FROM magpie.favorite_collection c
                        WHERE c.account_id = k.account_id AND c.kind = k.kind AND c.subject_id = k.subject_id ORDER BY 1) AS ids
            FROM (SELECT DISTINCT w.account_id, w.kind, w.subject_id FROM written w) AS k) AS s
   WHERE f.account_id = s.account_id AND f.kind = s.kind AND f.subject_id = s.subject_id AND f.collections <> s.ids;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.membership_changed() IS 'Writes memberships into the favorites'' column collections, which raises their versions.';
CREATE TRIGGER added AFTER INSERT ON magpie.favorite_collection REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION magpie.membership_changed();
CREATE TRIGGER removed AFTER DELETE ON magpie.favorite_collection REFERENCING OLD TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION magpie.membership_changed();
CREATE TRIGGER moved_away AFTER UPDATE ON magpie.favorite_collection REFERENCING OLD TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION magpie.membership_changed();
CREATE TRIGGER moved_in AFTER UPDATE ON magpie.favorite_collection REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION magpie.membership_changed();

CREATE FUNCTION magpie.collection_before() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_version bigint;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF (NEW.account_id, NEW.id) IS DISTINCT FROM (OLD.account_id, OLD.id) THEN
      RAISE EXCEPTION 'a collection cannot become another one' USING ERRCODE = 'MG422';
    END IF;
    NEW.version := OLD.version; NEW.updated_at := OLD.updated_at; NEW.document := OLD.document;
    IF NEW IS NOT DISTINCT FROM OLD THEN RETURN NEW; END IF;
  END IF;
  v_version := magpie.next_version(NEW.account_id);
  IF v_version IS NULL THEN
    IF TG_OP = 'UPDATE' THEN RETURN NEW; END IF;
    RAISE EXCEPTION 'there is no account with the id %', coalesce(NEW.account_id::text, 'NULL') USING ERRCODE = 'MG404',
      HINT = 'admin.accounts lists them, and admin.account_id(''NAME'') gives the id of one.';
  END IF;
  NEW.version := v_version;
  IF TG_OP = 'INSERT' THEN
    -- Under the account's lock, so that nobody counts beside us.
    IF (SELECT count(*) FROM magpie.collection c WHERE c.account_id = NEW.account_id) >= 1000 THEN
      RAISE EXCEPTION 'an account has 1000 collections at most' USING ERRCODE = 'MG429';
    END IF;
    DELETE FROM magpie.collection_tombstone t WHERE t.account_id = NEW.account_id AND t.id = NEW.id;
  END IF;
  NEW.updated_at := now();
  NEW.document := format('{"kind":"collection","id":%s,"name":%s,"rank":%s,"created_at":"%s","updated_at":"%s","version":%s}',
    to_json(NEW.id), to_json(NEW.name), to_json(NEW.rank), magpie.json_time(NEW.created_at), magpie.json_time(NEW.updated_at), NEW.version);
  RETURN NEW;
END $$;
COMMENT ON FUNCTION magpie.collection_before() IS 'Gives every insert and change of a collection its version and document.';
CREATE TRIGGER before_write BEFORE INSERT OR UPDATE ON magpie.collection
  FOR EACH ROW EXECUTE FUNCTION magpie.collection_before();

CREATE FUNCTION magpie.collection_deleted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_version bigint := magpie.next_version(OLD.account_id);
BEGIN
  IF v_version IS NULL THEN RETURN NULL; END IF;
  INSERT INTO magpie.collection_tombstone AS t (account_id, id, version) VALUES (OLD.account_id, OLD.id, v_version)
  ON CONFLICT (account_id, id) DO UPDATE SET version = EXCLUDED.version, deleted_at = now();
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.collection_deleted() IS 'Leaves a tombstone for every deleted collection.';
CREATE TRIGGER after_delete AFTER DELETE ON magpie.collection FOR EACH ROW EXECUTE FUNCTION magpie.collection_deleted();
CREATE TRIGGER settled AFTER INSERT OR UPDATE OR DELETE ON magpie.collection FOR EACH STATEMENT EXECUTE FUNCTION magpie.settle();

ALTER TABLE magpie.collection ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.collection FORCE ROW LEVEL SECURITY;
ALTER TABLE magpie.collection_tombstone ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.collection_tombstone FORCE ROW LEVEL SECURITY;
ALTER TABLE magpie.favorite_collection ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.favorite_collection FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON magpie.collection TO magpie_app
  USING (account_id = magpie.current_account()) WITH CHECK (account_id = magpie.current_account());
CREATE POLICY own_rows ON magpie.collection_tombstone TO magpie_app
  USING (account_id = magpie.current_account()) WITH CHECK (account_id = magpie.current_account());
CREATE POLICY own_rows ON magpie.favorite_collection TO magpie_app
  USING (account_id = magpie.current_account()) WITH CHECK (account_id = magpie.current_account());
CREATE POLICY all_rows ON magpie.collection TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);
CREATE POLICY all_rows ON magpie.collection_tombstone TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);
CREATE POLICY all_rows ON magpie.favorite_collection TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON magpie.collection TO magpie_app, magpie_admin;
GRANT SELECT ON magpie.collection_tombstone TO magpie_app, magpie_admin;
GRANT SELECT ON magpie.favorite_collection TO magpie_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON magpie.favorite_collection TO magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.next_version(bigint), magpie.settle_versions() TO magpie_admin;

RESET ROLE;
