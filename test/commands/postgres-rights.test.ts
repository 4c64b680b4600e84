import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { StoreBusy } from "../../src/sql/faults.ts";
import { openPostgres } from "../../src/sql/postgres.ts";
import { createFolder, run, runProcess, startServe, type Folder } from "../support/command.ts";
import { createDatabase, query, serverVariable } from "../support/postgres.ts";
import { openForAll } from "../support/open-for.ts";

/** A role with too few rights. The suggested SQL statement must fix it. */

let folder: Folder;

openForAll(createFolder, async (opened) => {
  folder = opened;
  const input = "path,name\none,One\n";
  const made = await runProcess(["import", "-", "--yes", "--data", folder.path], { input });
  expect(made).toMatchObject({ code: 0 });
});

/** Creates a database and a role that may only log in. */
async function takeRightless() {
  const server = process.env[serverVariable] ?? "";
  const owner = await createDatabase(server);
  const role = `waypost ${randomUUID()}`;
  const name = new URL(owner).pathname.slice(1);
  await query(owner, `create role "${role}" login`);
  await query(owner, "revoke create on schema public from public");
  const url = new URL(owner);
  url.username = encodeURIComponent(role);
  const env = { WAYPOST_DATABASE_URL: url.href };
  return {
    owner,
    role,
    name,
    url: url.href,
    env,
    run: (...words: readonly string[]) => run([...words, "--data", folder.path], { env }),
    [Symbol.asyncDispose]: async () => {
      await query(server, `drop database "${name}" with (force)`);
      await query(server, `drop role "${role}"`);
    },
  };
}

type LimitedDatabase = Awaited<ReturnType<typeof takeRightless>>;

function readAdvice(finished: { readonly code: number | null; readonly stderr: string }): string {
  expect(finished).toMatchObject({ code: 2, stderr: expect.stringMatching(/^waypost: .*\n$/) });
  expect(finished.stderr).not.toContain("unexpected");
  const [, statement = ""] = /[Aa]sk an administrator to run(?: there)?: (.*)\n/.exec(
    finished.stderr,
  ) ?? [""];
  return statement;
}

const emptyOnes: readonly (readonly [string, (rightless: LimitedDatabase) => string, RegExp])[] = [
  [
    "cannot create tables",
    () => "select 1",
    /does not let the role ".+" create tables in the schema "public"/,
  ],
  [
    "has a search path without a schema",
    ({ name }) => `alter database "${name}" set search_path = "not ""there"`,
    /has no schema that the role ".+" can use/,
  ],
  [
    "cannot use its schema",
    ({ name }) => `create schema closed; alter database "${name}" set search_path = closed`,
    /has no schema that the role ".+" can use/,
  ],
  [
    "has an empty search path",
    ({ name }) =>
      `alter database "${name}" set search_path = ''; grant create on schema public to public`,
    /has no schema that the role ".+" can use/,
  ],
  [
    "can only read",
    ({ role }) =>
      `alter role "${role}" set default_transaction_read_only = on; ` +
      "grant create on schema public to public",
    /does not accept writes: it is read-only for the role/,
  ],
  [
    "cannot connect",
    ({ name }) =>
      `revoke connect on database "${name}" from public; grant create on schema public to public`,
    /cannot be opened: permission denied for database/,
  ],
];

test.each(emptyOnes)(
  "if a database role %s, the error includes an SQL statement that fixes the problem",
  async (_, spoil, words) => {
    await using rightless = await takeRightless();
    await query(rightless.owner, spoil(rightless));
    const refused = await rightless.run("serve", "--port", "0");
    const statement = readAdvice(refused);
    expect(refused.stderr).toMatch(words);
    const looked = await rightless.run("doctor");
    expect(looked).toMatchObject({ code: 1, stderr: "" });
    expect(looked.stdout).toMatch(new RegExp(`FAULT store .*${words.source}`));
    await query(rightless.owner, statement);
    await using own = await createFolder();
    await using serving = await startServe(own.path, [], { env: rightless.env });
    const { key } = serving;
    expect(await serving.call("GET", "/links", { key })).toMatchObject({ status: 200 });
    await serving.stop();
  },
);

test("migrate reports a database role that lacks permissions and copies nothing", async () => {
  await using rightless = await takeRightless();
  const migrated = await run(["migrate", "--to", rightless.url, "--data", folder.path]);
  expect(readAdvice(migrated)).toContain('GRANT USAGE, CREATE ON SCHEMA "public" TO "waypost ');
  expect(await run(["keys", "list", "--data", folder.path])).toMatchObject({ code: 0 });
});

test("if a role lacks table permissions, the error includes an SQL statement to run", async () => {
  await using rightless = await takeRightless();
  const made = await run(["keys", "list", "--data", folder.path], {
    env: { WAYPOST_DATABASE_URL: rightless.owner },
  });
  expect(made).toMatchObject({ code: 0 });
  const refused = await rightless.run("keys", "list");
  const statement = readAdvice(refused);
  expect(refused.stderr).toMatch(/denies the role ".+" a permission \(permission denied for table/);
  expect((await rightless.run("doctor")).stdout).toContain(statement);
  await query(
    rightless.owner,
    `grant select on all tables in schema public to "${rightless.role}"`,
  );
  expect(await rightless.run("keys", "list")).toMatchObject({ code: 0 });
  const looked = await rightless.run("doctor");
  expect(looked.stdout).toMatch(/FAULT store +denies the role "waypost /);
  expect(looked.stdout).toContain(statement);
  expect(looked.stdout).toContain("ok    approvals");
  expect(readAdvice(await rightless.run("serve", "--port", "0"))).toBe(statement);
  const target = `sqlite:${join(folder.path, "..", "moved")}`;
  expect(readAdvice(await rightless.run("migrate", "--to", target))).toBe(statement);
  await query(rightless.owner, statement);
  await using own = await createFolder();
  await using serving = await startServe(own.path, [], { env: rightless.env });
  await serving.stop();
});

test("waypost keys list works with a read-only database, but waypost serve does not", async () => {
  await using rightless = await takeRightless();
  const { owner, role } = rightless;
  await query(owner, `grant create on schema public to "${role}"`);
  expect(await rightless.run("keys", "list")).toMatchObject({ code: 0 });
  await query(owner, `alter role "${role}" set default_transaction_read_only = on`);
  expect(await rightless.run("keys", "list")).toMatchObject({ code: 0 });
  const refusals = [
    await rightless.run("keys", "create", "--project", "default"),
    await rightless.run("serve", "--port", "0"),
  ];
  for (const refused of refusals) expect(readAdvice(refused)).toContain("ALTER ROLE");
  expect((await rightless.run("doctor")).stdout).toMatch(
    /FAULT store +does not accept writes: .*ALTER/,
  );
});

test("a write that failed on a read-only database succeeds once writes are allowed", async () => {
  await using rightless = await takeRightless();
  const { owner, role } = rightless;
  await query(owner, `grant create on schema public to "${role}"`);
  const store = await openPostgres(rightless.url);
  const write = () => store.write((db) => sql`create table if not exists written ()`.execute(db));
  const endAll = `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`;
  await write();
  await query(owner, `alter role "${role}" set default_transaction_read_only = on`);
  await query(owner, endAll);
  const fault = await write().catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(StoreBusy);
  expect(fault).toMatchObject({
    outage: "away",
    message: expect.stringMatching(/no longer accepts writes/),
  });
  await query(owner, `alter role "${role}" reset default_transaction_read_only`);
  await query(owner, endAll);
  await write();
  await store.close();
});
