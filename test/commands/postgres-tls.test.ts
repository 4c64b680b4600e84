import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openPostgresPool } from "../../src/sql/postgres-pool.ts";
import { ownMachine } from "../support/certificates.ts";
import { createFolder, run, startServe } from "../support/command.ts";
import { query, takeDatabase } from "../support/postgres.ts";
import { waitUntil } from "../support/wait-until.ts";

/** The way to PostgreSQL, encrypted. A server of the operator's, or a pooler, may not have it. */

const isOurs = ["WAYPOST_TEST_DATABASE_URL", "WAYPOST_TEST_POOLER"].every(
  (name) => process.env[name] === undefined,
);

async function writeRoot(folder: { readonly path: string }): Promise<string> {
  const root = join(folder.path, "..", "root.pem");
  await writeFile(root, ownMachine.cert);
  return root;
}

describe.skipIf(!isOurs)("a database that is reached by TLS", () => {
  test("is served where the address names the certificate that vouches for it", async () => {
    const database = await takeDatabase();
    await using folder = await createFolder();
    const root = encodeURIComponent(await writeRoot(folder));
    for (const mode of ["verify-full", "require"]) {
      const url = `${database.url}?sslmode=${mode}&sslrootcert=${root}`;
      const env = { WAYPOST_DATABASE_URL: url };
      await using serving = await startServe(folder.path, [], { env });
      expect(await serving.call("GET", "/links")).toMatchObject({ status: 200 });
      const ways = await query(
        database.url,
        `select distinct ssl from pg_stat_ssl join pg_stat_activity using (pid)
        where application_name = 'waypost' and datname = current_database()`,
      );
      expect(ways).toEqual([{ ssl: true }]);
      expect((await serving.stop()).stderr).not.toContain("WARNING");
    }
    await database.giveBack();
  });

  test("and shows a certificate that nobody vouches for, says what to do", async () => {
    const database = await takeDatabase();
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
      const refused = await run(["keys", "list", "--data", folder.path], { env });
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toMatch(/^waypost: [^\n]+\n$/);
      expect(refused.stderr).toMatch(words);
    }
    await database.giveBack();
  });

  test("has its statements cancelled where nothing but TLS goes through", async () => {
    const database = await takeDatabase();
    await using folder = await createFolder();
    await using proxy = await openStrictProxy(Number(new URL(database.url).port));
    const url = new URL(database.url);
    url.port = String(proxy.port);
    url.search = `?sslmode=verify-full&sslrootcert=${encodeURIComponent(await writeRoot(folder))}`;
    const pool = openPostgresPool(url.href, 1);
    const connection = await pool.take();
    const sleeping = connection.run({ sql: "select pg_sleep(200)", parameters: [] });
    const fault = sleeping.catch((error: unknown) => error);
    const isAsleep = "select 1 from pg_stat_activity where query = 'select pg_sleep(200)'";
    await waitUntil(async () => (await query(database.url, isAsleep)).length > 0);
    connection.cancel();
    expect(await fault).toMatchObject({ code: "57014" });
    connection.giveBack();
    await pool.close();
    await database.giveBack();
  });
});

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Ends every connection that does not begin with the wish for TLS. */
async function openStrictProxy(to: number) {
  const server = createServer((client) => {
    client.once("data", (bytes) => {
      if (!bytes.equals(sslRequest)) {
        client.destroy();
        return;
      }
      const upstream = connect(to, "127.0.0.1");
      for (const socket of [client, upstream]) {
        socket.on("error", () => [client, upstream].forEach((each) => each.destroy()));
      }
      upstream.write(bytes);
      upstream.pipe(client);
      client.pipe(upstream);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" ? (address?.port ?? 0) : 0,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}
