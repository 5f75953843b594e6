-- Who may try a password (or a code) now. Guessing gets slower and slower, for the one who guesses: whoever has signed in to an
-- account before from the same address is judged by what comes from there alone, so that nobody can lock somebody else out.
--
-- Every attempt is counted before the password is looked at and taken back when it was right, so that a thousand at the same
-- moment are a thousand attempts. Counters are shared by all processes and outlive them. Names and addresses are hashed with
-- a key of this database: people type passwords where names belong.

SET LOCAL ROLE magpie_owner;

ALTER TABLE magpie.account ADD COLUMN deletion_asked_at timestamptz;
COMMENT ON COLUMN magpie.account.deletion_asked_at IS
  'The same as deleted_at when the owner has deleted the account, who may then restore it; not set by administrators.';

INSERT INTO magpie.secret (name, value)
SELECT 'attempts', sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

CREATE TABLE magpie.attempt (
  key           bytea PRIMARY KEY CHECK (length(key) = 32),
  failures      int NOT NULL,
  blocked_until timestamptz,
  expires_at    timestamptz NOT NULL
) WITH (fillfactor = 70);
COMMENT ON TABLE magpie.attempt IS
  'How often somebody tried and failed, and until when they have to wait. Bounded: what makes rows here is limited for all together.';
COMMENT ON COLUMN magpie.attempt.key IS 'Keyed hash of what is counted: a name from a network, a network, or all together.';
COMMENT ON COLUMN magpie.attempt.expires_at IS 'When all is forgiven.';

CREATE TABLE magpie.known_source (
  account_id   bigint NOT NULL REFERENCES magpie.account ON DELETE CASCADE,
  source_hash  bytea NOT NULL CHECK (length(source_hash) = 32),
  last_used_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, source_hash)
);
COMMENT ON TABLE magpie.known_source IS
  'Addresses, hashed, from which somebody has signed in to an account: other people''s failures do not count there. At most 20 an account, for 180 days.';
ALTER TABLE magpie.known_source ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.known_source FORCE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON magpie.known_source TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);

CREATE FUNCTION magpie.attempt_key(p_kind text, p_subject text, p_source text) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT sha256(s.value || convert_to(json_build_array(p_kind, p_subject, p_source)::text, 'UTF8'))
    FROM magpie.secret s WHERE s.name = 'attempts'
$$;
COMMENT ON FUNCTION magpie.attempt_key(text, text, text) IS 'The name of a counter, which tells nobody what is counted.';

-- Counters of two sorts. One that grows doubles the wait from the last free attempt on, up to a quarter of an hour, and forgets
-- when an hour has passed without an attempt. The other lets so many through in a window and then none until it ends.
CREATE FUNCTION magpie.count_attempt(p_key bytea, p_free int, p_window interval, p_grows boolean, p_now timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_until timestamptz;
BEGIN
  INSERT INTO magpie.attempt AS t (key, failures, expires_at) VALUES (p_key, 1, p_now + p_window)
  ON CONFLICT (key) DO UPDATE SET
    failures = CASE WHEN t.expires_at <= p_now THEN 1 ELSE t.failures + 1 END,
    expires_at = CASE WHEN p_grows OR t.expires_at <= p_now THEN p_now + p_window ELSE t.expires_at END,
    blocked_until = CASE WHEN t.expires_at <= p_now OR t.failures + 1 < p_free THEN NULL
                         WHEN p_grows THEN p_now + least(900, 2 ^ least(10, t.failures + 1 - p_free)) * interval '1 second'
                         ELSE t.expires_at END
   WHERE t.expires_at <= p_now OR t.blocked_until IS NULL OR t.blocked_until <= p_now;
  IF FOUND THEN RETURN NULL; END IF;
  SELECT t.blocked_until INTO v_until FROM magpie.attempt t WHERE t.key = p_key;
  RETURN coalesce(v_until, p_now + interval '1 second');
END $$;
COMMENT ON FUNCTION magpie.count_attempt(bytea, int, interval, boolean, timestamptz) IS
  'Counts an attempt and returns NULL, or does not count it and returns until when nobody is let through.';

-- Which counters an attempt is judged by: its own, its network's, and the one of all together. NULL where there is none.
CREATE FUNCTION magpie.attempt_keys(p_kind text, p_username text, p_network text, p_address text, p_is_known boolean)
RETURNS bytea[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE
    WHEN p_kind = 'password' AND p_is_known THEN ARRAY[magpie.attempt_key('known-name', lower(p_username), p_address), NULL, NULL]
    ELSE ARRAY[
      CASE p_kind WHEN 'password' THEN magpie.attempt_key('name', lower(p_username), p_network)
                  WHEN 'sign-up' THEN magpie.attempt_key('sign-up', '', p_network) END,
      CASE WHEN p_kind <> 'sign-up' THEN magpie.attempt_key('source', '', p_network) END,
      magpie.attempt_key('all', '', '')] END
$$;
COMMENT ON FUNCTION magpie.attempt_keys(text, text, text, text, boolean) IS
  'The counters of an attempt: its own, that of its network, that of all together; NULL where it has none.';

CREATE FUNCTION magpie.begin_attempt(
  p_kind text, p_username text, p_network text, p_address text, p_restores boolean DEFAULT false)
RETURNS TABLE (wait_seconds int, is_known boolean, account_id bigint, password_hash text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_now   constant timestamptz := clock_timestamp();
  v_keys  bytea[];
  v_until timestamptz;
BEGIN
  -- A crash may forgive the last fraction of a second; no attempt should have to wait for the disk.
  PERFORM set_config('synchronous_commit', 'off', true);
  is_known := false;
  IF p_kind = 'password' THEN
    SELECT a.id, a.password_hash INTO account_id, password_hash FROM magpie.account a
     WHERE a.username = lower(p_username) AND a.disabled_at IS NULL AND a.password_hash IS NOT NULL
       AND (a.deleted_at IS NULL OR p_restores AND a.deleted_at = a.deletion_asked_at AND a.deleted_at > now() - interval '30 days');
    is_known := EXISTS (
      SELECT FROM magpie.known_source k
       WHERE k.account_id = begin_attempt.account_id AND k.last_used_at > now() - interval '180 days'
         AND k.source_hash = magpie.attempt_key('known', begin_attempt.account_id::text, p_address));
  END IF;
  v_keys := magpie.attempt_keys(p_kind, p_username, p_network, p_address, is_known);

  -- Most of a storm ends here, and writes nothing.
  SELECT max(t.blocked_until) INTO v_until FROM magpie.attempt t
   WHERE t.key = ANY (v_keys) AND t.blocked_until > v_now AND t.expires_at > v_now;
  IF v_until IS NULL AND v_keys[1] IS NOT NULL THEN
    v_until := CASE WHEN p_kind = 'sign-up' THEN magpie.count_attempt(v_keys[1], 60, interval '10 minutes', false, v_now)
                    ELSE magpie.count_attempt(v_keys[1], 5, interval '1 hour', true, v_now) END;
  END IF;
  IF v_until IS NULL AND v_keys[2] IS NOT NULL THEN
    v_until := magpie.count_attempt(v_keys[2], 30, interval '1 hour', true, v_now);
  END IF;
  IF v_until IS NULL AND v_keys[3] IS NOT NULL THEN
    v_until := magpie.count_attempt(v_keys[3], 120, interval '1 minute', false, v_now);
  END IF;
  wait_seconds := CASE WHEN v_until IS NULL THEN 0 ELSE greatest(1, ceil(extract(epoch FROM v_until - v_now))) END;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION magpie.begin_attempt(text, text, text, text, boolean) IS
  'Whether an attempt (password, code or sign-up) may be made from there, or in how many seconds; with it, what the server needs to check a password. p_restores also finds accounts whose owner has deleted them.';

CREATE FUNCTION magpie.forgive_attempt(p_kind text, p_username text, p_network text, p_address text, p_is_known boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_keys constant bytea[] := magpie.attempt_keys(p_kind, p_username, p_network, p_address, p_is_known);
BEGIN
  -- Its own counter begins anew; those shared with others forget this attempt and no other. In the order of counting.
  DELETE FROM magpie.attempt t WHERE t.key = v_keys[1];
  UPDATE magpie.attempt t SET failures = greatest(0, t.failures - 1) WHERE t.key = v_keys[2];
  UPDATE magpie.attempt t SET failures = greatest(0, t.failures - 1) WHERE t.key = v_keys[3];
END $$;
COMMENT ON FUNCTION magpie.forgive_attempt(text, text, text, text, boolean) IS 'Takes an attempt back that was right after all.';

CREATE FUNCTION magpie.refuse_attempt(p_account bigint, p_action text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  -- Also for names that nobody has, without the name: it would take another time otherwise.
  INSERT INTO magpie.audit (account_id, action, relation) VALUES (p_account, p_action, 'session');
END $$;
COMMENT ON FUNCTION magpie.refuse_attempt(bigint, text) IS 'Writes down that a password or code was wrong; never which.';

-- Hashing a password is dear, so it is done for good codes only.
CREATE FUNCTION magpie.find_invitation(p_code_hash bytea) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT i.account_id FROM magpie.invitation i JOIN magpie.account a ON a.id = i.account_id
   WHERE i.code_hash = p_code_hash AND i.redeemed_at IS NULL AND i.expires_at > now()
     AND a.disabled_at IS NULL AND a.deleted_at IS NULL
$$;
COMMENT ON FUNCTION magpie.find_invitation(bytea) IS 'The account of a code that is good now; NULL for others. Uses nothing up.';

CREATE FUNCTION magpie.sweep_attempts() RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DELETE FROM magpie.attempt t WHERE t.expires_at <= now();
  DELETE FROM magpie.known_source k WHERE k.last_used_at <= now() - interval '180 days';
  -- Refusals come from anybody, so they are kept for a while and in a limited number.
  DELETE FROM magpie.audit u
   WHERE u.action LIKE 'refused%'
     AND (u.at < now() - interval '90 days'
          OR u.id < (SELECT min(n.id) FROM (SELECT r.id FROM magpie.audit r WHERE r.action LIKE 'refused%'
                                             ORDER BY r.id DESC LIMIT 20000) AS n));
$$;
COMMENT ON FUNCTION magpie.sweep_attempts() IS 'Removes what is forgiven and forgotten. Called by a worker now and then.';
CREATE INDEX audit_refusals ON magpie.audit (id) WHERE action LIKE 'refused%';

GRANT SELECT, DELETE ON magpie.attempt, magpie.known_source TO magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.begin_attempt(text, text, text, text, boolean), magpie.forgive_attempt(text, text, text, text, boolean),
  magpie.refuse_attempt(bigint, text), magpie.find_invitation(bytea) TO magpie_app;
GRANT EXECUTE ON FUNCTION magpie.sweep_attempts() TO magpie_worker;

RESET ROLE;
