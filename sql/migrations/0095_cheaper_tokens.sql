-- Every request asks whose token it is. The account's row was only read to see whether the account is open: to join it took half
-- of the time. Sessions now say it themselves.
SET LOCAL ROLE magpie_owner;

ALTER TABLE magpie.session ADD COLUMN is_account_open boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN magpie.session.is_account_open IS 'Whether the account is neither disabled nor deleted. Set by trigger.';
UPDATE magpie.session s SET is_account_open = false
  FROM magpie.account a WHERE a.id = s.account_id AND (a.disabled_at IS NOT NULL OR a.deleted_at IS NOT NULL);

CREATE FUNCTION magpie.session_opens() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  -- The lock makes whoever is closing the account see this session, or be seen.
  SELECT a.disabled_at IS NULL AND a.deleted_at IS NULL INTO NEW.is_account_open
    FROM magpie.account a WHERE a.id = NEW.account_id FOR SHARE;
  NEW.is_account_open := coalesce(NEW.is_account_open, false);
  RETURN NEW;
END $$;
COMMENT ON FUNCTION magpie.session_opens() IS 'Notes on a new session whether its account is open.';
CREATE TRIGGER opens BEFORE INSERT OR UPDATE OF account_id, is_account_open ON magpie.session
  FOR EACH ROW EXECUTE FUNCTION magpie.session_opens();

CREATE FUNCTION magpie.account_opens() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.session s SET is_account_open = NEW.disabled_at IS NULL AND NEW.deleted_at IS NULL WHERE s.account_id = NEW.id;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.account_opens() IS 'Notes on an account''s sessions whether it is open.';
CREATE TRIGGER opens AFTER UPDATE OF disabled_at, deleted_at ON magpie.account FOR EACH ROW
  WHEN ((OLD.disabled_at IS NULL AND OLD.deleted_at IS NULL) <> (NEW.disabled_at IS NULL AND NEW.deleted_at IS NULL))
  EXECUTE FUNCTION magpie.account_opens();

CREATE OR REPLACE FUNCTION magpie.authenticate(p_token_hash bytea, p_scope text DEFAULT 'read') RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_session  uuid;
  v_account  bigint;
  v_may      boolean;
  v_is_old   boolean;
BEGIN
  SELECT s.id, s.account_id, p_scope = ANY (s.scopes), s.last_seen_at < now() - interval '1 minute'
    INTO v_session, v_account, v_may, v_is_old
    FROM magpie.session s
   WHERE s.token_hash = p_token_hash AND s.revoked_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > now())
     AND (s.idle_timeout IS NULL OR s.last_seen_at > now() - s.idle_timeout) AND s.is_account_open;
  IF v_account IS NULL THEN RETURN NULL; END IF;
  IF NOT v_may THEN
    RAISE EXCEPTION 'the token lacks the scope %', p_scope USING ERRCODE = 'MG403';
  END IF;
  IF v_is_old THEN
    -- A read must not wait for the disk because of this, nor hold up what comes behind it on its connection; a crash may take
    -- the note along. The transaction of a write stays as durable as it was.
    IF p_scope = 'read' THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
    UPDATE magpie.session s SET last_seen_at = now()
     WHERE s.id = v_session AND s.last_seen_at < now() - interval '1 minute';
  END IF;
  PERFORM set_config('magpie.account_id', v_account::text, true);
  RETURN v_account;
END $$;

RESET ROLE;
