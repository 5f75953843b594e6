-- A person's state says the same as long as nothing has changed. It is written into everybody's favorites, so that each change of
-- mind is news on all devices.
SET LOCAL ROLE magpie_owner;

-- As in 0020, but a profile that hides its lists stays restricted while its counters still say so.
CREATE OR REPLACE FUNCTION magpie.store_profile(
  p_id bigint, p_login text, p_name text, p_type text, p_avatar text, p_document text, p_followers bigint, p_following bigint,
  p_etag text, p_modified text, p_credential text)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.github_user u SET login_key = NULL WHERE u.login_key = lower(p_login) AND u.id <> p_id;
  INSERT INTO magpie.github_user AS u (id, login, login_key, name, type, avatar_url, search, profile, profile_fetched_at,
    profile_validated_at, profile_etag, profile_modified, profile_credential, followers, following)
  VALUES (p_id, p_login, lower(p_login), p_name, p_type, p_avatar, magpie.fold(concat_ws(' ', p_login, p_name)), p_document,
    now(), now(), p_etag, p_modified, p_credential, p_followers, p_following)
  ON CONFLICT (id) DO UPDATE SET
    login = EXCLUDED.login, login_key = EXCLUDED.login_key, name = EXCLUDED.name, type = EXCLUDED.type,
    avatar_url = EXCLUDED.avatar_url, search = EXCLUDED.search,
    state = CASE WHEN EXCLUDED.followers = 0 AND EXCLUDED.following = 0 AND EXISTS (
        SELECT FROM magpie.listing l JOIN magpie.list_watch w ON w.listing_id = l.id
         WHERE l.owner_id = p_id AND w.restricted_at IS NOT NULL)
      THEN 'restricted' ELSE 'ok' END,
    profile = EXCLUDED.profile,
    profile_fetched_at = CASE WHEN u.profile IS NOT DISTINCT FROM EXCLUDED.profile THEN u.profile_fetched_at ELSE now() END,
    profile_validated_at = now(), profile_etag = EXCLUDED.profile_etag, profile_modified = EXCLUDED.profile_modified,
    profile_credential = EXCLUDED.profile_credential, followers = EXCLUDED.followers, following = EXCLUDED.following;
  DELETE FROM magpie.upstream_fact f WHERE f.subject IN ('github-user:' || lower(p_login), 'github-user:id:' || p_id);
END $$;

-- As in 0020, but who is shown is only not gone: private profiles are shown, too. Their lists say when they no longer are.
CREATE OR REPLACE FUNCTION magpie.confirm_person(p_id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE magpie.github_user u SET state = 'ok' WHERE u.id = p_id AND u.state = 'gone';
  DELETE FROM magpie.upstream_fact f
   WHERE f.subject = 'github-user:id:' || p_id
      OR f.subject = (SELECT 'github-user:' || u.login_key FROM magpie.github_user u WHERE u.id = p_id);
END $$;

-- Empty lists that may have been hidden from the first look on are nothing to compare with. The next walk tells again which are.
DELETE FROM magpie.list_watch w USING magpie.listing l JOIN magpie.github_user u ON u.id = l.owner_id
 WHERE l.id = w.listing_id AND coalesce(u.followers, 0) = 0 AND coalesce(u.following, 0) = 0 AND l.member_count = 0
   AND NOT EXISTS (SELECT FROM magpie.follow_edge e WHERE e.listing_id = w.listing_id)
   AND NOT EXISTS (SELECT FROM magpie.follow_event e WHERE e.listing_id = w.listing_id);

RESET ROLE;
