-- Checking a password takes a while. A session is opened only if the password that was checked is still the account's: whoever has
-- just changed it, and signed all others out, must not find a stranger signed in a moment later.
SET LOCAL ROLE magpie_owner;

DROP FUNCTION magpie.open_session(bigint, bytea, text, text, text, boolean, text);
CREATE FUNCTION magpie.open_session(
  p_account bigint, p_checked_hash text, p_token_hash bytea, p_token_hint text, p_device text, p_app text, p_is_browser boolean,
  p_address text)
RETURNS TABLE (session_id uuid, created_at timestamptz, username text, display_name text, account_created_at timestamptz, version bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_source constant bytea := magpie.attempt_key('known', p_account::text, p_address);
BEGIN
  -- Whoever changes the password or closes the account either was first and is seen, or waits and then ends this session too.
  PERFORM 1 FROM magpie.account a
    WHERE a.id = p_account AND a.disabled_at IS NULL AND a.deleted_at IS NULL
      AND (p_checked_hash IS NULL OR a.password_hash = p_checked_hash)
      FOR SHARE;
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY
    WITH opened AS (
      INSERT INTO magpie.session (account_id, token_hash, token_hint, device, app, expires_at, idle_timeout)
      VALUES (p_account, p_token_hash, p_token_hint, p_device, p_app,
              CASE WHEN p_is_browser THEN now() + interval '30 days' END, CASE WHEN p_is_browser THEN interval '7 days' END)
      RETURNING session.id, session.account_id, session.created_at)
    SELECT o.id, o.created_at, a.username, a.display_name, a.created_at, a.version
      FROM opened o JOIN magpie.account a ON a.id = o.account_id;
  INSERT INTO magpie.known_source AS k (account_id, source_hash) VALUES (p_account, v_source)
  ON CONFLICT (account_id, source_hash) DO UPDATE SET last_used_at = now();
  DELETE FROM magpie.known_source k
   WHERE k.account_id = p_account AND k.source_hash <> v_source
     AND k.source_hash NOT IN (SELECT n.source_hash FROM magpie.known_source n
                                WHERE n.account_id = p_account ORDER BY n.last_used_at DESC LIMIT 20);
END $$;
COMMENT ON FUNCTION magpie.open_session(bigint, text, bytea, text, text, text, boolean, text) IS
  'Records a new device, and the address it came from, if the account''s password hash is still the one that was checked; NULL where it was just set. No row otherwise. A browser''s session ends after 30 days, and after 7 without use.';
REVOKE EXECUTE ON FUNCTION magpie.open_session(bigint, text, bytea, text, text, text, boolean, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION magpie.open_session(bigint, text, bytea, text, text, text, boolean, text) TO magpie_app;

RESET ROLE;
