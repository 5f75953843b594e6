-- Devices that can be listed and signed out, browsers that are signed out by themselves, and a word to whoever holds a stream
-- open for a device that is signed out.

SET LOCAL ROLE magpie_owner;

ALTER TABLE magpie.session ADD COLUMN sync_version bigint, ADD COLUMN idle_timeout interval;
COMMENT ON COLUMN magpie.session.sync_version IS
  'The account''s version up to which the device has everything, as far as it has said; NULL until it syncs.';
COMMENT ON COLUMN magpie.session.idle_timeout IS
  'A browser''s session ends when it was not used for so long; NULL for tokens of apps.';

-- As in 0010, and with the end of sessions that nobody uses.
CREATE OR REPLACE FUNCTION magpie.authenticate(p_token_hash bytea, p_scope text DEFAULT 'read') RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_session  uuid;
  v_account  bigint;
  v_scopes   text[];
  v_seen     timestamptz;
BEGIN
  SELECT s.id, s.account_id, s.scopes, s.last_seen_at INTO v_session, v_account, v_scopes, v_seen
    FROM magpie.session s JOIN magpie.account a ON a.id = s.account_id
   WHERE s.token_hash = p_token_hash AND s.revoked_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > now())
     AND (s.idle_timeout IS NULL OR s.last_seen_at > now() - s.idle_timeout)
     AND a.disabled_at IS NULL AND a.deleted_at IS NULL;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF p_scope <> ALL (v_scopes) THEN
    RAISE EXCEPTION 'the token lacks the scope %', p_scope USING ERRCODE = 'MG403';
  END IF;
  IF v_seen < now() - interval '1 minute' THEN
    -- A read must not wait for the disk because of this, nor hold up what comes behind it on its connection; a crash may take
    -- the note along. The transaction of a write stays as durable as it was.
    IF p_scope = 'read' THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
    UPDATE magpie.session s SET last_seen_at = now()
     WHERE s.id = v_session AND s.last_seen_at < now() - interval '1 minute';
  END IF;
  PERFORM set_config('magpie.account_id', v_account::text, true);
  RETURN v_account;
END $$;

-- The notice of channel magpie_sessions: `s:` and the id of a session that is not good any more, or whose rights have changed;
-- `a:` and the id of an account none of whose sessions are. A process that holds streams open looks at their sessions then.
-- A session whose time has simply run out is told of when a worker comes by, within a minute or so.
CREATE FUNCTION magpie.tell_session() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify('magpie_sessions', CASE TG_TABLE_NAME WHEN 'account' THEN 'a:' ELSE 's:' END || OLD.id);
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.tell_session() IS
  'Notifies magpie_sessions of a session (s:uuid) or of all sessions of an account (a:id) that are not good any more.';
CREATE TRIGGER tell_end AFTER UPDATE OF revoked_at, scopes, expires_at ON magpie.session FOR EACH ROW
  WHEN (OLD.revoked_at IS NULL AND (NEW.revoked_at IS NOT NULL OR NEW.scopes <> OLD.scopes OR NEW.expires_at <= now()))
  EXECUTE FUNCTION magpie.tell_session();
CREATE TRIGGER tell_removal AFTER DELETE ON magpie.session FOR EACH ROW
  WHEN (OLD.revoked_at IS NULL) EXECUTE FUNCTION magpie.tell_session();
CREATE TRIGGER tell_end AFTER UPDATE OF disabled_at, deleted_at ON magpie.account FOR EACH ROW
  WHEN (OLD.disabled_at IS NULL AND NEW.disabled_at IS NOT NULL OR OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL)
  EXECUTE FUNCTION magpie.tell_session();

CREATE FUNCTION magpie.sweep_sessions() RETURNS int
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_count int;
BEGIN
  WITH over AS MATERIALIZED (
    SELECT s.id FROM magpie.session s
     WHERE s.revoked_at IS NULL AND (s.expires_at <= now() OR s.last_seen_at <= now() - s.idle_timeout)
     LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE magpie.session s SET revoked_at = now() FROM over WHERE s.id = over.id;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  DELETE FROM magpie.session s WHERE s.id = ANY (ARRAY(
    SELECT o.id FROM magpie.session o WHERE o.revoked_at < now() - interval '1 year' LIMIT 1000));
  RETURN v_count;
END $$;
COMMENT ON FUNCTION magpie.sweep_sessions() IS
  'Ends sessions whose time is over, so that their streams end, and forgets those that ended a year ago. Called by a worker.';

CREATE FUNCTION magpie.open_session(
  p_account bigint, p_token_hash bytea, p_token_hint text, p_device text, p_app text, p_is_browser boolean, p_address text)
RETURNS TABLE (session_id uuid, created_at timestamptz, username text, display_name text, account_created_at timestamptz, version bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_source constant bytea := magpie.attempt_key('known', p_account::text, p_address);
BEGIN
  RETURN QUERY
    WITH opened AS (
      INSERT INTO magpie.session (account_id, token_hash, token_hint, device, app, expires_at, idle_timeout)
      SELECT a.id, p_token_hash, p_token_hint, p_device, p_app,
             CASE WHEN p_is_browser THEN now() + interval '30 days' END, CASE WHEN p_is_browser THEN interval '7 days' END
        FROM magpie.account a
       WHERE a.id = p_account AND a.disabled_at IS NULL AND a.deleted_at IS NULL
      RETURNING session.id, session.account_id, session.created_at)
    SELECT o.id, o.created_at, a.username, a.display_name, a.created_at, a.version
      FROM opened o JOIN magpie.account a ON a.id = o.account_id;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO magpie.known_source AS k (account_id, source_hash) VALUES (p_account, v_source)
  ON CONFLICT (account_id, source_hash) DO UPDATE SET last_used_at = now();
  DELETE FROM magpie.known_source k
   WHERE k.account_id = p_account AND k.source_hash <> v_source
     AND k.source_hash NOT IN (SELECT n.source_hash FROM magpie.known_source n
                                WHERE n.account_id = p_account ORDER BY n.last_used_at DESC LIMIT 20);
END $$;
COMMENT ON FUNCTION magpie.open_session(bigint, bytea, text, text, text, boolean, text) IS
  'Records a new device, and the address it came from, after its password was checked. A browser''s session ends after 30 days, and after 7 without use.';

-- Signing out is the only change the server makes to a device by itself; row-level security keeps it to the account.
GRANT UPDATE (revoked_at) ON magpie.session TO magpie_app;
GRANT EXECUTE ON FUNCTION magpie.open_session(bigint, bytea, text, text, text, boolean, text) TO magpie_app;
GRANT EXECUTE ON FUNCTION magpie.sweep_sessions() TO magpie_worker;

RESET ROLE;
