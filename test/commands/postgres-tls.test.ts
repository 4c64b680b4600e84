import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ownMachine } from "../support/certificates.ts";
import { expectRefused, createFolder, run, startServe } from "../support/command.ts";
import { createDatabase, query, takeDatabase } from "../support/postgres.ts";

/** TLS connections to PostgreSQL. An operator's server or a pooler may not support them. */

const isOurs = ["WAYPOST_TEST_DATABASE_URL", "WAYPOST_TEST_POOLER"].every(
  (name) => process.env[name] === undefined,
);

async function writeRoot(folder: { readonly path: string }): Promise<string> {
  const root = join(folder.path, "..", "root.pem");
  await writeFile(root, ownMachine.cert);
  return root;
}

describe.skipIf(!isOurs)("a PostgreSQL database with TLS", () => {
  test("can be used if the database URL specifies the root certificate", async () => {
    await using folder = await createFolder();
    const root = encodeURIComponent(await writeRoot(folder));
    // No other process has connected to it.
    const address = await createDatabase();
    for (const mode of ["verify-full", "require"]) {
      const url = `${address}?sslmode=${mode}&sslrootcert=${root}`;
      const env = { WAYPOST_DATABASE_URL: url };
      await using serving = await startServe(folder.path, [], { env });
      expect(await serving.call("GET", "/links")).toMatchObject({ status: 200 });
      const ways = await query(
        address,
        `select distinct ssl from pg_stat_ssl join pg_stat_activity using (pid)
        where application_name like 'waypost %' and datname = current_database()
          and backend_type = 'client backend'`,
      );
      expect(ways).toEqual([{ ssl: true }]);
      expect((await serving.stop()).stderr).not.toContain("WARNING");
    }
  });

  test("is refused with advice if its certificate is not trusted", async () => {
    await using database = await takeDatabase();
    await using folder = await createFolder();
    const root = encodeURIComponent(await writeRoot(folder));
    const other = new URL(database.url);
    other.hostname = "localhost";
    const refusals: readonly (readonly [string, RegExp])[] = [
      [`${database.url}?sslmode=require`, /self-signed certificate\. Add sslmode=verify-full&/],
      [
        `${other.href}?sslmode=verify-full&sslrootcert=${root}`,
        /Use the host name of the certificate/,
      ],
    ];
    for (const [url, words] of refusals) {
      const env = { WAYPOST_DATABASE_URL: url };
      expectRefused(await run(["keys", "list", "--data", folder.path], { env }), words);
    }
  });
});
