-- Lists in other orders than the upstream's, and the parts of them that stand in a relation to the owner's other list.
--
-- They are made after a walk is published, by a job of their own. Until then readers sort for themselves; what was made from
-- another walk than the one that is shown is no use to them.
SET LOCAL ROLE magpie_owner;

-- The pages of a walk do not tell alone: whoever it has missed because the list moved, and whom a private profile hides, has not
-- left. Who is still to be looked at counts as a member, since nobody may say "does not follow back" of them yet.
CREATE OR REPLACE FUNCTION magpie.is_member(p_listing bigint, p_generation int, p_member bigint) RETURNS boolean
-- Asked for each of hundreds of thousands: without a search path of its own it becomes part of the query, and OFFSET 0 has each
-- looked up.
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM magpie.follow_edge e
                  WHERE e.listing_id = p_listing AND e.member_id = p_member AND e.first_generation <= p_generation
                    AND (e.gone_generation IS NULL OR e.gone_generation > p_generation) OFFSET 0)
      OR EXISTS (SELECT FROM magpie.follow_check c WHERE c.listing_id = p_listing AND c.member_id = p_member OFFSET 0)
$$;
COMMENT ON FUNCTION magpie.is_member(bigint, int, bigint) IS
  'Whether somebody was in a list at a generation, as far as is known: met, and not found to have left.';
GRANT EXECUTE ON FUNCTION magpie.is_member(bigint, int, bigint) TO magpie_app, magpie_worker, magpie_admin;

-- Makes orders of one list: all of it, or its relation to the other, from the walks named.
CREATE OR REPLACE FUNCTION magpie.make_orders(p_listing bigint, p_walk bigint, p_other_walk bigint) RETURNS void
-- Each member is looked up, which OFFSET 0 and no scans of whole tables see to: a planner that still takes the tables for empty
-- would read all of them for each of 300,000, or go through the pages for each person that it knows.
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_other magpie.walk;
BEGIN
  SELECT * INTO v_other FROM magpie.walk w WHERE w.id = p_other_walk;
  UPDATE magpie.list_order o SET replaced_at = now()
   WHERE o.listing_id = p_listing AND o.replaced_at IS NULL AND (o.relation = 'all') = (p_other_walk IS NULL);
  INSERT INTO magpie.list_order (listing_id, relation, sort, walk_id, other_walk_id, members)
  SELECT p_listing, r.relation, s.sort, p_walk, p_other_walk, 0
    FROM unnest(CASE WHEN p_other_walk IS NULL THEN ARRAY['all'] ELSE ARRAY['mutual', 'not_back'] END) AS r(relation),
         unnest(CASE WHEN p_other_walk IS NULL THEN ARRAY['login', 'first_seen'] ELSE ARRAY['upstream', 'login', 'first_seen'] END)
           AS s(sort);
  WITH member AS MATERIALIZED (
    SELECT m.id, p.page, m.n, coalesce(u.login_key, '') COLLATE "C" AS login, coalesce(e.first_seen_at, u.first_seen_at) AS seen,
           CASE WHEN p_other_walk IS NULL THEN 'all'
                WHEN magpie.is_member(v_other.listing_id, v_other.generation, m.id) THEN 'mutual' ELSE 'not_back' END AS relation
      FROM magpie.walk_page p CROSS JOIN unnest(p.members) WITH ORDINALITY AS m(id, n)
      CROSS JOIN LATERAL (SELECT u.login_key, u.first_seen_at FROM magpie.github_user u WHERE u.id = m.id OFFSET 0) AS u
      LEFT JOIN LATERAL (
        SELECT e.first_seen_at FROM magpie.follow_edge e
         WHERE e.listing_id = p_listing AND e.member_id = m.id AND e.gone_generation IS NULL OFFSET 0) AS e ON true
     WHERE p.walk_id = p_walk),
  placed AS (
    SELECT m.relation, 'upstream' AS sort, m.id, m.seen, row_number() OVER (PARTITION BY m.relation ORDER BY m.page, m.n) - 1 AS n
      FROM member m WHERE p_other_walk IS NOT NULL
    UNION ALL
    SELECT m.relation, 'login', m.id, m.seen, row_number() OVER (PARTITION BY m.relation ORDER BY m.login, m.id) - 1 FROM member m
    UNION ALL
    SELECT m.relation, 'first_seen', m.id, m.seen, row_number() OVER (PARTITION BY m.relation ORDER BY m.seen, m.id) - 1 FROM member m)
  INSERT INTO magpie.list_order_page (order_id, page, ids, seen)
  SELECT o.id, p.n / 100, array_agg(p.id ORDER BY p.n), array_agg(p.seen ORDER BY p.n)
    FROM placed p JOIN magpie.list_order o ON o.listing_id = p_listing AND o.replaced_at IS NULL
     AND o.relation = p.relation AND o.sort = p.sort
   GROUP BY o.id, p.n / 100;
  UPDATE magpie.list_order o SET members = s.members
    FROM (SELECT p.order_id, sum(cardinality(p.ids)) AS members
            FROM magpie.list_order_page p JOIN magpie.list_order x ON x.id = p.order_id
           WHERE x.listing_id = p_listing AND x.replaced_at IS NULL GROUP BY p.order_id) s
   WHERE o.id = s.order_id AND o.members <> s.members;
  -- Whoever pages through an older one has an hour to come to its end.
  DELETE FROM magpie.list_order o WHERE o.listing_id = p_listing AND o.replaced_at < now() - interval '1 hour';
END $$;
COMMENT ON FUNCTION magpie.make_orders(bigint, bigint, bigint) IS
  'Prepares a list in all orders, or, when the other list''s walk is given, its parts: mutual and not_back.';

-- Makes what is missing or out of date of a list's orders, and of the other list's relation to it.
CREATE OR REPLACE FUNCTION magpie.prepare_orders(p_listing bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_listing magpie.listing;
  v_other magpie.listing;
BEGIN
  SELECT * INTO v_listing FROM magpie.listing l WHERE l.id = p_listing;
  IF NOT FOUND OR v_listing.generation = 0 THEN RETURN; END IF;
  -- The two lists of one person are written by one at a time.
  PERFORM pg_advisory_xact_lock(hashtextextended('magpie.list_order', v_listing.owner_id));
  SELECT * INTO v_listing FROM magpie.listing l WHERE l.id = p_listing;
  SELECT * INTO v_other FROM magpie.listing l 
   WHERE l.owner_id = v_listing.owner_id AND l.id <> p_listing AND l.kind IN ('followers', 'following') AND l.generation > 0;
  IF NOT EXISTS (SELECT FROM magpie.list_order o WHERE o.listing_id = p_listing AND o.replaced_at IS NULL AND o.relation = 'all'
                    AND o.walk_id = v_listing.walk_id) THEN
    PERFORM magpie.make_orders(p_listing, v_listing.walk_id, NULL);
  END IF;
  IF v_other.id IS NULL THEN RETURN; END IF;
  IF NOT EXISTS (SELECT FROM magpie.list_order o WHERE o.listing_id = p_listing AND o.replaced_at IS NULL AND o.relation <> 'all'
                    AND o.walk_id = v_listing.walk_id AND o.other_walk_id = v_other.walk_id) THEN
    PERFORM magpie.make_orders(p_listing, v_listing.walk_id, v_other.walk_id);
  END IF;
  IF NOT EXISTS (SELECT FROM magpie.list_order o WHERE o.listing_id = v_other.id AND o.replaced_at IS NULL AND o.relation <> 'all'
                    AND o.walk_id = v_other.walk_id AND o.other_walk_id = v_listing.walk_id) THEN
    PERFORM magpie.make_orders(v_other.id, v_other.walk_id, v_listing.walk_id);
  END IF;
END $$;
COMMENT ON FUNCTION magpie.prepare_orders(bigint) IS 'Brings the prepared orders of a list up to the walk that it shows.';

-- After a walk that has changed nothing the orders are as good as before.
CREATE OR REPLACE FUNCTION magpie.keep_orders(p_listing bigint, p_before bigint, p_walk bigint) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  UPDATE magpie.list_order o SET walk_id = p_walk WHERE o.listing_id = p_listing AND o.walk_id = p_before AND o.replaced_at IS NULL;
  UPDATE magpie.list_order o SET other_walk_id = p_walk
    FROM magpie.listing l JOIN magpie.listing x ON x.owner_id = l.owner_id AND x.id <> l.id AND x.kind IN ('followers', 'following')
   WHERE l.id = p_listing AND o.listing_id = x.id AND o.other_walk_id = p_before AND o.replaced_at IS NULL;
$$;
COMMENT ON FUNCTION magpie.keep_orders(bigint, bigint, bigint) IS 'Lets orders that were made from one walk count for another with the same members.';

-- Goes along an order from a place on and picks the members that match, page by page, so that it reads no more than it needs.
CREATE OR REPLACE FUNCTION magpie.scan_order(
  p_order bigint, p_descending boolean, p_from bigint, p_pattern text, p_skip bigint, p_count int, p_pages int)
RETURNS TABLE (place bigint, id bigint, seen timestamptz)
-- A hundred people are looked up by their ids, however tempting it may be to read them all.
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
  v_members bigint := (SELECT o.members FROM magpie.list_order o WHERE o.id = p_order);
  v_last bigint := (v_members - 1) / 100;
  v_place bigint := p_from;
  v_found bigint := 0;
BEGIN
  FOR v_turn IN 1 .. p_pages LOOP
    EXIT WHEN v_place >= v_members;
    FOR place, id, seen IN
      SELECT x.place, x.id, x.seen FROM (
        SELECT CASE WHEN p_descending THEN v_members - 1 - (p.page * 100::bigint + t.n - 1) ELSE p.page * 100::bigint + t.n - 1 END
                 AS place, t.id, t.seen
          FROM magpie.list_order_page p CROSS JOIN unnest(p.ids, p.seen) WITH ORDINALITY AS t(id, seen, n)
         WHERE p.order_id = p_order
           AND p.page = CASE WHEN p_descending THEN v_members - 1 - v_place ELSE v_place END / 100) x
        JOIN magpie.github_user u ON u.id = x.id
       WHERE x.place >= v_place AND u.search LIKE p_pattern ORDER BY x.place
    LOOP
      v_found := v_found + 1;
      IF v_found > p_skip THEN RETURN NEXT; END IF;
      IF v_found >= p_skip + p_count THEN RETURN; END IF;
    END LOOP;
    v_place := CASE WHEN p_descending THEN v_members - (v_members - 1 - v_place) / 100 * 100 ELSE (v_place / 100 + 1) * 100 END;
  END LOOP;
  -- Where to go on when this was far enough for one answer; at the end there is nothing to go on with.
  IF v_place < v_members THEN
    place := v_place; id := NULL; seen := NULL;
    RETURN NEXT;
  END IF;
END $$;
COMMENT ON FUNCTION magpie.scan_order(bigint, boolean, bigint, text, bigint, int, int) IS
  'Members of a prepared order that match a pattern, from a place on. A row without an id says where it stopped looking after p_pages pages.';

GRANT EXECUTE ON FUNCTION magpie.make_orders(bigint, bigint, bigint), magpie.prepare_orders(bigint),
  magpie.keep_orders(bigint, bigint, bigint) TO magpie_worker;
GRANT EXECUTE ON FUNCTION magpie.scan_order(bigint, boolean, bigint, text, bigint, int, int) TO magpie_app, magpie_worker;

RESET ROLE;
