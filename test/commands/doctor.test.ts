import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, chown, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  createFolder,
  createServed,
  run,
  runProcess,
  runJson,
  startServe,
} from "../support/command.ts";

/** `waypost doctor`: a line for each thing that has to be right, and exit code 1 on a fault. */

test("on an empty home everything is well, and nothing is made", async () => {
  await using folder = await createFolder();
  const data = join(folder.path, "data");
  const { code, stdout } = await run(["doctor", "--data", data]);
  expect(code).toBe(0);
  expect(listAbouts(stdout)).toEqual(["ok configuration", "ok store", "ok key", "ok approvals"]);
  expect(stdout).toMatch(/^ok +store +does not exist yet; the first start creates it in \S+data$/m);
  expect(stdout).toMatch(/^ok +key +the first start creates it in \S+owner\.key$/m);
  expect(existsSync(data)).toBe(false);
});

test("goes to its end where nobody reads on, as before head", async () => {
  await using folder = await createFolder();
  const under = ["bash", "-c", 'set -o pipefail; "$@" | true', "bash"];
  expect(await run(["doctor", "--data", folder.path], { under })).toEqual({
    code: 0,
    stdout: "",
    stderr: "",
  });
});

test("with a deployment elsewhere an empty home stays empty", async () => {
  await using served = await createServed();
  await using home = await createFolder();
  const env = { WAYPOST_BASE_URL: served.serving.places.url, WAYPOST_API_KEY: served.serving.key };
  const { code, stdout } = await run(["doctor", "--data", home.path], { env });
  expect(code, stdout).toBe(0);
  expect(existsSync(home.path)).toBe(false);
});

test("a store that is there is well, and stays as it is", async () => {
  await using folder = await createFolder();
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

/** Every file with its mode and what it holds. */
function readFiles(folder: string) {
  return readdirSync(folder).map((name) => {
    const path = join(folder, name);
    return [name, statSync(path).mode, readFileSync(path, "base64")];
  });
}

test.each([
  ["pin", { WAYPOST_APPROVAL_PIN_FILE: "/nonexistent/pin" }, []],
  ["token", { WAYPOST_HTTP_TOKEN_FILE: "/nonexistent/token" }, []],
  ["tools", {}, ["--tools", "lnks"]],
])("a %s that no start would take is a fault, and nothing is made", async (about, env, words) => {
  await using folder = await createFolder();
  const data = join(folder.path, "data");
  const { code, stdout } = await run(["doctor", "--data", data, ...words], { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(new RegExp(`^FAULT ${about} +\\S`, "m"));
  expect(existsSync(data)).toBe(false);
});

test("a PIN stays what it is while the doctor looks", async () => {
  await using folder = await createFolder();
  const file = join(folder.path, "pin");
  await mkdir(folder.path, { mode: 0o700, recursive: true });
  await writeFile(file, "271828\n", { mode: 0o600 });
  const env = { WAYPOST_APPROVAL_PIN_FILE: file };
  const { code } = await run(["doctor", "--data", join(folder.path, "data")], { env });
  expect(code).toBe(0);
  expect(await readFile(file, "utf8")).toBe("271828\n");
});

test("a store that is damaged is a fault, with what to do", async () => {
  await using folder = await createFolder();
  await mkdir(folder.path, { mode: 0o700 });
  await writeFile(join(folder.path, "waypost.db"), "not a database, but long enough to be one");
  const { code, stdout } = await run(["doctor", "--data", folder.path]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^FAULT store +\S/m);
});

test("a key that is none is a fault, and is not shown", async () => {
  await using folder = await createFolder();
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

test("an owner's key of another store is a fault, and serve does not name it either", async () => {
  await using folder = await createFolder();
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

test.runIf(process.getuid?.() === 0)("a file that another user created is a fault", async () => {
  await using folder = await createFolder();
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
});

test("a key file that cannot be read is a fault", async () => {
  await using folder = await createFolder();
  await runJson(["keys", "create", "--data", folder.path]);
  const env = { WAYPOST_API_KEY_FILE: join(folder.path, "none.key") };
  const { code, stdout } = await run(["doctor", "--data", folder.path], { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^FAULT key +the file named in WAYPOST_API_KEY_FILE does not exist$/m);
});

test("a deployment that does not answer is a fault that names the setting", async () => {
  await using folder = await createFolder();
  const env = { WAYPOST_BASE_URL: "http://127.0.0.1:9", WAYPOST_API_KEY: "some-key" };
  const { code, stdout } = await run(["doctor", "--data", folder.path], { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^FAULT remote server +.*ECONNREFUSED.*WAYPOST_BASE_URL/m);
});

test("a deployment elsewhere without encryption is refused, or told of", async () => {
  await using folder = await createFolder();
  const env = { WAYPOST_BASE_URL: "http://api.invalid", WAYPOST_API_KEY: "some-key" };
  const refused = await run(["doctor", "--data", folder.path], { env });
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toMatch(/^waypost: --base-url .*WAYPOST_ALLOW_HTTP=1.*\n$/);
  const allowed = { ...env, WAYPOST_ALLOW_HTTP: "1" };
  const { stdout } = await run(["doctor", "--data", folder.path], { env: allowed });
  expect(stdout).toMatch(
    /^ok +configuration .*is sent unencrypted: use https in WAYPOST_BASE_URL$/m,
  );
});

test("a password in the address of a deployment is refused, and never shown", async () => {
  await using folder = await createFolder();
  const env = { WAYPOST_BASE_URL: "https://:canary-3f9a@api.invalid", WAYPOST_API_KEY: "some-key" };
  const { code, stdout, stderr } = await run(["doctor", "--data", folder.path], { env });
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^waypost: --base-url \(WAYPOST_BASE_URL\) must not contain a user name or password\n$/,
  );
  expect(stdout + stderr).not.toContain("canary-3f9a");
});

test("proxies that are believed are shown", async () => {
  await using folder = await createFolder();
  const words = ["doctor", "--data", folder.path, "--trusted-proxies", "10.0.0.0/8"];
  const { stdout } = await run(words);
  expect(stdout).toMatch(/^ok +configuration .*X-Forwarded-For is trusted from 10\.0\.0\.0\/8$/m);
});

test("a key with few scopes, and a master key, are known and well", async () => {
  await using folder = await createFolder();
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
  }
});

test("a data folder that cannot be made is a fault", async () => {
  await using folder = await createFolder();
  await mkdir(folder.path, { mode: 0o700 });
  const file = join(folder.path, "file");
  await writeFile(file, "");
  const { code, stdout } = await run(["doctor", "--data", join(file, "data")]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^FAULT store/m);
});
