-- Telling who came and who left. Called by the worker, in the transaction that publishes a walk or ends a check.
--
-- Every function here locks the listing first, as opening a walk does: what a running walk has met is settled when it ends.
SET LOCAL ROLE magpie_owner;

-- Members who were missed and follow all the same: the edge that was ended goes on, and one that was begun since is the same.
CREATE OR REPLACE FUNCTION magpie.rejoin_members(p_listing bigint, p_members bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF cardinality(p_members) = 0 THEN RETURN; END IF;
  DELETE FROM magpie.follow_edge e USING magpie.follow_check c
   WHERE c.listing_id = p_listing AND c.member_id = ANY (p_members) AND e.listing_id = p_listing AND e.member_id = c.member_id
     AND e.gone_generation IS NULL AND e.first_generation > c.first_generation;
  UPDATE magpie.follow_edge e SET gone_generation = NULL, ended_at = NULL FROM magpie.follow_check c
   WHERE c.listing_id = p_listing AND c.member_id = ANY (p_members) AND e.listing_id = p_listing AND e.member_id = c.member_id
     AND e.first_generation = c.first_generation;
  DELETE FROM magpie.follow_check c WHERE c.listing_id = p_listing AND c.member_id = ANY (p_members);
END $$;
COMMENT ON FUNCTION magpie.rejoin_members(bigint, bigint[]) IS 'Takes back that members are missing from a list.';

CREATE OR REPLACE FUNCTION magpie.count_changes(p_listing bigint, p_members bigint, p_gained int, p_lost int) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO magpie.follow_day AS d (listing_id, day, members, gained, lost)
  VALUES (p_listing, (now() AT TIME ZONE 'UTC')::date, p_members, p_gained, p_lost)
  ON CONFLICT (listing_id, day) DO UPDATE
    SET members = EXCLUDED.members, gained = d.gained + EXCLUDED.gained, lost = d.lost + EXCLUDED.lost
$$;
COMMENT ON FUNCTION magpie.count_changes(bigint, bigint, int, int) IS 'Writes the present day of a list''s history.';

-- Whether a walk that has read an empty list would end what was not empty before: the owner's profile has to say why.
CREATE OR REPLACE FUNCTION magpie.is_emptied(p_walk bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (
    SELECT FROM magpie.walk w JOIN magpie.listing l ON l.id = w.listing_id
      JOIN magpie.follow_edge e ON e.listing_id = l.id AND e.gone_generation IS NULL AND e.first_generation <= l.generation
     WHERE w.id = p_walk AND w.members = 0)
$$;
COMMENT ON FUNCTION magpie.is_emptied(bigint) IS 'Whether a walk has found nobody in a list that had members.';

-- Whether a walk that has read an empty list would be what later ones are compared with: that is only right for who has nobody.
CREATE OR REPLACE FUNCTION magpie.is_unseen(p_walk bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (
    SELECT FROM magpie.walk w
     WHERE w.id = p_walk AND w.members = 0 AND NOT EXISTS (SELECT FROM magpie.list_watch x WHERE x.listing_id = w.listing_id))
$$;
COMMENT ON FUNCTION magpie.is_unseen(bigint) IS 'Whether a walk has found nobody in a list that has no baseline yet.';

-- To be called right after the walk was published. What is new is told at once; whoever is missing becomes a case for a check.
CREATE OR REPLACE FUNCTION magpie.record_changes(p_walk bigint, p_restricted boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_walk magpie.walk;
  v_listing magpie.listing;
  v_watch magpie.list_watch;
  v_before magpie.walk;
  v_gained int := 0;
BEGIN
  SELECT * INTO STRICT v_walk FROM magpie.walk w WHERE w.id = p_walk AND w.state = 'complete';
  SELECT * INTO STRICT v_listing FROM magpie.listing l WHERE l.id = v_walk.listing_id FOR UPDATE;
  -- Other lists have no followers to be told of.
  IF v_listing.kind NOT IN ('followers', 'following') THEN RETURN; END IF;
  SELECT * INTO v_watch FROM magpie.list_watch w WHERE w.listing_id = v_listing.id;
  IF p_restricted THEN
    -- An empty list of a private profile says nothing about anybody. The edges go on, to be compared with what is shown
    -- once the profile is public again.
    UPDATE magpie.follow_edge e SET gone_generation = NULL, ended_at = NULL
     WHERE e.listing_id = v_listing.id AND e.gone_generation = v_walk.generation;
    UPDATE magpie.list_watch w SET restricted_at = coalesce(w.restricted_at, now()), walk_id = p_walk WHERE w.listing_id = v_listing.id;
    -- Who has never shown anybody may as well have nobody: the two look alike.
    IF v_watch.listing_id IS NOT NULL THEN
      UPDATE magpie.github_user u SET state = 'restricted' WHERE u.id = v_listing.owner_id AND u.state = 'ok';
    END IF;
    RETURN;
  END IF;
  IF v_watch.listing_id IS NULL AND v_walk.members = 1 THEN
    -- A single member where the walk before has met nobody is somebody's first. More of them at once are sooner a profile that
    -- was private and is not any more, of whose members nobody knows since when they are there.
    SELECT w.* INTO v_before FROM magpie.walk w
     WHERE w.listing_id = v_listing.id AND w.state = 'complete' AND w.generation < v_walk.generation
     ORDER BY w.generation DESC LIMIT 1;
    IF v_before.members = 0 THEN
      INSERT INTO magpie.list_watch (listing_id, generation, walk_id, seen_at, baseline_at)
      VALUES (v_listing.id, v_before.generation, v_before.id, v_before.started_at, v_before.finished_at)
      RETURNING * INTO v_watch;
    END IF;
  END IF;
  IF v_watch.listing_id IS NULL THEN
    INSERT INTO magpie.list_watch (listing_id, generation, walk_id, seen_at)
    VALUES (v_listing.id, v_walk.generation, p_walk, v_walk.started_at);
  ELSE
    PERFORM magpie.rejoin_members(v_listing.id, ARRAY(
      SELECT c.member_id FROM magpie.follow_check c
        JOIN magpie.follow_edge e ON e.listing_id = c.listing_id AND e.member_id = c.member_id AND e.gone_generation IS NULL
       WHERE c.listing_id = v_listing.id));
    INSERT INTO magpie.follow_check (listing_id, member_id, first_generation, login, seen_at)
    SELECT e.listing_id, e.member_id, e.first_generation, coalesce(u.login, ''), v_watch.seen_at
      FROM magpie.follow_edge e LEFT JOIN magpie.github_user u ON u.id = e.member_id
     WHERE e.listing_id = v_listing.id AND e.gone_generation = v_walk.generation
    ON CONFLICT DO NOTHING;
    INSERT INTO magpie.follow_event (listing_id, member_id, login, event, reason, observed_from, observed_to)
    SELECT e.listing_id, e.member_id, coalesce(u.login, ''), 'followed', CASE
        WHEN (SELECT f.reason FROM magpie.follow_event f WHERE f.member_id = e.member_id AND f.listing_id = e.listing_id
               ORDER BY f.id DESC LIMIT 1) IN ('deleted_or_suspended', 'restricted') THEN 'returned' END,
        v_watch.seen_at, clock_timestamp()
      FROM magpie.follow_edge e LEFT JOIN magpie.github_user u ON u.id = e.member_id
     WHERE e.listing_id = v_listing.id AND e.gone_generation IS NULL AND e.first_generation > v_watch.generation
     ORDER BY e.first_seen_at, e.member_id;
    GET DIAGNOSTICS v_gained = ROW_COUNT;
  END IF;
  IF v_walk.pages_unchanged = v_walk.pages THEN
    PERFORM magpie.keep_orders(v_listing.id, v_watch.walk_id, p_walk);
  END IF;
  UPDATE magpie.list_watch w SET generation = v_walk.generation, walk_id = p_walk, seen_at = v_walk.started_at, restricted_at = NULL
   WHERE w.listing_id = v_listing.id;
  -- What is shown is not private. An empty list shows nothing as long as another one is known to be hidden.
  UPDATE magpie.github_user u SET state = 'ok'
   WHERE u.id = v_listing.owner_id AND u.state = 'restricted'
     AND (v_walk.members > 0 OR NOT EXISTS (
       SELECT FROM magpie.listing l JOIN magpie.list_watch w ON w.listing_id = l.id
        WHERE l.owner_id = v_listing.owner_id AND w.restricted_at IS NOT NULL));
  PERFORM magpie.count_changes(v_listing.id, v_listing.member_count, v_gained, 0);
  IF EXISTS (SELECT FROM magpie.follow_check c WHERE c.listing_id = v_listing.id)
     OR NOT EXISTS (SELECT FROM magpie.list_order o WHERE o.listing_id = v_listing.id AND o.walk_id = p_walk AND o.replaced_at IS NULL) THEN
    PERFORM magpie.request_job('github-' || v_listing.kind || '-changes', 'id:' || v_listing.owner_id, p_notify => false);
  END IF;
END $$;
COMMENT ON FUNCTION magpie.record_changes(bigint, boolean) IS
  'Compares a published walk with the last one that showed the list. p_restricted: it shows nobody since the profile is private.';

-- Turns what the checks have found into events. Findings that rest on a login the owner had not at the end are given up.
CREATE OR REPLACE FUNCTION magpie.settle_checks(p_listing bigint, p_owner_login text) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_members bigint;
  v_lost int;
BEGIN
  SELECT l.member_count INTO STRICT v_members FROM magpie.listing l WHERE l.id = p_listing FOR UPDATE;
  UPDATE magpie.follow_check c SET finding = NULL, checked_at = NULL
   WHERE c.listing_id = p_listing AND c.finding <> 'deleted_or_suspended'
     AND lower(c.owner_login) IS DISTINCT FROM lower(p_owner_login);
  -- A walk under way has met the member meanwhile. Which of both is older nobody knows: its end will tell.
  UPDATE magpie.follow_check c SET finding = NULL, checked_at = NULL FROM magpie.follow_edge e
   WHERE c.listing_id = p_listing AND c.finding <> 'follows' AND e.listing_id = p_listing AND e.member_id = c.member_id
     AND e.gone_generation IS NULL;
  PERFORM magpie.rejoin_members(p_listing, ARRAY(
    SELECT c.member_id FROM magpie.follow_check c WHERE c.listing_id = p_listing AND c.finding = 'follows'));
  WITH settled AS (DELETE FROM magpie.follow_check c WHERE c.listing_id = p_listing AND c.finding IS NOT NULL RETURNING c.*)
  INSERT INTO magpie.follow_event (listing_id, member_id, login, event, reason, observed_from, observed_to)
  SELECT s.listing_id, s.member_id, s.login, 'unfollowed', s.finding, s.seen_at, s.checked_at
    FROM settled s ORDER BY s.checked_at, s.member_id;
  GET DIAGNOSTICS v_lost = ROW_COUNT;
  IF v_lost > 0 THEN
    PERFORM magpie.count_changes(p_listing, v_members, 0, v_lost);
    -- Until now they counted as members, to whom people of the other list stand in a relation.
    UPDATE magpie.list_order o SET replaced_at = now()
      FROM magpie.listing l JOIN magpie.listing x ON x.owner_id = l.owner_id AND x.id <> l.id
     WHERE l.id = p_listing AND o.listing_id = x.id AND o.relation <> 'all' AND o.replaced_at IS NULL;
  END IF;
  RETURN v_lost;
END $$;
COMMENT ON FUNCTION magpie.settle_checks(bigint, text) IS
  'Makes events of findings, given the login that the owner has by now, and answers how many.';

GRANT EXECUTE ON FUNCTION magpie.rejoin_members(bigint, bigint[]), magpie.count_changes(bigint, bigint, int, int),
  magpie.is_emptied(bigint), magpie.is_unseen(bigint), magpie.record_changes(bigint, boolean),
  magpie.settle_checks(bigint, text) TO magpie_worker;

DROP VIEW IF EXISTS admin.follower_changes;
CREATE VIEW admin.follower_changes WITH (security_invoker = true) AS
  SELECT 'github-' || l.kind || ':' || o.login AS subject, e.event, e.reason, coalesce(m.login, e.login) AS login, e.member_id,
         e.observed_from, e.observed_to, e.recorded_at, e.id
    FROM magpie.follow_event e JOIN magpie.listing l ON l.id = e.listing_id JOIN magpie.github_user o ON o.id = l.owner_id
    LEFT JOIN magpie.github_user m ON m.id = e.member_id;
COMMENT ON VIEW admin.follower_changes IS 'Who came into lists and who left them: between which two looks, and why.';

RESET ROLE;
