import { sql as raw, type SqlBool } from "kysely";
import { describe, expect, test } from "vitest";
import { countRows } from "../../src/store/list-page.ts";
import type { Tables } from "../../src/store/tables.ts";
import { findUnpinned, type Spread } from "../support/find-unpinned.ts";
import { everywhere, findStatementFault, spread } from "../support/postgres-statements.ts";
import { takeDatabase } from "../support/postgres.ts";

/** What looks at every statement of the tests on PostgreSQL sees what is wrong with one. */

const lacking = "links lacks its project_id";

describe("of a statement about spread tables, the tests say what it lacks:", () => {
  test.each([
    ["select * from links where id = $1", lacking],
    ['select "id" from "links" where "links"."id" = $1', lacking],
    ["select project_id from links where id = $1", lacking],
    ["update links set name = 'project_id = 1' where id = $1", lacking],
    ["select * from links where project_id = $1 or id = $2", lacking],
    ["select * from links where not (project_id = $1)", lacking],
    ["select * from links where project_id <> $1", lacking],
    ["select * from links where project_id in (select id from projects)", lacking],
    [
      "select * from links where project_id = (select id from projects where subdomain = $1)",
      lacking,
    ],
    ["select * from links where id in (select id from links where project_id = $1)", lacking],
    [
      "select * from projects join links on links.project_id = projects.id where subdomain = $1",
      lacking,
    ],
    ["select * from links left join bin on links.project_id = $1 and bin.project_id = $1", lacking],
    [
      "select * from links join bin on bin.id = links.id where links.project_id = $1",
      "bin lacks its project_id",
    ],
    [
      "select * from projects where exists (select 1 from bin where bin.project_id = projects.id)",
      "bin lacks its project_id",
    ],
    [
      "with hits as (select id from links where name_lc = $1) select id from hits as links",
      lacking,
    ],
    ['delete from "bin" where "id" = $1', "bin lacks its project_id"],
    ['delete from "bin" using projects where bin.id = projects.id', "bin lacks its project_id"],
    ["insert into bin (id) values ($1)", "bin lacks its project_id"],
    ["insert into bin (project_id, id) select project_id, id from links where id = $1", lacking],
    [
      "insert into links (project_id, id) values ($1, $2) on conflict (id) do nothing",
      "links is found again without its project_id",
    ],
    [
      'insert into "successors" ("realm", "id") values ($1, $2) on conflict ("realm", "id") ' +
        'do update set "realm" = $3',
      "successors is given another realm",
    ],
    ["update links set project_id = $1 where project_id = $2", "links is given another project_id"],
    ['update "changes" set "note" = $1 where "id" = $2', "changes lacks its realm"],
    ["delete from job_rows where position = $1", "job_rows lacks its plan_id"],
    ["delete from chores where kind = $1", "chores lacks its project_id"],
    ["delete from notices where id = $1", "notices lacks its realm"],
    ["select url from webhooks where id = $1 and failures > 0", "webhooks lacks its project_id"],
    [
      "select * from deliveries join webhooks on webhooks.id = webhook_id where " +
        "webhooks.project_id = $1",
      "deliveries lacks its project_id",
    ],
    ["update deliveries set attempts = 1 where webhook_id = $1", "deliveries lacks its project_id"],
    [
      "select * from plan_rows where plan_id = $1 and position in (select position from jobs)",
      "asks for plan_rows and jobs, which are apart",
    ],
    ["begin; select * from links; commit", lacking],
    ["select id from links where project_id = $1 union all select id from links", lacking],
  ])("%s", (text, fault) => {
    expect(findStatementFault(text)).toBe(fault);
  });

  test.each([
    "select * from links where project_id = $1 and id = $2",
    'select "l"."id" from "links" as "l" where ("l"."project_id" = $1 and ("l"."id" = $2 ' +
      "or 1 = 0))",
    "select * from links where $1 = project_id",
    "select * from links where project_id = cast($1 as text) and clicks between 1 and 2",
    "select project_id from tallies where project_id in ($1, $2)",
    "select * from addresses join links on links.project_id = addresses.project_id where " +
      "addresses.project_id = $1",
    "select * from links left join bin on bin.project_id = links.project_id where " +
      "links.project_id = $1",
    "select * from links where project_id = $1 and id in (select id from bin where " +
      "bin.project_id = links.project_id)",
    "insert into bin (project_id, id) values ($1, $2) on conflict (project_id, kind, id) " +
      "do update set id = excluded.id",
    "insert into addresses (project_id, address) select project_id, path from short_paths " +
      "where project_id = $1",
    "with visits (project_id, id) as (values ($1, $2)) update links set clicks = 1 from " +
      "visits where links.project_id = visits.project_id",
    "with page as materialized (select id from links where project_id = $1), found as " +
      "(select * from links where project_id = $1 and id in (select id from page)) select * " +
      "from found as links",
    "select * from projects where id = $1",
    "select * from jobs where state = $1",
    "create table links (id text)",
    "select * from links where project_id = $1 and name_lc like $2 escape '\\' and name " +
      "is distinct from $3",
  ])("nothing, where it is pinned: %s", (text) => {
    expect(findStatementFault(text)).toBeUndefined();
  });

  test("which column it is that each table is spread by", () => {
    const spread: Spread = new Map([["plots", { by: "farm", isAlone: false }]]);
    expect(findUnpinned("select * from plots where project_id = $1", spread)).toEqual([
      "plots lacks its farm",
    ]);
    expect(findUnpinned("select * from plots where farm = $1", spread)).toEqual([]);
  });
});

test.each([
  ["set statement_timeout = 5", "leaves something in the session"],
  ["begin; set local statement_timeout = 5", undefined],
  ["begin; set statement_timeout = 5", "leaves something in the session"],
  ["listen changes", "leaves something in the session"],
  ["select pg_try_advisory_lock(1)", "leaves something in the session"],
])("of the statement %s, the tests say that it %s", (text, fault) => {
  expect(findStatementFault(text)).toBe(fault);
});

/** One for each of those that are meant to ask every machine. */
const samples = [
  'select "project_id" as "c0", "id" as "c1" from "links"  order by "project_id", "id" limit $1',
  'select count(*) as "rows" from "links"',
  'select "project_id" from "tallies" where "links" >= $1',
  'select "realm", "number" from "changes" where "at" <= $1 limit $2',
  'delete from "exports" where "expires_at" <= $1',
  "select project_id, id, url, secret from webhooks",
  'select "project_id", "id" from "webhooks"',
  'select "id", "project_id", "url" from "webhooks" order by "created_at", "id"',
  'select "id", "project_id", "url" from "webhooks" where "id" = $1',
  'select "state", count(*) as "count" from "deliveries" group by "state"',
  'select sum("dropped") as "dropped" from "webhooks"',
  'delete from "deferred_visits" where ("ends_at" <= $1 or "ends_at" > $2)',
  'select * from "chores"',
  'select * from "notices" order by "at" limit $1',
  'select "id" from "notices" where "at" <= $1 limit $2',
];

test("each that may ask every machine is one that would be refused", () => {
  expect(everywhere).toHaveLength(samples.length);
  samples.forEach((text, at) => {
    expect(everywhere[at]?.text.test(text), text).toBe(true);
    expect(findUnpinned(text, spread).length, text).toBeGreaterThan(0);
    expect(findStatementFault(text)).toBeUndefined();
  });
});

test("a statement of ours that lacks its project is not run", async () => {
  const database = await takeDatabase();
  const sql = await database.open<Tables>();
  // A list is of whichever rows its caller says.
  const everybodys = { table: "links", columns: {}, ownRows: raw<SqlBool>`1 = 1` };
  const query = { filters: [], sorts: [], page: 1, limit: 1 };
  await expect(countRows(sql.db, everybodys, query)).rejects.toThrow(lacking);
  await sql.close();
  await database.giveBack();
});
