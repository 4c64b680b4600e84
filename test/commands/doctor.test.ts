import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, chown, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  expectRefused,
  createFolder,
  run,
  runProcess,
  runJson,
  startServe,
  type Folder,
} from "../support/command.ts";
import { openForEach } from "../support/open-for.ts";

/** `waypost doctor`: a line for each check, and exit code 1 if one fails. */

let folder: Folder;
openForEach(createFolder, (opened) => (folder = opened));

test("before the first start, doctor reports no problems and creates nothing", async () => {
  const data = join(folder.path, "data");
  const { code, stdout } = await run(["doctor", "--data", data]);
  expect(code).toBe(0);
  expect(listAbouts(stdout)).toEqual(["ok configuration", "ok store", "ok key", "ok approvals"]);
  expect(stdout).toMatch(/^ok +store +does not exist yet; the first start creates it in \S+data$/m);
  expect(stdout).toMatch(/^ok +key +the first start creates it in \S+owner\.key$/m);
  expect(existsSync(data)).toBe(false);
});

test("doctor exits without an error when its output pipe is closed", async () => {
  const under = ["bash", "-c", 'set -o pipefail; "$@" | true', "bash"];
  expect(await run(["doctor", "--data", folder.path], { under })).toEqual({
    code: 0,
    stdout: "",
    stderr: "",
  });
});

test("doctor reports no problems for an existing database and does not change it", async () => {
  await runProcess(["keys", "create", "--data", folder.path]);
  const before = readFiles(folder.path);
  const { code, stdout } = await runProcess(["doctor", "--data", folder.path]);
  expect(code).toBe(0);
  expect(listAbouts(stdout)).toEqual([
    "ok configuration",
    "ok store",
    "ok key",
    "ok access",
    "ok approvals",
  ]);
  expect(readFiles(folder.path)).toEqual(before);
});

function listAbouts(stdout: string): readonly string[] {
  const lines = stdout.trim().split("\n");
  return lines.map((line) => line.split(/ +/).slice(0, 2).join(" "));
}

function readFiles(folder: string) {
  return readdirSync(folder).map((name) => {
    const path = join(folder, name);
    return [name, statSync(path).mode, readFileSync(path, "base64")];
  });
}

const lost = { WAYPOST_BASE_URL: "http://127.0.0.1:9", WAYPOST_API_KEY: "some-key" };

test.each([
  ["an unreadable PIN file", { WAYPOST_APPROVAL_PIN_FILE: "/none" }, [], /pin +\S/],
  ["an unreadable token file", { WAYPOST_HTTP_TOKEN_FILE: "/none" }, [], /token +\S/],
  ["an unknown tool", {}, ["--tools", "lnks"], /tools +\S/],
  ["an unreachable remote server", lost, [], /remote server .*ECONNREFUSED.*WAYPOST_BASE_URL/],
])("doctor reports %s and creates nothing", async (_, env, words, line) => {
  const data = join(folder.path, "data");
  const { code, stdout } = await run(["doctor", "--data", data, ...words], { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(new RegExp(`^FAULT ${line.source}`, "m"));
  expect(existsSync(data)).toBe(false);
});

test("doctor reports a damaged database and a data folder whose parent is a file", async () => {
  await mkdir(folder.path, { mode: 0o700 });
  const file = join(folder.path, "waypost.db");
  await writeFile(file, "not a database, but long enough to be one");
  for (const data of [folder.path, join(file, "data")]) {
    const { code, stdout } = await run(["doctor", "--data", data]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAULT store +\S/m);
  }
});

test("doctor does not replace the PIN in the PIN file with a hash", async () => {
  const file = join(folder.path, "pin");
  await mkdir(folder.path, { mode: 0o700, recursive: true });
  await writeFile(file, "271828\n", { mode: 0o600 });
  const env = { WAYPOST_APPROVAL_PIN_FILE: file };
  const { code } = await run(["doctor", "--data", join(folder.path, "data")], { env });
  expect(code).toBe(0);
  expect(await readFile(file, "utf8")).toBe("271828\n");
});

test("doctor reports an invalid key without showing it", async () => {
  const env = { WAYPOST_API_KEY: "canary-3f9a" };
  const early = await run(["doctor", "--data", folder.path], { env });
  expect(early).toMatchObject({ code: 1 });
  expect(early.stdout).toMatch(/^FAULT key +is set, but a new database does not have this key/m);
  expect(early.stdout + early.stderr).not.toContain("canary-3f9a");
  await runJson(["keys", "create", "--data", folder.path]);
  const { code, stdout, stderr } = await run(["doctor", "--data", folder.path], { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^FAULT key +API key is invalid\.$/m);
  expect(stdout).not.toMatch(/^ok +access/m);
  expect(stdout + stderr).not.toContain("canary-3f9a");
});

test("doctor reports an owner's key that belongs to another database", async () => {
  const { path } = folder;
  await runJson(["keys", "create", "--data", path]);
  await writeFile(join(path, "owner.key"), `waypost_${"a".repeat(40)}\n`);
  const { code, stdout } = await run(["doctor", "--data", path]);
  const file = join(path, "owner.key");
  const said = `the key in ${file} does not belong to this database; create a key with `;
  expect(code).toBe(1);
  expect(stdout).toContain(`FAULT key           ${said}`);
  expect(stdout).toMatch(new RegExp(`keys create .* and write it into ${file}$`, "m"));
  await using serving = await startServe(path);
  expect(serving.places.key_file).toBeNull();
  expect((await serving.stop()).stderr).toContain(`(${said}`);
});

test.runIf(process.getuid?.() === 0)(
  "doctor reports a file that is owned by another user",
  async () => {
    const { path } = folder;
    await runJson(["keys", "create", "--data", path]);
    expect(await readdir(path)).toContain("state.db");
    await chmod(join(path, ".."), 0o755);
    for (const name of ["", ...(await readdir(path))]) {
      if (name !== "state.db") await chown(join(path, name), 4242, 4242);
    }
    const under = ["setpriv", "--reuid=4242", "--regid=4242", "--clear-groups"];
    const { code, stdout } = await run(["doctor", "--data", path], { under });
    expect(code).toBe(1);
    expect(stdout).toContain(`chown --reference=${path} ${join(path, "state.db")}`);
  },
);

test("doctor reports a key file that cannot be read", async () => {
  await runJson(["keys", "create", "--data", folder.path]);
  const env = { WAYPOST_API_KEY_FILE: join(folder.path, "none.key") };
  const { code, stdout } = await run(["doctor", "--data", folder.path], { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^FAULT key +the file named in WAYPOST_API_KEY_FILE cannot be read: it does not exist$/m,
  );
});

test("doctor refuses a remote server without TLS, or warns if plain HTTP is allowed", async () => {
  const env = { WAYPOST_BASE_URL: "http://api.invalid", WAYPOST_API_KEY: "some-key" };
  expectRefused(
    await run(["doctor", "--data", folder.path], { env }),
    /^waypost: --base-url .*WAYPOST_ALLOW_HTTP=1.*\n$/,
  );
  const allowed = { ...env, WAYPOST_ALLOW_HTTP: "1" };
  const { stdout } = await run(["doctor", "--data", folder.path], { env: allowed });
  expect(stdout).toMatch(
    /^ok +configuration .*is sent unencrypted: use https in WAYPOST_BASE_URL$/m,
  );
});

test("doctor refuses a server URL with a password and never shows the password", async () => {
  const env = { WAYPOST_BASE_URL: "https://:canary-3f9a@api.invalid", WAYPOST_API_KEY: "some-key" };
  const { code, stdout, stderr } = await run(["doctor", "--data", folder.path], { env });
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^waypost: --base-url \(WAYPOST_BASE_URL\) must not contain a user name or password\n$/,
  );
  expect(stdout + stderr).not.toContain("canary-3f9a");
});

test("doctor shows the trusted proxies", async () => {
  const words = ["doctor", "--data", folder.path, "--trusted-proxies", "10.0.0.0/8"];
  const { stdout } = await run(words);
  expect(stdout).toMatch(/^ok +configuration .*X-Forwarded-For is trusted from 10\.0\.0\.0\/8$/m);
});

test("doctor accepts a remote server's limited key and creates no data folder", async () => {
  await using serving = await startServe(folder.path);
  const keys = ["keys", "create", "--data", folder.path];
  const few = await runJson([...keys, "--scopes", "ios_apps.show"]);
  const master = await runJson([...keys, "--master"]);
  for (const [token, kind] of [
    [few.token, "project"],
    [master.token, "master"],
  ]) {
    const env = { WAYPOST_BASE_URL: serving.places.url, WAYPOST_API_KEY: token };
    await using elsewhere = await createFolder();
    const { code, stdout } = await run(["doctor", "--data", elsewhere.path], { env });
    expect({ code, stdout }).toMatchObject({ code: 0 });
    expect(stdout).toMatch(/^ok +key +is accepted/m);
    const tools = `${kind} key; \\d+ tools can be used.* \\(waypost tools lists them\\)`;
    expect(stdout).toMatch(new RegExp(`^ok +access +${tools}$`, "m"));
    expect(existsSync(elsewhere.path)).toBe(false);
  }
});
