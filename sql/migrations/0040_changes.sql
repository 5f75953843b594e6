-- What happened to lists: who came and went, day by day, and the lists in other orders than the upstream's.
SET LOCAL ROLE magpie_owner;

CREATE TABLE magpie.list_watch (
  listing_id    bigint PRIMARY KEY REFERENCES magpie.listing ON DELETE CASCADE,
  generation    int NOT NULL,
  walk_id       bigint,
  seen_at       timestamptz NOT NULL,
  baseline_at   timestamptz NOT NULL DEFAULT now(),
  restricted_at timestamptz
);
COMMENT ON TABLE magpie.list_watch IS 'Up to which walk the changes of a list have been told. A list without a row has no baseline yet.';
COMMENT ON COLUMN magpie.list_watch.generation IS 'Of the last complete walk that showed the list, not an empty one for a private profile.';
COMMENT ON COLUMN magpie.list_watch.walk_id IS 'The last one that was published, an empty one included.';
COMMENT ON COLUMN magpie.list_watch.seen_at IS 'When that walk began: the earlier end of every interval that the next one ends.';
COMMENT ON COLUMN magpie.list_watch.restricted_at IS 'Since when the owner''s profile is private; what was in the list then is kept to compare with.';

-- A walk's row is made when its first page is stored, which is some time after that page was asked for.
CREATE FUNCTION magpie.walk_began() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.started_at := coalesce((SELECT j.started_at FROM magpie.job j WHERE j.id = NEW.job_id), NEW.started_at);
  RETURN NEW;
END $$;
COMMENT ON FUNCTION magpie.walk_began() IS 'Dates a walk back to the run that began it, so that nothing it has seen is older.';
CREATE TRIGGER walk_began BEFORE INSERT ON magpie.walk FOR EACH ROW EXECUTE FUNCTION magpie.walk_began();

CREATE TABLE magpie.follow_check (
  listing_id       bigint NOT NULL REFERENCES magpie.listing ON DELETE CASCADE,
  member_id        bigint NOT NULL,
  first_generation int NOT NULL,
  login            text NOT NULL,
  seen_at          timestamptz NOT NULL,
  missed_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  finding          text CHECK (finding IN ('follows', 'unfollowed', 'renamed', 'deleted_or_suspended', 'restricted')),
  owner_login      text,
  checked_at       timestamptz,
  PRIMARY KEY (listing_id, member_id)
);
CREATE INDEX follow_check_member ON magpie.follow_check (member_id);
COMMENT ON TABLE magpie.follow_check IS
  'Members whom a complete walk has not met, to be looked at singly before anybody is told. Nobody is in it for good.';
COMMENT ON COLUMN magpie.follow_check.first_generation IS 'Of the edge that the walk has ended, and that goes on if the member follows.';
COMMENT ON COLUMN magpie.follow_check.login IS 'The member''s when last seen in the list.';
COMMENT ON COLUMN magpie.follow_check.seen_at IS 'Began the last walk that met the member.';
COMMENT ON COLUMN magpie.follow_check.owner_login IS 'With which login of the owner the relation was asked for. Should it be another by now, the finding is worth nothing.';

CREATE TABLE magpie.follow_event (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  listing_id    bigint NOT NULL REFERENCES magpie.listing ON DELETE CASCADE,
  member_id     bigint NOT NULL,
  login         text NOT NULL,
  event         text NOT NULL CHECK (event IN ('followed', 'unfollowed')),
  reason        text CHECK (reason IN ('unfollowed', 'renamed', 'deleted_or_suspended', 'restricted', 'returned')),
  observed_from timestamptz NOT NULL,
  observed_to   timestamptz NOT NULL,
  recorded_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK (observed_from <= observed_to),
  CHECK (event = 'followed' OR reason IS NOT NULL)
);
CREATE INDEX follow_event_list ON magpie.follow_event (listing_id, id);
CREATE INDEX follow_event_time ON magpie.follow_event (listing_id, recorded_at);
CREATE INDEX follow_event_member ON magpie.follow_event (member_id, listing_id, id);
COMMENT ON TABLE magpie.follow_event IS 'Who came into a list and who left it. Written once, in the order of their numbers within a list.';
COMMENT ON COLUMN magpie.follow_event.login IS 'The member''s when last seen in the list.';
COMMENT ON COLUMN magpie.follow_event.reason IS
  'Of one who left: unfollowed, renamed (and follows under no name), deleted_or_suspended, restricted (the profile is private). Of one who came: returned, if it was not the member''s own doing to leave.';
COMMENT ON COLUMN magpie.follow_event.observed_from IS 'When it was not so yet, as far as anybody has looked.';
COMMENT ON COLUMN magpie.follow_event.observed_to IS 'When it was so.';

CREATE TABLE magpie.follow_day (
  listing_id bigint NOT NULL REFERENCES magpie.listing ON DELETE CASCADE,
  day        date NOT NULL,
  members    bigint NOT NULL,
  gained     int NOT NULL DEFAULT 0,
  lost       int NOT NULL DEFAULT 0,
  PRIMARY KEY (listing_id, day)
);
COMMENT ON TABLE magpie.follow_day IS 'How long a list was at the end of a day (UTC), and how many came and went as far as was found out that day. Kept for ever.';

CREATE TABLE magpie.list_order (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  listing_id    bigint NOT NULL REFERENCES magpie.listing ON DELETE CASCADE,
  relation      text NOT NULL CHECK (relation IN ('all', 'mutual', 'not_back')),
  sort          text NOT NULL CHECK (sort IN ('upstream', 'login', 'first_seen')),
  walk_id       bigint NOT NULL,
  other_walk_id bigint,
  members       bigint NOT NULL,
  made_at       timestamptz NOT NULL DEFAULT now(),
  replaced_at   timestamptz,
  CHECK ((relation = 'all') = (other_walk_id IS NULL))
);
CREATE UNIQUE INDEX list_order_current ON magpie.list_order (listing_id, relation, sort) WHERE replaced_at IS NULL;
CREATE INDEX list_order_list ON magpie.list_order (listing_id);
COMMENT ON TABLE magpie.list_order IS
  'A list, or the part of it that stands in a relation to the owner''s other list, in an order of ours. Replaced ones are kept for an hour for their readers.';
COMMENT ON COLUMN magpie.list_order.walk_id IS 'The walk it was made from. Of no use for new readers when the list shows another.';
COMMENT ON COLUMN magpie.list_order.other_walk_id IS 'The same of the owner''s other list.';

CREATE TABLE magpie.list_order_page (
  order_id bigint NOT NULL REFERENCES magpie.list_order ON DELETE CASCADE,
  page     int NOT NULL CHECK (page >= 0),
  ids      bigint[] NOT NULL,
  seen     timestamptz[] NOT NULL,
  PRIMARY KEY (order_id, page)
);
COMMENT ON TABLE magpie.list_order_page IS
  'A hundred members of an order, the first page being 0, with the time each was first seen in the list: any place is found by division.';

CREATE TABLE magpie.forgotten (
  digest       bytea PRIMARY KEY,
  kind         text NOT NULL,
  forgotten_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE magpie.forgotten IS 'What was erased and must not come back, as a keyed hash of its kind and id.';

GRANT SELECT ON magpie.list_watch, magpie.follow_check, magpie.follow_event, magpie.follow_day, magpie.list_order,
  magpie.list_order_page TO magpie_app, magpie_worker, magpie_admin;
GRANT INSERT, UPDATE, DELETE ON magpie.list_watch, magpie.follow_check, magpie.follow_event, magpie.follow_day,
  magpie.list_order, magpie.list_order_page TO magpie_worker;
GRANT SELECT, DELETE ON magpie.forgotten TO magpie_admin;

-- Forgetting: what was erased leaves a keyed hash, and no store can bring it back.
INSERT INTO magpie.secret (name, value)
SELECT 'forgotten', sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

CREATE FUNCTION magpie.forgotten_digest(p_kind text, p_id bigint) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT sha256(s.value || convert_to(p_kind || ':' || p_id, 'UTF8')) FROM magpie.secret s WHERE s.name = 'forgotten'
$$;
COMMENT ON FUNCTION magpie.forgotten_digest(text, bigint) IS 'What is kept of a forgotten subject: nobody can tell the subject from it without the key.';

CREATE FUNCTION magpie.forgotten_among(p_kind text, p_ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- The usual case, in which nothing is hashed.
  IF NOT EXISTS (SELECT FROM magpie.forgotten) THEN RETURN '{}'; END IF;
  RETURN ARRAY(SELECT i FROM unnest(p_ids) AS i
                WHERE EXISTS (SELECT FROM magpie.forgotten f WHERE f.digest = magpie.forgotten_digest(p_kind, i)));
END $$;
COMMENT ON FUNCTION magpie.forgotten_among(text, bigint[]) IS 'Which of some subjects were forgotten and must not be stored.';

CREATE FUNCTION magpie.refuse_forgotten() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM magpie.forgotten) AND cardinality(magpie.forgotten_among('github-user', ARRAY[NEW.id])) > 0 THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION magpie.refuse_forgotten() IS 'Keeps people who were forgotten from being stored again, whoever tries.';
CREATE TRIGGER refuse_forgotten BEFORE INSERT ON magpie.github_user FOR EACH ROW EXECUTE FUNCTION magpie.refuse_forgotten();
-- Until somebody is forgotten, storing people need not pay for it.
ALTER TABLE magpie.github_user DISABLE TRIGGER refuse_forgotten;

CREATE FUNCTION magpie.has_forgotten() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (SELECT FROM magpie.forgotten)
$$;
COMMENT ON FUNCTION magpie.has_forgotten() IS 'Whether anybody was forgotten, so that pages must be looked through.';

-- Workers leave the forgotten out of pages. One that began before somebody was forgotten is told, and begins anew.
CREATE FUNCTION magpie.refuse_forgotten_page() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM magpie.forgotten) AND cardinality(magpie.forgotten_among('github-user', NEW.members)) > 0 THEN
    RAISE EXCEPTION 'a page shows somebody who was forgotten' USING ERRCODE = 'MG409';
  END IF;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION magpie.refuse_forgotten_page() IS 'Keeps people who were forgotten out of the pages of walks.';
CREATE TRIGGER refuse_forgotten BEFORE INSERT ON magpie.walk_page FOR EACH ROW EXECUTE FUNCTION magpie.refuse_forgotten_page();

GRANT EXECUTE ON FUNCTION magpie.has_forgotten() TO magpie_worker;
GRANT EXECUTE ON FUNCTION magpie.forgotten_among(text, bigint[]) TO magpie_app, magpie_worker, magpie_admin;

RESET ROLE;
