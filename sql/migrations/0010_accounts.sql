-- Accounts, their devices (sessions) and one-time codes. No password and no token is ever stored, only hashes of them.

SET LOCAL ROLE magpie_owner;

CREATE FUNCTION magpie.current_account() RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
-- The setting is '' and not NULL once it has been set in a session before.
RETURN nullif(current_setting('magpie.account_id', true), '')::bigint;
COMMENT ON FUNCTION magpie.current_account() IS
  'The account that the running statement acts for, set by magpie.authenticate(); NULL when there is none.';

CREATE TABLE magpie.account (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  username        text NOT NULL UNIQUE CHECK (username ~ '^[a-z0-9_-]{3,39}$'),
  display_name    text CHECK (length(display_name) BETWEEN 1 AND 100),
  password_hash   text CHECK (password_hash LIKE '$%'),
  locale          text NOT NULL DEFAULT 'en' CHECK (locale ~ '^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$'),
  gif_rating      text NOT NULL DEFAULT 'g' CHECK (gif_rating IN ('y', 'g', 'pg', 'pg-13', 'r')),
  version         bigint NOT NULL DEFAULT 0,
  created_at      timestamptz NOT NULL DEFAULT now(),
  disabled_at     timestamptz,
  disabled_reason text,
  deleted_at      timestamptz
) WITH (fillfactor = 80);
COMMENT ON TABLE magpie.account IS 'One person, whose devices share favorites.';
COMMENT ON COLUMN magpie.account.password_hash IS
  'PHC string with its own parameters; NULL until an invitation has been redeemed.';
COMMENT ON COLUMN magpie.account.version IS
  'Raised by one, under this row''s lock, by every change to the account''s favorites.';
COMMENT ON COLUMN magpie.account.deleted_at IS 'When deletion was asked for; the rows go 30 days later.';

CREATE TABLE magpie.session (
  id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  account_id   bigint NOT NULL REFERENCES magpie.account ON DELETE CASCADE,
  token_hash   bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  token_hint   text NOT NULL CHECK (length(token_hint) = 4),
  device       text NOT NULL DEFAULT '' CHECK (length(device) <= 100),
  app          text NOT NULL DEFAULT '' CHECK (length(app) <= 100),
  scopes       text[] NOT NULL DEFAULT '{read,write}' CHECK (scopes <@ '{read,write}'),
  created_at   timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz,
  revoked_at   timestamptz
) WITH (fillfactor = 80);
CREATE INDEX session_account ON magpie.session (account_id);
COMMENT ON TABLE magpie.session IS 'A device that is signed in, or a token an administrator has issued.';
COMMENT ON COLUMN magpie.session.token_hash IS 'SHA-256 of the whole token.';
COMMENT ON COLUMN magpie.session.token_hint IS 'The token''s last four characters, to tell devices apart.';
COMMENT ON COLUMN magpie.session.last_seen_at IS 'Written at most once a minute.';

CREATE TABLE magpie.invitation (
  code_hash   bytea PRIMARY KEY CHECK (length(code_hash) = 32),
  account_id  bigint NOT NULL REFERENCES magpie.account ON DELETE CASCADE,
  created_at  timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz NOT NULL DEFAULT now() + interval '7 days',
  redeemed_at timestamptz
);
CREATE INDEX invitation_account ON magpie.invitation (account_id);
COMMENT ON TABLE magpie.invitation IS 'One-time codes that set a first or a new password. SHA-256 only.';

CREATE TABLE magpie.secret (
  name  text PRIMARY KEY,
  value bytea NOT NULL
);
COMMENT ON TABLE magpie.secret IS 'Keys that all processes share and that never leave them, such as the one that signs cursors.';
INSERT INTO magpie.secret (name, value)
SELECT 'cursor', sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

-- Random text of base-62 characters. Bytes of 248 and above are skipped, so that every character is equally likely.
CREATE FUNCTION magpie.random_base62(p_length int) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  alphabet constant text := '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  result text := '';
  pool bytea;
  byte int;
BEGIN
  WHILE length(result) < p_length LOOP
    pool := sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
    FOR i IN 0..31 LOOP
      byte := get_byte(pool, i);
      IF byte < 248 AND length(result) < p_length THEN
        result := result || substr(alphabet, 1 + byte % 62, 1);
      END IF;
    END LOOP;
  END LOOP;
  RETURN result;
END $$;
COMMENT ON FUNCTION magpie.random_base62(int) IS 'Unguessable text from the server''s strong random source.';

-- CRC-32 (the polynomial of zip and PNG) in base 62, six characters, zeros in front.
CREATE FUNCTION magpie.crc32_base62(p_text text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  alphabet constant text := '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  bytes constant bytea := convert_to(p_text, 'UTF8');
  crc bigint := 4294967295;
  result text := '';
BEGIN
  FOR i IN 0..length(bytes) - 1 LOOP
    crc := crc # get_byte(bytes, i);
    FOR bit IN 1..8 LOOP
      crc := CASE WHEN crc & 1 = 1 THEN (crc >> 1) # 3988292384 ELSE crc >> 1 END;
    END LOOP;
  END LOOP;
  crc := crc # 4294967295;
  FOR digit IN 1..6 LOOP
    result := substr(alphabet, (1 + crc % 62)::int, 1) || result;
    crc := crc / 62;
  END LOOP;
  RETURN result;
END $$;
COMMENT ON FUNCTION magpie.crc32_base62(text) IS 'The checksum at the end of tokens and codes: typing errors are seen without a look-up.';

CREATE FUNCTION magpie.new_secret(p_prefix text) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT p_prefix || r || magpie.crc32_base62(r) FROM (SELECT magpie.random_base62(30) AS r OFFSET 0) AS random
$$;
COMMENT ON FUNCTION magpie.new_secret(text) IS 'A token or code: prefix, 30 random characters, checksum.';

-- Who calls, and with what right. Part of every statement the API runs for an account: one round trip in all.
CREATE FUNCTION magpie.authenticate(p_token_hash bytea, p_scope text DEFAULT 'read') RETURNS bigint
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
COMMENT ON FUNCTION magpie.authenticate(bytea, text) IS
  'The account of a token, NULL for none; error MG403 when the scope is missing. Row-level security follows it until the transaction ends.';

-- Signing in and redeeming need rows of an account before anybody is authenticated: only through these functions.
CREATE FUNCTION magpie.credentials(p_username text)
RETURNS TABLE (account_id bigint, password_hash text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.id, a.password_hash FROM magpie.account a
   WHERE a.username = lower(p_username) AND a.disabled_at IS NULL AND a.deleted_at IS NULL AND a.password_hash IS NOT NULL
$$;
COMMENT ON FUNCTION magpie.credentials(text) IS 'What the server needs to check a password.';

CREATE FUNCTION magpie.open_session(
  p_account bigint, p_token_hash bytea, p_token_hint text, p_device text, p_app text)
RETURNS TABLE (session_id uuid, created_at timestamptz, username text, display_name text, account_created_at timestamptz, version bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH opened AS (
    INSERT INTO magpie.session (account_id, token_hash, token_hint, device, app)
    SELECT a.id, p_token_hash, p_token_hint, p_device, p_app FROM magpie.account a
     WHERE a.id = p_account AND a.disabled_at IS NULL AND a.deleted_at IS NULL
    RETURNING id, account_id, created_at)
  SELECT o.id, o.created_at, a.username, a.display_name, a.created_at, a.version
    FROM opened o JOIN magpie.account a ON a.id = o.account_id
$$;
COMMENT ON FUNCTION magpie.open_session(bigint, bytea, text, text, text) IS 'Records a new device after its password was checked.';

CREATE FUNCTION magpie.redeem_invitation(p_code_hash bytea, p_password_hash text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_account bigint;
BEGIN
  -- The code of an account that is shut out is kept for the day it is let in again.
  UPDATE magpie.invitation i SET redeemed_at = now()
    FROM magpie.account a
   WHERE i.code_hash = p_code_hash AND i.redeemed_at IS NULL AND i.expires_at > now()
     AND a.id = i.account_id AND a.disabled_at IS NULL AND a.deleted_at IS NULL
  RETURNING i.account_id INTO v_account;
  IF NOT FOUND THEN RETURN NULL; END IF;
  UPDATE magpie.account a SET password_hash = p_password_hash WHERE a.id = v_account;
  -- A new password ends what was opened with the old one; other codes are void too.
  UPDATE magpie.session s SET revoked_at = now() WHERE s.account_id = v_account AND s.revoked_at IS NULL;
  UPDATE magpie.invitation i SET redeemed_at = now() WHERE i.account_id = v_account AND i.redeemed_at IS NULL;
  RETURN v_account;
END $$;
COMMENT ON FUNCTION magpie.redeem_invitation(bytea, text) IS 'Uses a code up and sets the password; NULL when the code is not good (any more).';

CREATE FUNCTION magpie.rehash_password(p_account bigint, p_old text, p_new text) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH changed AS (
    UPDATE magpie.account a SET password_hash = p_new WHERE a.id = p_account AND a.password_hash = p_old RETURNING 1)
  SELECT count(*) = 1 FROM changed
$$;
COMMENT ON FUNCTION magpie.rehash_password(bigint, text, text) IS 'Replaces a hash by one with newer parameters after the password was checked.';

CREATE FUNCTION magpie.create_account(p_username text, p_password_hash text, p_display_name text) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO magpie.account (username, password_hash, display_name) VALUES (lower(p_username), p_password_hash, p_display_name)
  ON CONFLICT (username) DO NOTHING RETURNING id
$$;
COMMENT ON FUNCTION magpie.create_account(text, text, text) IS 'Sign-up; NULL when the name is taken.';

CREATE TABLE magpie.audit (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  role       text NOT NULL DEFAULT session_user,
  account_id bigint,
  action     text NOT NULL,
  relation   text NOT NULL,
  before     jsonb,
  after      jsonb
);
CREATE INDEX audit_account ON magpie.audit (account_id, at);
COMMENT ON TABLE magpie.audit IS 'Who changed an account or a device, when, from what to what. Hashes are left out.';

CREATE FUNCTION magpie.audit_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  hidden constant text[] := '{password_hash,token_hash,last_seen_at,version}';
  v_before jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
  v_after  jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
BEGIN
  -- A new password is told by its own action: the hashes themselves are not shown.
  IF v_before - hidden IS DISTINCT FROM v_after - hidden OR v_before ->> 'password_hash' IS DISTINCT FROM v_after ->> 'password_hash' THEN
    INSERT INTO magpie.audit (account_id, action, relation, before, after)
    VALUES ((coalesce(v_after, v_before) ->> CASE TG_TABLE_NAME WHEN 'account' THEN 'id' ELSE 'account_id' END)::bigint,
            CASE WHEN v_before - hidden = v_after - hidden THEN 'password' ELSE lower(TG_OP) END,
            TG_TABLE_NAME, v_before - hidden, v_after - hidden);
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION magpie.audit_change() IS 'Writes magpie.audit.';
CREATE TRIGGER audit AFTER INSERT OR DELETE ON magpie.account FOR EACH ROW EXECUTE FUNCTION magpie.audit_change();
-- The columns are named so that raising the version, which every favorite does, fires nothing.
CREATE TRIGGER audit_update AFTER UPDATE OF username, display_name, password_hash, locale, gif_rating, disabled_at, disabled_reason, deleted_at
  ON magpie.account FOR EACH ROW EXECUTE FUNCTION magpie.audit_change();
CREATE TRIGGER audit AFTER INSERT OR DELETE ON magpie.session FOR EACH ROW EXECUTE FUNCTION magpie.audit_change();
CREATE TRIGGER audit_update AFTER UPDATE OF scopes, expires_at, revoked_at, device, app
  ON magpie.session FOR EACH ROW EXECUTE FUNCTION magpie.audit_change();

-- Row-level security: the server sees one account's rows and only after it has been authenticated.
ALTER TABLE magpie.account ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.account FORCE ROW LEVEL SECURITY;
ALTER TABLE magpie.session ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.session FORCE ROW LEVEL SECURITY;
ALTER TABLE magpie.invitation ENABLE ROW LEVEL SECURITY;
ALTER TABLE magpie.invitation FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON magpie.account TO magpie_app
  USING (id = magpie.current_account()) WITH CHECK (id = magpie.current_account());
CREATE POLICY own_rows ON magpie.session TO magpie_app
  USING (account_id = magpie.current_account()) WITH CHECK (account_id = magpie.current_account());
CREATE POLICY all_rows ON magpie.account TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);
CREATE POLICY all_rows ON magpie.session TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);
CREATE POLICY all_rows ON magpie.invitation TO magpie_owner, magpie_admin USING (true) WITH CHECK (true);

GRANT SELECT ON magpie.account, magpie.session TO magpie_app;
GRANT UPDATE (display_name, locale, gif_rating) ON magpie.account TO magpie_app;
GRANT SELECT ON magpie.secret TO magpie_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON magpie.account, magpie.session, magpie.invitation TO magpie_admin;
GRANT SELECT ON magpie.audit TO magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.authenticate(bytea, text), magpie.credentials(text),
  magpie.open_session(bigint, bytea, text, text, text), magpie.redeem_invitation(bytea, text),
  magpie.rehash_password(bigint, text, text), magpie.create_account(text, text, text) TO magpie_app;
GRANT EXECUTE ON FUNCTION magpie.current_account() TO magpie_app, magpie_worker, magpie_admin;
GRANT EXECUTE ON FUNCTION magpie.random_base62(int), magpie.new_secret(text), magpie.crc32_base62(text) TO magpie_admin;

RESET ROLE;
