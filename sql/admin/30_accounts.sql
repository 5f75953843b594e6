-- Accounts and tokens for administrators.
SET LOCAL ROLE magpie_owner;

CREATE OR REPLACE FUNCTION admin.account_id(p_username text) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_id bigint;
BEGIN
  SELECT a.id INTO v_id FROM magpie.account a WHERE a.username = lower(p_username);
  IF NOT FOUND THEN RAISE EXCEPTION 'there is no account %', quote_nullable(p_username) USING ERRCODE = 'MG404'; END IF;
  RETURN v_id;
END $$;
COMMENT ON FUNCTION admin.account_id(text) IS 'The id of an account, or an error.';

CREATE OR REPLACE FUNCTION admin.new_code(p_account bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_code text := magpie.new_secret('mgi_');
BEGIN
  INSERT INTO magpie.invitation (code_hash, account_id) VALUES (sha256(convert_to(v_code, 'UTF8')), p_account);
  RETURN v_code;
END $$;
COMMENT ON FUNCTION admin.new_code(bigint) IS 'A one-time code for an account, valid for 7 days. Part of create_account and reset_password.';

CREATE OR REPLACE FUNCTION admin.create_account(username text, display_name text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_id bigint;
BEGIN
  IF lower(create_account.username) !~ '^[a-z0-9_-]{3,39}$' OR create_account.username IS NULL THEN
    RAISE EXCEPTION 'no such username can be: %', quote_nullable(create_account.username) USING ERRCODE = 'MG422',
      HINT = 'Usernames have 3 to 39 characters of a-z, 0-9, _ and -.';
  END IF;
  IF length(create_account.display_name) NOT BETWEEN 1 AND 100 THEN
    RAISE EXCEPTION 'a display name has 1 to 100 characters' USING ERRCODE = 'MG422';
  END IF;
  INSERT INTO magpie.account (username, display_name)
  VALUES (lower(create_account.username), create_account.display_name) RETURNING id INTO v_id;
  RETURN admin.new_code(v_id);
EXCEPTION WHEN unique_violation THEN
  RAISE EXCEPTION 'the account % is there already', quote_literal(create_account.username) USING ERRCODE = 'MG409',
    HINT = 'admin.reset_password gives a new code.';
END $$;
COMMENT ON FUNCTION admin.create_account(text, text) IS
  'Makes an account and returns a one-time invitation code, valid for 7 days, with which its owner sets the password.';

CREATE OR REPLACE FUNCTION admin.reset_password(username text) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT admin.new_code(admin.account_id(reset_password.username))
$$;
COMMENT ON FUNCTION admin.reset_password(text) IS
  'Returns a one-time code, valid for 7 days, that sets a new password and signs all devices out. The old password works until then.';

CREATE OR REPLACE FUNCTION admin.issue_token(
  username text, device text, scopes text[] DEFAULT NULL, expires timestamptz DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_token text := magpie.new_secret('mgp_');
BEGIN
  IF NOT issue_token.scopes <@ '{read,write}' OR cardinality(issue_token.scopes) = 0 THEN
    RAISE EXCEPTION 'no such scopes: %', issue_token.scopes USING ERRCODE = 'MG422', HINT = 'Scopes are read and write.';
  END IF;
  IF length(issue_token.device) > 100 THEN
    RAISE EXCEPTION 'a device''s name has 100 characters at most' USING ERRCODE = 'MG422';
  END IF;
  IF isfinite(issue_token.expires) AND issue_token.expires > '9999-12-31 23:59:59.999999Z' THEN
    RAISE EXCEPTION 'a token cannot end after the year 9999' USING ERRCODE = 'MG422', HINT = 'Without an end it is good for ever.';
  END IF;
  INSERT INTO magpie.session (account_id, token_hash, token_hint, device, app, scopes, expires_at)
  VALUES (admin.account_id(username), sha256(convert_to(v_token, 'UTF8')), right(v_token, 4), coalesce(device, ''), 'admin',
          coalesce(scopes, '{read,write}'), nullif(expires, 'infinity'));
  RETURN v_token;
END $$;
COMMENT ON FUNCTION admin.issue_token(text, text, text[], timestamptz) IS
  'Returns a bearer token for an account. It is shown this once; scopes are read and write. Without expires, or with infinity, it has no end.';

CREATE OR REPLACE FUNCTION admin.revoke_tokens(username text, device text DEFAULT NULL) RETURNS int
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_count int;
BEGIN
  UPDATE magpie.session s SET revoked_at = now()
   WHERE s.account_id = admin.account_id(revoke_tokens.username) AND s.revoked_at IS NULL
     AND (revoke_tokens.device IS NULL OR s.device = revoke_tokens.device);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END $$;
COMMENT ON FUNCTION admin.revoke_tokens(text, text) IS
  'Signs an account''s devices out, all or those of one name, and returns how many.';

CREATE OR REPLACE FUNCTION admin.disable_account(username text, reason text) RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  UPDATE magpie.account a SET disabled_at = coalesce(a.disabled_at, now()), disabled_reason = disable_account.reason
   WHERE a.id = admin.account_id(disable_account.username)
$$;
COMMENT ON FUNCTION admin.disable_account(text, text) IS 'Refuses an account''s tokens and password at once; nothing is lost.';

CREATE OR REPLACE FUNCTION admin.enable_account(username text) RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  UPDATE magpie.account a SET disabled_at = NULL, disabled_reason = NULL, deleted_at = NULL, deletion_asked_at = NULL
   WHERE a.id = admin.account_id(enable_account.username)
$$;
COMMENT ON FUNCTION admin.enable_account(text) IS 'Undoes disable_account, and delete_account as long as the rows are there.';

CREATE OR REPLACE FUNCTION admin.delete_account(username text) RETURNS void
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  -- Of an account that its owner has deleted the time stays; who may take it back does not: that is for administrators now.
  UPDATE magpie.account a SET deleted_at = coalesce(a.deleted_at, now()), deletion_asked_at = NULL
   WHERE a.id = admin.account_id(delete_account.username)
$$;
COMMENT ON FUNCTION admin.delete_account(text) IS
  'Marks an account as deleted: it is shut out at once and can be brought back for 30 days by enable_account, not by its owner.';

DROP VIEW IF EXISTS admin.accounts;
CREATE VIEW admin.accounts WITH (security_invoker = true) AS
  SELECT a.id, a.username, a.display_name,
         CASE WHEN a.deleted_at IS NOT NULL THEN 'deleted' WHEN a.disabled_at IS NOT NULL THEN 'disabled'
              WHEN a.password_hash IS NULL THEN 'invited' ELSE 'active' END AS state,
         a.disabled_reason, a.version, a.created_at,
         (SELECT count(*) FROM magpie.session s WHERE s.account_id = a.id AND s.revoked_at IS NULL) AS devices,
         (SELECT max(s.last_seen_at) FROM magpie.session s WHERE s.account_id = a.id) AS last_seen_at,
         (SELECT count(*) FROM magpie.favorite f WHERE f.account_id = a.id) AS favorites
    FROM magpie.account a;
COMMENT ON VIEW admin.accounts IS 'Accounts with their state and how much they have.';

DROP VIEW IF EXISTS admin.devices;
CREATE VIEW admin.devices WITH (security_invoker = true) AS
  SELECT a.username, s.device, s.app, s.token_hint, s.scopes, s.created_at, s.last_seen_at, s.expires_at, s.revoked_at, s.id
    FROM magpie.session s JOIN magpie.account a ON a.id = s.account_id;
COMMENT ON VIEW admin.devices IS 'Every token ever issued, by its last four characters.';

DROP VIEW IF EXISTS admin.favorites;
CREATE VIEW admin.favorites WITH (security_invoker = true) AS
  SELECT a.username, f.kind, f.subject_id, f.title, f.state, f.note, f.tags, f.added_at, f.updated_at, f.version
    FROM magpie.favorite f JOIN magpie.account a ON a.id = f.account_id;
COMMENT ON VIEW admin.favorites IS 'Favorites of all accounts. Write to magpie.favorite.';

DROP VIEW IF EXISTS admin.audit;
CREATE VIEW admin.audit WITH (security_invoker = true) AS
  SELECT u.at, u.role, a.username, u.action, u.relation, u.before, u.after
    FROM magpie.audit u LEFT JOIN magpie.account a ON a.id = u.account_id;
COMMENT ON VIEW admin.audit IS 'Who changed accounts and devices, when, from what to what.';

RESET ROLE;
