-- The gate to an upstream: take before a request, settle after its answer.
SET LOCAL ROLE magpie_owner;

-- When one credential would let p_count requests of a class through, and what it waits for. Null reason: now.
CREATE OR REPLACE FUNCTION magpie.budget_gate(
  c magpie.credential, b magpie.budget, p_class int, p_count int, p_at timestamptz,
  OUT opens_at timestamptz, OUT reason text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_tokens double precision := least(c.burst, c.bucket + c.per_second * extract(epoch FROM greatest(p_at - c.bucket_at, '0')));
  v_keep int := ceil(b.window_limit * (SELECT k.reserve FROM magpie.budget_class k WHERE k.class = least(p_class, 3)) / 100.0);
BEGIN
  opens_at := p_at;
  IF c.disabled_at IS NOT NULL THEN
    opens_at := 'infinity';
    reason := 'disabled';
    RETURN;
  END IF;
  IF v_tokens < least(p_count, c.burst) THEN
    -- bucket_at lies ahead after a refusal: until then nothing flows in
    opens_at := greatest(p_at, c.bucket_at) + make_interval(secs => (least(p_count, c.burst) - v_tokens) / c.per_second);
    reason := 'paced';
  END IF;
  IF c.outstanding > 0 AND c.outstanding + p_count > c.max_outstanding THEN
    opens_at := greatest(opens_at, p_at + interval '100 ms');
    reason := 'busy';
  END IF;
  IF b.reset_at > p_at AND b.remaining - p_count < v_keep AND b.reset_at > opens_at THEN
    opens_at := b.reset_at;
    reason := CASE WHEN b.remaining < p_count THEN 'spent' ELSE 'reserved' END;
  END IF;
  IF c.blocked_until > opens_at THEN
    opens_at := c.blocked_until;
    reason := 'limited';
  END IF;
END $$;
COMMENT ON FUNCTION magpie.budget_gate IS
  'Why and until when a credential is closed for a class: disabled, limited, spent, reserved (for classes before it), busy or paced.';

-- Takes p_count requests from the best of the given credentials, or says how many seconds to wait and why.
-- At most one credential is locked, and its budget only under that lock, so takers cannot deadlock.
CREATE OR REPLACE FUNCTION magpie.take_budget(
  p_credentials text[], p_resource text, p_class int, p_count int DEFAULT 1, p_prefer text DEFAULT NULL,
  OUT credential text, OUT wait_seconds double precision, OUT reason text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  c magpie.credential;
  b magpie.budget;
  g record;
  v_at timestamptz := clock_timestamp();
  v_id text;
BEGIN
  -- Worth less than a flush to disk: what a crash of the database forgets, the next answer of the upstream brings back.
  PERFORM set_config('synchronous_commit', 'off', true);
  FOR attempt IN 1..3 LOOP
    SELECT x.id, w.opens_at, w.reason INTO g
    FROM magpie.credential x JOIN magpie.budget y ON y.credential = x.id AND y.resource = p_resource,
         magpie.budget_gate(x, y, p_class, p_count, v_at) w
    WHERE x.id = ANY (p_credentials)
    ORDER BY w.opens_at, x.id = p_prefer DESC NULLS LAST, y.remaining DESC, random() LIMIT 1;
    IF NOT FOUND THEN
      reason := 'none';
      RETURN;
    END IF;
    EXIT WHEN g.reason IS NOT NULL;

    v_id := g.id;
    SELECT x.* INTO c FROM magpie.credential x WHERE x.id = v_id FOR NO KEY UPDATE;
    SELECT y.* INTO b FROM magpie.budget y WHERE y.credential = v_id AND y.resource = p_resource;
    v_at := clock_timestamp();
    SELECT * INTO g FROM magpie.budget_gate(c, b, p_class, p_count, v_at);
    IF g.reason IS NULL THEN
      UPDATE magpie.credential x SET outstanding = c.outstanding + p_count, taken_at = v_at,
          bucket = least(c.burst, c.bucket + c.per_second * extract(epoch FROM greatest(v_at - c.bucket_at, '0'))) - p_count,
          bucket_at = greatest(v_at, c.bucket_at)
        WHERE x.id = v_id;
      UPDATE magpie.budget y SET
          remaining = greatest(0, CASE WHEN b.reset_at <= v_at THEN b.window_limit ELSE b.remaining END - p_count),
          reset_at = CASE WHEN b.reset_at <= v_at THEN v_at + b.window_span ELSE b.reset_at END,
          confirmed = b.confirmed AND b.reset_at > v_at,
          outstanding = b.outstanding + p_count
        WHERE y.credential = v_id AND y.resource = p_resource;
      credential := v_id;
      RETURN;
    END IF;
  END LOOP;
  -- Whoever waits for the same moment must not arrive at the same moment: up to a tenth more, five seconds at most.
  reason := g.reason;
  IF g.opens_at < 'infinity' THEN
    wait_seconds := greatest(0.01, extract(epoch FROM g.opens_at - v_at)::double precision);
    wait_seconds := wait_seconds + random() * least(5, 0.1 * wait_seconds);
  END IF;
END $$;
COMMENT ON FUNCTION magpie.take_budget IS
  'Asks for requests to an upstream. credential: granted. Otherwise reason, and seconds to wait (null: it will not open by itself).';

-- Tells what the upstream said. outcome: ok, spent (window used up), limited (secondary limit), unauthorized, or lost (no answer).
-- The figures belong to the resource the answer names (p_charged), which need not be the one that was granted, nor be known.
DROP FUNCTION IF EXISTS magpie.settle_budget(text, text, int, text, int, int, double precision, int, double precision);
CREATE OR REPLACE FUNCTION magpie.settle_budget(
  p_credential text, p_resource text, p_count int, p_outcome text,
  p_limit int DEFAULT NULL, p_remaining int DEFAULT NULL, p_reset_seconds double precision DEFAULT NULL,
  p_refund int DEFAULT 0, p_block_seconds double precision DEFAULT NULL, p_charged text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_charged text := coalesce(p_charged, p_resource);
  c magpie.credential;
  b magpie.budget;
  v_now timestamptz;
  v_reset timestamptz;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT x.* INTO c FROM magpie.credential x WHERE x.id = p_credential FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  v_now := clock_timestamp();
  c.outstanding := greatest(0, c.outstanding - p_count);
  IF p_outcome = 'limited' THEN
    -- Requests that were under way together are refused together: that is one strike and one wait.
    IF p_block_seconds IS NOT NULL OR c.blocked_until <= v_now THEN
      -- Without a time of its own: a minute, longer each time, and not before the end of the window that the answer names.
      c.blocked_until := greatest(c.blocked_until, v_now + make_interval(secs => greatest(1, coalesce(p_block_seconds,
          greatest(least(3600, 60 * power(2, least(c.strikes, 6))) * (1 + 0.25 * random()),
                   CASE WHEN p_reset_seconds <= 86400 THEN p_reset_seconds END)))));
      c.strikes := least(c.strikes + (p_block_seconds IS NULL)::int, 100);
    END IF;
  ELSIF p_outcome = 'ok' AND c.blocked_until <= v_now THEN
    c.strikes := 0;
  ELSIF p_outcome = 'unauthorized' AND c.disabled_at IS NULL THEN
    c.disabled_at := v_now;
    c.disabled_reason := 'the upstream refused the credential';
  END IF;
  UPDATE magpie.credential x SET outstanding = c.outstanding, strikes = c.strikes, blocked_until = c.blocked_until,
      disabled_at = c.disabled_at, disabled_reason = c.disabled_reason,
      -- After a refusal the flow starts again with one request and from there at its usual pace.
      bucket = CASE WHEN p_outcome = 'limited' THEN least(x.bucket, 1) ELSE x.bucket END,
      bucket_at = CASE WHEN p_outcome = 'limited' THEN greatest(x.bucket_at, c.blocked_until) ELSE x.bucket_at END
    WHERE x.id = p_credential;
  UPDATE magpie.budget y SET outstanding = greatest(0, y.outstanding - p_count)
   WHERE y.credential = p_credential AND y.resource = p_resource;

  IF v_charged <> p_resource THEN
    UPDATE magpie.budget y SET remaining = least(y.window_limit, y.remaining + p_count)
     WHERE y.credential = p_credential AND y.resource = p_resource AND y.reset_at > v_now;
    -- A name that nobody has announced. There are about a dozen; an upstream that makes them up fills no table.
    INSERT INTO magpie.budget AS y (credential, resource, window_limit, window_span, remaining)
    SELECT p_credential, v_charged, coalesce(p_limit, p_remaining, 0), interval '1 hour', coalesce(p_remaining, p_limit, 0)
     WHERE (SELECT count(*) FROM magpie.budget n WHERE n.credential = p_credential) < 32
    ON CONFLICT DO NOTHING;
  END IF;
  SELECT y.* INTO b FROM magpie.budget y WHERE y.credential = p_credential AND y.resource = v_charged;
  IF NOT FOUND THEN RETURN; END IF;
  b.window_limit := coalesce(p_limit, b.window_limit);
  b.remaining := b.remaining + greatest(0, p_refund);
  -- A window of more than a day is a mistake of somebody's clock, and would close the gate for as long.
  IF p_reset_seconds > 0 AND p_reset_seconds <= 86400 AND p_remaining IS NOT NULL THEN
    v_reset := v_now + make_interval(secs => p_reset_seconds + 1);  -- a second of margin for the other clock
    IF b.confirmed AND v_reset < b.reset_at - interval '5 s' THEN
      b.remaining := b.remaining - greatest(0, p_refund);  -- a late answer that speaks of the window before this one
    ELSIF b.confirmed AND v_reset <= b.reset_at + interval '5 s' THEN
      b.remaining := least(b.remaining, p_remaining);      -- answers overtake each other: the lowest is the latest
    ELSE
      b.remaining := greatest(0, p_remaining - b.outstanding);
      b.reset_at := v_reset;
      b.confirmed := true;
    END IF;
  END IF;
  IF p_outcome = 'spent' THEN
    b.remaining := 0;
    IF p_reset_seconds IS NULL OR p_reset_seconds <= 0 OR p_reset_seconds > 86400 THEN
      b.reset_at := greatest(b.reset_at, v_now + make_interval(secs => coalesce(p_block_seconds, 60)));
      b.confirmed := false;
    END IF;
  END IF;
  UPDATE magpie.budget y SET window_limit = b.window_limit, remaining = b.remaining, reset_at = b.reset_at,
      confirmed = b.confirmed
    WHERE y.credential = p_credential AND y.resource = v_charged;
END $$;
COMMENT ON FUNCTION magpie.settle_budget IS
  'Returns grants with what the answer said. p_refund: requests that turned out not to be charged, such as an authorized 304. p_charged: the budget the answer names, if it is not the granted one.';

-- Says which credentials a process holds. Budgets start as guesses; the first answer corrects them.
CREATE OR REPLACE FUNCTION magpie.register_credential(
  p_id text, p_pool text, p_label text, p_per_second double precision, p_burst double precision, p_max_outstanding int,
  p_resources text[], p_limits int[], p_spans double precision[])
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO magpie.credential AS c (id, pool, label, per_second, burst, bucket, max_outstanding)
  VALUES (p_id, p_pool, p_label, p_per_second, p_burst, p_burst, p_max_outstanding)
  ON CONFLICT (id) DO UPDATE SET seen_at = now(), pool = EXCLUDED.pool, label = EXCLUDED.label,
      per_second = EXCLUDED.per_second, burst = EXCLUDED.burst, bucket = least(c.bucket, EXCLUDED.burst),
      max_outstanding = EXCLUDED.max_outstanding,
      -- Grants of processes that died are never settled. No request lasts a minute.
      outstanding = CASE WHEN c.taken_at < now() - interval '60 s' THEN 0 ELSE c.outstanding END;
  UPDATE magpie.budget y SET outstanding = 0
   WHERE y.credential = p_id AND y.outstanding > 0
     AND EXISTS (SELECT FROM magpie.credential x WHERE x.id = p_id AND x.outstanding = 0);
  INSERT INTO magpie.budget (credential, resource, window_limit, window_span, remaining)
  SELECT p_id, r, l, make_interval(secs => s), l FROM unnest(p_resources, p_limits, p_spans) AS u (r, l, s) ORDER BY r
  ON CONFLICT DO NOTHING;
END $$;
COMMENT ON FUNCTION magpie.register_credential IS 'Announces a credential and the budgets assumed for it until the upstream names them.';

GRANT EXECUTE ON FUNCTION magpie.budget_gate TO magpie_app, magpie_worker, magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.take_budget, magpie.settle_budget, magpie.register_credential TO magpie_worker;

RESET ROLE;
