-- Insertion, an index, grouping, sorting and a join.
create table t(a integer primary key, b text, c int);
with recursive n(x) as (select 1 union all select x+1 from n where x<150000)
  insert into t select x, 'name'||(x*7919%10007), x%113 from n;
create index i on t(b);
select count(*), sum(c) from t where b like 'name1%';
select c, count(*), max(b) from t group by c order by 2 desc, 1 limit 5;
select count(*) from t a join t b on a.b=b.b where a.c<20;
