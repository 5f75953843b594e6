-- Two people with followers among the same 300,000: `long` has all of them, `short` the first 300. Run by a superuser, after seed.sql.
\set ON_ERROR_STOP on
begin;
insert into magpie.github_user (id, login, login_key, name, search, summary, summary_at)
select id, login, login, name, login || ' ' || lower(name),
  format(
    '{"login":"%1$s","id":%2$s,"avatar_url":"https://avatars.githubusercontent.com/u/%2$s?v=4","url":"https://api.github.com/users/%1$s",'
    '"html_url":"https://github.com/%1$s","followers_url":"https://api.github.com/users/%1$s/followers","type":"User","site_admin":false}',
    login, id), now()
from (
  select id, substr(md5(id::text), 1, 6) || '-' || id as login,
    (array['Alice', 'Bob', 'Carol', 'Dave'])[1 + id % 4] || ' ' || translate(substr(md5('n' || id), 1, 7), '0123456789', 'ghijklmnop') as name
  from generate_series(2000001, 2300000) id) person;
insert into magpie.github_user (id, login, login_key, search) values (1999998, 'long', 'long', 'long'), (1999999, 'short', 'short', 'short');
insert into magpie.listing (owner_id, kind, generation, last_generation, fetched_at, validated_at)
select id, 'followers', 1, 1, now(), now() from magpie.github_user where login in ('long', 'short');
insert into magpie.walk (listing_id, generation, state, members, expected, finished_at)
select l.id, 1, 'complete', n, n, now()
from magpie.listing l, lateral (select case l.owner_id when 1999998 then 300000 else 300 end as n) size
where l.owner_id in (1999998, 1999999);
update magpie.listing l set walk_id = w.id, member_count = w.members
from magpie.walk w where w.listing_id = l.id and l.owner_id in (1999998, 1999999);
insert into magpie.walk_page (walk_id, page, first, members, documents, digests, url, credential)
select l.walk_id, page, (page - 1) * 100, p.members, p.documents, magpie.digests(p.documents), '', ''
from magpie.listing l, generate_series(1, (l.member_count / 100)::int) page, lateral (
  select array_agg(u.id order by u.id) as members, array_agg(u.summary order by u.id) as documents
  from magpie.github_user u where u.id between 2000001 + (page - 1) * 100 and 2000000 + page * 100) p
where l.owner_id in (1999998, 1999999);
insert into magpie.follow_edge (listing_id, member_id, first_generation)
select l.id, m, 1 from magpie.listing l join magpie.walk_page p on p.walk_id = l.walk_id, unnest(p.members) m
where l.owner_id in (1999998, 1999999);
commit;
vacuum analyze;
select magpie.prepare_orders(id) from magpie.listing where owner_id in (1999998, 1999999) \g /dev/null
select magpie.tidy_search() \g /dev/null
vacuum analyze;
