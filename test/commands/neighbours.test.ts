import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, run, startServe } from "../support/command.ts";
import { findFreePort } from "../support/ports.ts";

/** Other programs at the same file, other names for the same server, and mistyped folders. */

describe("another program that opens the database", () => {
  test("cannot delete the write-ahead log, because the server holds a lock", async (context) => {
    context.skip(process.platform !== "linux", "only Linux lists the locks of a process");
    await using folder = await createFolder();
    const file = join(folder.path, "waypost.db");
    // Only the second start finds an existing file.
    for (const start of ["first", "second"]) {
      await using serving = await startServe(folder.path);
      expect((await serving.call("POST", "/links", { body: {} })).status).toBe(201);
      expect([start, readLocks(file)]).toEqual([start, ["READ"]]);
      await serving.stop();
    }
  });
});

describe("the server's own host name", () => {
  test("is never a link host, even if it matches the link origin", async () => {
    await using folder = await createFolder();
    const port = await findFreePort();
    const origins = ["--link-origin", "http://{subdomain}.example.com/"];
    const address = ["--public-url", "http://api.example.com", "--port", String(port)];
    await using serving = await startServe(folder.path, [...origins, ...address]);
    expect(serving.places.api).toBe("http://api.example.com/api/v1");
    expect(serving.places.links).toBe("http://{subdomain}.example.com");
    expect(await readStatus(port, "api.example.com", "/healthz")).toBe(200);
    expect(await readStatus(port, "API.example.com", "/healthz?probe=1")).toBe(200);
    expect(await readStatus(port, "default.example.com", "/healthz")).toBe(404);
  });
});

describe("a missing data folder", () => {
  test.each([
    ["keys", "list"],
    ["keys", "revoke", "x"],
    ["projects", "list"],
  ])("is not created by waypost %s %s because its path may be mistyped", async (...words) => {
    await using folder = await createFolder();
    const { code, stdout, stderr } = await run([...words, "--data", folder.path]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^waypost: the folder [^\n]+ has no Waypost data; [^\n]+\n$/);
    expect(() => statSync(folder.path)).toThrow("ENOENT");
  });

  test.each(["", ",", " , "])(
    "is not filled by waypost keys create if the list of scopes is empty: %j",
    async (scopes) => {
      await using folder = await createFolder();
      const words = ["keys", "create", "--scopes", scopes, "--data", folder.path];
      const { code, stdout, stderr } = await run(words);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(/^waypost: --scopes is empty[^\n]*\n$/);
    },
  );

  test("causes a one-line error if it cannot be created", async () => {
    const { code, stderr } = await run(["keys", "create", "--data", "/proc/waypost/data"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^waypost: the data folder [^\n]+ cannot be created; [^\n]+ with --data .*\n$/,
    );
  });
});

async function readStatus(port: number, host: string, path: string): Promise<number | undefined> {
  const asked = get({ host: "127.0.0.1", port, path, headers: { host } });
  const [response] = await once(asked, "response");
  response.resume();
  return response.statusCode;
}

/** Returns the kinds of locks on the bytes that SQLite locks. */
function readLocks(file: string): readonly string[] {
  const { ino } = statSync(file);
  const sharedBytes = 0x40000002;
  return readFileSync("/proc/locks", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((parts) => parts[5]?.endsWith(`:${ino}`) && Number(parts[6]) >= sharedBytes)
    .map((parts) => parts[3] ?? "");
}
