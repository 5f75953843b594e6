-- Searching a prepared order for a text. Two ways lead there, and neither is good alone: going along the order finds a common
-- text in no time and a rare one never; the index over all people finds a rare text at once and chokes on a common one.
SET LOCAL ROLE magpie_owner;

CREATE OR REPLACE FUNCTION magpie.find_in_order(
  p_order magpie.list_order, p_descending boolean, p_found bigint[], p_from bigint, p_after_key text, p_after_id bigint, p_skip bigint,
  p_count int)
RETURNS TABLE (place bigint, id bigint, seen timestamptz, key text, matches bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
  v_generation int := (SELECT w.generation FROM magpie.walk w WHERE w.id = p_order.walk_id);
  v_other magpie.walk;
  v_ascending constant boolean := NOT p_descending;
  v_by_login constant boolean := p_order.sort = 'login';
  v_login text := p_after_key;
  v_seen timestamptz;
  v_id bigint := p_after_id;
BEGIN
  SELECT * INTO v_other FROM magpie.walk w WHERE w.id = p_order.other_walk_id;
  IF p_after_id IS NOT NULL AND NOT v_by_login THEN v_seen := p_after_key::timestamptz; END IF;
  IF p_after_id IS NULL AND p_from > 0 THEN
    -- A reader who came along the order goes on behind the member before.
    SELECT coalesce(u.login_key, ''), m.seen, m.id INTO v_login, v_seen, v_id
      FROM (SELECT p.ids[n.n] AS id, p.seen[n.n] AS seen
              FROM (SELECT CASE WHEN p_descending THEN p_order.members - p_from ELSE p_from - 1 END AS place) x
              JOIN magpie.list_order_page p ON p.order_id = p_order.id AND p.page = x.place / 100
             CROSS JOIN LATERAL (SELECT (x.place % 100 + 1)::int AS n) n) m
      LEFT JOIN magpie.github_user u ON u.id = m.id;
  END IF;
  RETURN QUERY
    WITH member AS MATERIALIZED (
      SELECT u.id, coalesce(u.login_key, '') COLLATE "C" AS login, coalesce(e.first_seen_at, u.first_seen_at) AS seen
        FROM unnest(p_found) AS f(id) JOIN magpie.github_user u ON u.id = f.id
        JOIN LATERAL (
          SELECT e.first_seen_at FROM magpie.follow_edge e
           WHERE e.listing_id = p_order.listing_id AND e.member_id = f.id
             AND CASE WHEN v_generation IS NULL THEN e.gone_generation IS NULL
                      ELSE e.first_generation <= v_generation AND (e.gone_generation IS NULL OR e.gone_generation > v_generation) END
           LIMIT 1) e ON true
       WHERE p_order.relation = 'all' OR (p_order.relation = 'mutual') = magpie.is_member(v_other.listing_id, v_other.generation, f.id)),
    part AS (
      SELECT m.id, m.seen, CASE WHEN v_by_login THEN m.login ELSE m.seen::text END AS key,
             row_number() OVER (ORDER BY
               CASE WHEN v_by_login AND v_ascending THEN m.login END, CASE WHEN v_by_login AND p_descending THEN m.login END DESC,
               CASE WHEN NOT v_by_login AND v_ascending THEN m.seen END, CASE WHEN NOT v_by_login AND p_descending THEN m.seen END DESC,
               CASE WHEN v_ascending THEN m.id END, CASE WHEN p_descending THEN m.id END DESC) AS n
        FROM member m
       WHERE v_id IS NULL
          OR CASE WHEN v_by_login AND v_ascending THEN (m.login, m.id) > (v_login COLLATE "C", v_id)
                  WHEN v_by_login THEN (m.login, m.id) < (v_login COLLATE "C", v_id)
                  WHEN v_ascending THEN (m.seen, m.id) > (v_seen, v_id)
                  ELSE (m.seen, m.id) < (v_seen, v_id) END)
    SELECT p.n, p.id, p.seen, p.key, c.n FROM (SELECT count(*) AS n FROM member) c
      LEFT JOIN (SELECT * FROM part p WHERE p.n > p_skip ORDER BY p.n LIMIT p_count) p ON true;
END $$;
COMMENT ON FUNCTION magpie.find_in_order(magpie.list_order, boolean, bigint[], bigint, text, bigint, bigint, int) IS
  'Those of some people who are in an order, sorted as it is, from a place or behind a key on. At least one row, which has how many there are.';

CREATE OR REPLACE FUNCTION magpie.search_order(
  p_order bigint, p_descending boolean, p_from bigint, p_after_key text, p_after_id bigint, p_text text, p_skip bigint, p_count int,
  p_pages int)
RETURNS TABLE (place bigint, id bigint, seen timestamptz, key text, matches bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  -- Pages looked through before the index is asked, and people it may name: what either costs at most is alike.
  near constant int := 3;
  few  constant int := 2000;
  v_order   magpie.list_order;
  v_pattern constant text := magpie.like_containing(p_text);
  -- Shorter words have no trigram to look up.
  v_is_indexed constant boolean := p_text ~ '[[:alnum:]]{3}';
  v_places bigint[]; v_ids bigint[]; v_seen timestamptz[];
  v_found bigint[];
BEGIN
  IF p_after_id IS NULL THEN
    SELECT coalesce(array_agg(s.place), '{}'), array_agg(s.id), array_agg(s.seen) INTO v_places, v_ids, v_seen
      FROM magpie.scan_order(p_order, p_descending, p_from, v_pattern, p_skip, p_count,
        CASE WHEN v_is_indexed THEN least(near, p_pages) ELSE p_pages END) s;
    -- A last row without an id says that it stopped before the end.
    IF NOT v_is_indexed OR cardinality(v_places) = 0 OR v_ids[cardinality(v_places)] IS NOT NULL THEN
      RETURN QUERY SELECT s.*, NULL::text, NULL::bigint FROM unnest(v_places, v_ids, v_seen) AS s;
      RETURN;
    END IF;
  END IF;
  v_found := ARRAY(SELECT u.id FROM magpie.github_user u WHERE u.search LIKE v_pattern
                    LIMIT CASE WHEN p_after_id IS NULL THEN few + 1 END);
  IF p_after_id IS NULL AND cardinality(v_found) > few THEN
    RETURN QUERY SELECT s.*, NULL::text, NULL::bigint
      FROM magpie.scan_order(p_order, p_descending, p_from, v_pattern, p_skip, p_count, p_pages) s;
    RETURN;
  END IF;
  SELECT * INTO v_order FROM magpie.list_order o WHERE o.id = p_order;
  RETURN QUERY SELECT * FROM magpie.find_in_order(v_order, p_descending, v_found, p_from, p_after_key, p_after_id, p_skip, p_count);
END $$;
COMMENT ON FUNCTION magpie.search_order(bigint, boolean, bigint, text, bigint, text, bigint, int, int) IS
  'Members of a prepared order whose login or name contains a folded text. Rows with a key come from the index, with the number of all matches; the others have their places in the order, as scan_order gives them.';

-- New entries wait in a list that every search has to go through, until vacuum or its size brings them into the index.
CREATE OR REPLACE FUNCTION magpie.tidy_search() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT gin_clean_pending_list('magpie.github_user_search'::regclass)
$$;
COMMENT ON FUNCTION magpie.tidy_search() IS 'Brings people who were just stored into the index of names; afterwards a search costs what it should.';
REVOKE EXECUTE ON FUNCTION magpie.tidy_search() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION magpie.tidy_search() TO magpie_worker;
GRANT EXECUTE ON FUNCTION magpie.search_order(bigint, boolean, bigint, text, bigint, text, bigint, int, int),
  magpie.find_in_order(magpie.list_order, boolean, bigint[], bigint, text, bigint, bigint, int) TO magpie_app, magpie_worker;

RESET ROLE;
