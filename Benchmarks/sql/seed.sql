-- The data of a benchmark run, from fixed numbers: 1,000 accounts with 20 favorites each, one with 100 and one with 10,000, and
-- 50 people with 1,000 followers each out of 10,000, stored through the functions that the worker uses. Run by a superuser; prints one token an account.
\set ON_ERROR_STOP on
begin;

create temporary table person as
select id, 'bench-' || id as login,
  format(
    '{"login":"bench-%1$s","id":%1$s,"node_id":"MDQ6VXNlcg%1$s","avatar_url":"https://avatars.githubusercontent.com/u/%1$s?v=4",'
    '"gravatar_id":"","url":"https://api.github.com/users/bench-%1$s","html_url":"https://github.com/bench-%1$s",'
    '"followers_url":"https://api.github.com/users/bench-%1$s/followers",'
    '"following_url":"https://api.github.com/users/bench-%1$s/following{/other_user}",'
    '"gists_url":"https://api.github.com/users/bench-%1$s/gists{/gist_id}",'
    '"starred_url":"https://api.github.com/users/bench-%1$s/starred{/owner}{/repo}",'
    '"subscriptions_url":"https://api.github.com/users/bench-%1$s/subscriptions",'
    '"organizations_url":"https://api.github.com/users/bench-%1$s/orgs",'
    '"repos_url":"https://api.github.com/users/bench-%1$s/repos",'
    '"events_url":"https://api.github.com/users/bench-%1$s/events{/privacy}",'
    '"received_events_url":"https://api.github.com/users/bench-%1$s/received_events",'
    '"type":"User","user_view_type":"public","site_admin":false}', id) as document
from generate_series(100001, 110000) id;

select magpie.store_summaries(
  array_agg(id::bigint), array_agg(login), array_agg(true), array_agg('' || ''), array_agg('User'::text),
  array_agg('https://avatars.githubusercontent.com/u/' || id || '?v=4'), array_agg(document), now())
from person;

do $$
declare
  v_owner bigint;
  v_walk bigint;
  v_members bigint[];
  v_documents text[];
  v_url text;
begin
  for v_owner in 100001..100050 loop
    perform magpie.store_profile(v_owner, 'bench-' || v_owner, null, 'User', '', p.document, 1000, 0, null, null, '')
    from person p where p.id = v_owner;
    v_walk := magpie.open_walk(v_owner, 'followers', 0);
    for page in 1..10 loop
      -- A different thousand for each owner, none of them twice.
      select array_agg(p.id order by n), array_agg(p.document order by n) into v_members, v_documents
      from generate_series(1, 100) n join person p on p.id = 100001 + (v_owner * 37 + page * 100 + n) % 10000;
      v_url := format('https://api.github.com/user/%s/followers?per_page=100&page=', v_owner);
      perform magpie.store_page(
        v_walk, page, v_members, v_documents, v_url || page, case when page < 10 then v_url || page + 1 end, null, '', false, 10, 1000);
    end loop;
    perform magpie.publish_walk(v_walk);
  end loop;
end $$;

create temporary table visitor as
select n, magpie.new_secret('mgp_') as token from generate_series(1, 1000) n;

insert into magpie.account (username) select 'bench-' || n from visitor;
insert into magpie.session (account_id, token_hash, token_hint)
select a.id, sha256(v.token::bytea), right(v.token, 4) from visitor v join magpie.account a on a.username = 'bench-' || v.n;
insert into magpie.favorite (account_id, kind, subject_id, title, subtitle, url, image, note, tags, added_at, snapshot)
select a.id, 'github-user', p.id::text, p.login, 'User', 'https://github.com/' || p.login,
  'https://avatars.githubusercontent.com/u/' || p.id || '?v=4', 'seen at the conference', '{swift,server}',
  timestamptz '2026-01-01 00:00:00Z' + make_interval(mins => i), '{}'
from magpie.account a, generate_series(1, 20) i, lateral (select 100001 + (a.id * 97 + i * 41) % 10000 as id) pick
  join person p using (id)
where a.username like 'bench-%'
order by a.id, i;

-- As the photo service lays them out.
select magpie.publish_photos('photos', array_agg(n::bigint order by n), array_agg(((n - 1) / 50 + 1)::bigint order by n),
  array_agg(title order by n), array_agg(format(
    E'{\n    "albumId": %s,\n    "id": %s,\n    "title": "%s",\n    "url": "https://via.placeholder.com/600/%s",\n    "thumbnailUrl": "https://via.placeholder.com/150/%s"\n  }',
    (n - 1) / 50 + 1, n, title, color, color) order by n), '', null, null)
from generate_series(1, 5000) n,
  lateral (select 'accusamus beatae ad facilis cum similique qui ' || md5(n::text) as title, substr(md5(n::text), 1, 6) as color) x;

-- Two that differ in how much they have and in nothing else.
create temporary table sized as
select 'size-' || size as username, size, magpie.new_secret('mgp_') as token from unnest(array[100, 10000]) size;
insert into magpie.account (username) select username from sized order by size;
insert into magpie.session (account_id, token_hash, token_hint)
select a.id, sha256(s.token::bytea), right(s.token, 4) from sized s join magpie.account a using (username);
insert into magpie.favorite (account_id, kind, subject_id, note, tags, added_at, snapshot)
select a.id, 'github-user', p.id::text, 'seen at the conference', '{swift,server}',
  timestamptz '2026-01-01 00:00:00Z' + make_interval(mins => p.id % 10000), '{}'
from sized s join magpie.account a using (username), person p where p.id > 110000 - s.size;
commit;

vacuum analyze;
select token from visitor order by n;
select token from sized order by size;
