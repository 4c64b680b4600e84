import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { expectRefused, bundle, createUsedFolder, run, startServe } from "../support/command.ts";
import { query, takeDatabase, askedForPassword } from "../support/postgres.ts";

/** PostgreSQL with a password, which no output may contain. */

const password = "Grün & p@ss/42";

async function takeGuarded() {
  const database = await takeDatabase();
  await query(
    database.url,
    `do $$ begin
      if not exists (select from pg_roles where rolname = '${askedForPassword}') then
        create role ${askedForPassword} login superuser password '${password}';
      end if;
    end $$`,
  );
  const url = new URL(database.url);
  url.username = askedForPassword;
  const withPassword = new URL(url);
  withPassword.password = encodeURIComponent(password);
  const wrong = new URL(url);
  wrong.password = "wrong-one";
  return { ...database, url: url.href, withPassword: withPassword.href, wrong: wrong.href };
}

test("the database password is read from the database URL file or from PGPASSWORD", async () => {
  await using database = await takeGuarded();
  await using folder = await createUsedFolder();
  const file = join(folder.path, "..", "database.url");
  await writeFile(file, `${database.withPassword}\n`);
  const fromFile = { WAYPOST_DATABASE_URL_FILE: file };
  const beside = { WAYPOST_DATABASE_URL: database.url, PGPASSWORD: password };
  const said: string[] = [];
  for (const env of [fromFile, beside]) {
    await using serving = await startServe(folder.path, [], { env });
    const key = serving.key;
    expect(await serving.call("GET", "/links", { key })).toMatchObject({ status: 200 });
    const { stdout, stderr } = await serving.stop();
    said.push(stdout, stderr);
  }
  const hint = `env WAYPOST_DATABASE_URL_FILE=${file} node ${bundle} keys create --project default`;
  expect(said.join("")).toContain(hint);
  expect(said.join("")).not.toMatch(/Gr(ü|%C3%BC)n|p(@|%40)ss/);
});

test("a missing database URL file is reported with its path", async () => {
  await using folder = await createUsedFolder();
  const missing = join(folder.path, "no.url");
  const env = { WAYPOST_DATABASE_URL_FILE: missing };
  expect(await run(["keys", "list", "--data", folder.path], { env })).toEqual({
    code: 2,
    stdout: "",
    stderr: `waypost: ${missing} (WAYPOST_DATABASE_URL_FILE) cannot be read: it does not exist\n`,
  });
});

test("a database password in a flag is omitted from suggested commands", async () => {
  await using database = await takeGuarded();
  await using folder = await createUsedFolder();
  await using serving = await startServe(folder.path, ["--database-url", database.withPassword]);
  const { stderr } = await serving.stop();
  expect(stderr).toMatch(/keys create --project default --data \S+ --database-url URL\. /);
  expect(stderr).not.toMatch(/Gr(ü|%C3%BC)n|p(@|%40)ss/);
});

test("a wrong or missing database password is reported in one line but not shown", async () => {
  await using database = await takeGuarded();
  await using folder = await createUsedFolder();
  const refusals: readonly (readonly [string, string])[] = [
    [database.wrong, "password authentication failed"],
    [database.url, "the server needs a password. Add it to the address"],
  ];
  for (const [url, message] of refusals) {
    const env = { WAYPOST_DATABASE_URL: url, PGPASSWORD: "" };
    const refused = await run(["keys", "list", "--data", folder.path], { env });
    expectRefused(refused, /^waypost: [^\n]+\n$/);
    expect(refused.stderr).not.toContain("wrong-one");
    expect(refused.stderr).toContain(message);
  }
});

test("a database password in an invalid database URL or setting is never shown", async () => {
  await using folder = await createUsedFolder();
  const torn = "postgres://ada:12/hidden@db.example/links";
  const whole = "postgres://ada:hidden@db.example/links";
  const file = join(folder.path, "..", "database.url");
  await writeFile(file, torn);
  const data = ["--data", folder.path];
  const refusals: readonly (readonly [readonly string[], Readonly<Record<string, string>>])[] = [
    [["doctor", ...data], { WAYPOST_DATABASE_URL: torn }],
    [["doctor", ...data], { WAYPOST_DATABASE_URL_FILE: file }],
    [["serve", "--port", "0", ...data], { WAYPOST_DATABASE_URL_FILE: whole }],
    [["keys", "list", ...data, "--database-url", torn], {}],
    [["doctor", "--data", whole], {}],
    [["migrate", "--to", torn, ...data], {}],
    [["migrate", "--to", `sqlite:${whole}`, ...data], {}],
    [["restore", whole, ...data], {}],
    [["backup", whole, ...data], {}],
  ];
  for (const [words, env] of refusals) {
    const refused = await run(words, { env });
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^waypost: [^\n]+\n$/),
    });
    expect(refused.stdout + refused.stderr).not.toContain("hidden");
    expect(refused.stderr).toMatch(
      /percent-encode |must be the name of a file|must be a folder|: use /,
    );
  }
});
