-- Answers to POST requests that carry an Idempotency-Key, kept for a day, so that a retry is the same write.

SET LOCAL ROLE magpie_owner;

CREATE TABLE magpie.idempotency_key (
  account_id  bigint NOT NULL REFERENCES magpie.account ON DELETE CASCADE,
  route       text NOT NULL CHECK (length(route) <= 200),
  key_hash    bytea NOT NULL CHECK (length(key_hash) = 32),
  fingerprint bytea NOT NULL CHECK (length(fingerprint) = 32),
  run         uuid NOT NULL UNIQUE,
  lease_until timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL,
  status      int,
  fields      text[],
  body        bytea,
  PRIMARY KEY (account_id, route, key_hash)
);
COMMENT ON TABLE magpie.idempotency_key IS 'Which POST requests were sent under a key, and what was answered. Never an answer with a token.';
COMMENT ON COLUMN magpie.idempotency_key.route IS 'Method and pattern of the route.';
COMMENT ON COLUMN magpie.idempotency_key.key_hash IS 'SHA-256 of the key.';
COMMENT ON COLUMN magpie.idempotency_key.fingerprint IS 'SHA-256 of target and body: another request under the same key is a mistake.';
COMMENT ON COLUMN magpie.idempotency_key.run IS 'Whoever knows it may store the answer; a new one when another takes over.';
COMMENT ON COLUMN magpie.idempotency_key.lease_until IS 'Until then the request counts as running; later its process is taken for dead.';
COMMENT ON COLUMN magpie.idempotency_key.status IS 'NULL until it is answered.';
COMMENT ON COLUMN magpie.idempotency_key.fields IS 'Names and values of the answer''s fields, in turn.';
CREATE INDEX idempotency_key_expiry ON magpie.idempotency_key (expires_at);
ALTER TABLE magpie.idempotency_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.idempotency_key FORCE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON magpie.idempotency_key TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);

-- Whatever the token's rights: the handler looks at those.
CREATE FUNCTION magpie.begin_idempotent(p_token_hash bytea, p_route text, p_key_hash bytea, p_fingerprint bytea, p_run uuid)
RETURNS TABLE (outcome text, status int, fields text[], body bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_account bigint;
  v_row     magpie.idempotency_key;
BEGIN
  SELECT s.account_id INTO v_account
    FROM magpie.session s JOIN magpie.account a ON a.id = s.account_id
   WHERE s.token_hash = p_token_hash AND s.revoked_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > now())
     AND (s.idle_timeout IS NULL OR s.last_seen_at > now() - s.idle_timeout)
     AND a.disabled_at IS NULL AND a.deleted_at IS NULL;
  IF NOT FOUND THEN outcome := 'nobody'; RETURN NEXT; RETURN; END IF;
  IF (SELECT count(*) FROM (SELECT FROM magpie.idempotency_key k WHERE k.account_id = v_account LIMIT 10000) AS used) >= 10000
     AND NOT EXISTS (SELECT FROM magpie.idempotency_key k
                      WHERE k.account_id = v_account AND k.route = p_route AND k.key_hash = p_key_hash) THEN
    outcome := 'full'; RETURN NEXT; RETURN;
  END IF;
  LOOP
    INSERT INTO magpie.idempotency_key (account_id, route, key_hash, fingerprint, run, lease_until, expires_at)
    VALUES (v_account, p_route, p_key_hash, p_fingerprint, p_run, now() + interval '60 seconds', now() + interval '24 hours')
    ON CONFLICT (account_id, route, key_hash) DO NOTHING;
    IF FOUND THEN outcome := 'started'; RETURN NEXT; RETURN; END IF;
    SELECT k.* INTO v_row FROM magpie.idempotency_key k
     WHERE k.account_id = v_account AND k.route = p_route AND k.key_hash = p_key_hash FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
  END LOOP;
  IF v_row.expires_at > now() AND v_row.fingerprint <> p_fingerprint THEN
    outcome := 'mismatch';
  ELSIF v_row.expires_at > now() AND v_row.status IS NOT NULL THEN
    outcome := 'answered'; status := v_row.status; fields := v_row.fields; body := v_row.body;
  ELSIF v_row.expires_at > now() AND v_row.lease_until > now() THEN
    outcome := 'running';
  ELSE
    -- Forgotten, or its owner is dead: from the start, and the former owner can store nothing any more.
    UPDATE magpie.idempotency_key k
       SET fingerprint = p_fingerprint, run = p_run, lease_until = now() + interval '60 seconds',
           expires_at = now() + interval '24 hours', status = NULL, fields = NULL, body = NULL
     WHERE k.account_id = v_account AND k.route = p_route AND k.key_hash = p_key_hash;
    outcome := 'started';
  END IF;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION magpie.begin_idempotent(bytea, text, bytea, bytea, uuid) IS
  'Claims a key (started) or says why not: answered, running, mismatch, full, nobody.';

CREATE FUNCTION magpie.store_answer(p_run uuid, p_status int, p_fields text[], p_body bytea) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.idempotency_key k
     SET status = p_status, fields = p_fields, body = p_body, expires_at = now() + interval '24 hours'
   WHERE k.run = p_run AND k.status IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'another request has taken over' USING ERRCODE = 'MG409';
  END IF;
END $$;
COMMENT ON FUNCTION magpie.store_answer(uuid, int, text[], bytea) IS
  'Stores the answer to the request that has claimed a key. In the transaction of the write: fails, and undoes it, when another has taken over (MG409).';

CREATE FUNCTION magpie.forget_answer(p_run uuid) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM magpie.idempotency_key k WHERE k.run = p_run AND k.status IS NULL
$$;
COMMENT ON FUNCTION magpie.forget_answer(uuid) IS 'Gives a key back: the request did nothing, and may be tried again.';

CREATE FUNCTION magpie.sweep_answers() RETURNS int
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_count int;
BEGIN
  DELETE FROM magpie.idempotency_key k WHERE k.run = ANY (ARRAY(
    SELECT o.run FROM magpie.idempotency_key o WHERE o.expires_at <= now() ORDER BY o.expires_at LIMIT 5000));
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;
COMMENT ON FUNCTION magpie.sweep_answers() IS 'Removes keys of yesterday and says how many. Called by a worker.';

GRANT SELECT, DELETE ON magpie.idempotency_key TO magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.begin_idempotent(bytea, text, bytea, bytea, uuid),
  magpie.store_answer(uuid, int, text[], bytea), magpie.forget_answer(uuid) TO magpie_app;
GRANT EXECUTE ON FUNCTION magpie.sweep_answers() TO magpie_worker;

RESET ROLE;
