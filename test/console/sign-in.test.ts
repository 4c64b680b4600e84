import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { browse, type WebTab, readFormToken, signInAt } from "../support/console.ts";
import {
  expectRefused,
  createServed,
  createUsedFolder,
  run,
  runJson,
  startServe,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { openTerminal } from "./terminal.ts";
import { openForAll } from "../support/open-for.ts";
import { clock, random } from "../../src/app/process/embedded.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { openState, type State } from "../../src/state/state.ts";
import type { StateTables } from "../../src/state/tables.ts";

/** Signing in to the console, and what is refused, over the network. */

let folder: Folder;
let serving: Serving;
let other: Serving;

openForAll(createServed, async (opened, keep) => {
  ({ folder, serving } = opened);
  other = keep(await startServe(folder.path));
});

const signIn = (key?: string, at = serving): Promise<WebTab> => signInAt(at, key);

function readSession({ cookies }: WebTab): string {
  return [...cookies].find(([name]) => name.includes("session"))?.[1] ?? "";
}

async function readAddress(
  words = `console --data ${folder.path}`,
  pattern = /(https?:\/\/\S+)/,
): Promise<string> {
  await using terminal = openTerminal(words);
  return await terminal.read(pattern);
}

test("a signed-out browser gets the sign-in page, and any other client a JSON 404", async () => {
  const tab = browse(serving.places.url);
  const shown = await tab.open("/");
  expect([shown.path, shown.status]).toEqual(["/sign-in", 200]);
  expect(shown.text).toContain("<h1>Sign in</h1>");
  for (const accept of ["application/json", "*/*"]) {
    const { status, text } = await tab.open("/", { accept });
    expect([status, JSON.parse(text)]).toEqual([404, { error: expect.any(String) }]);
  }
});

test("signing in with a valid key sets an HttpOnly SameSite=Strict cookie", async () => {
  const tab = browse(serving.places.url);
  await tab.open("/sign-in");
  const wrong = await tab.submit({ key: `${serving.key}x` });
  expect([wrong.status, readSession(tab)]).toEqual([403, ""]);
  expect(wrong.text).toContain("This API key is not valid.");
  const shown = await tab.submit({ key: serving.key });
  expect([shown.status, shown.path]).toEqual([200, "/"]);
  expect(shown.text).toContain("Connect your assistant");
  expect(shown.text).not.toContain(serving.key);
  expect(readSession(tab)).toMatch(/^[\w-]{43}$/);
  const page = await fetch(`${serving.places.url}/sign-in`, { headers: { accept: "text/html" } });
  expect(page.headers.getSetCookie()[0]).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
});

describe("the console", () => {
  test.each([
    ["from another site", { origin: "https://evil.example" }],
    ["from another port", { origin: "http://127.0.0.1:1" }],
    ["without an origin", { origin: "" }],
    ["from a page with the origin null", { origin: "null" }],
    ["that the browser labels as cross-site", { "sec-fetch-site": "cross-site" }],
    ["from a same-site subdomain", { "sec-fetch-site": "same-site" }],
  ])("rejects a form %s", async (_, headers) => {
    const tab = await signIn();
    await tab.open("/");
    const token = readSession(tab);
    const { status } = await tab.post("/sign-out", {}, headers);
    expect([status, readSession(tab)]).toEqual([403, token]);
  });

  test("accepts a form only with a form token of the same session", async () => {
    const [tab, another] = [await signIn(), await signIn()];
    const foreign = await readFormToken(another);
    for (const form_token of ["", "x", foreign]) {
      const shown = await tab.post("/sign-out", { form_token });
      expect([shown.path, shown.text.includes("Nothing has been done yet.")]).toEqual([
        "/?again=1",
        true,
      ]);
      await tab.post("/links/new", { form_token, path: "forged" });
    }
    const { body } = await serving.call("GET", "/links?q[path_eq]=forged");
    expect(body.links).toEqual([]);
  });

  test("accepts a sign-in only with the form token of the sign-in page", async () => {
    const tab = browse(serving.places.url);
    await tab.open("/sign-in");
    const { text } = await tab.post("/sign-in", { key: serving.key });
    expect(text).toContain("This page has expired.");
    expect(readSession(tab)).toBe("");
  });
});

test("signing in starts a new session and ends the previous session of the browser", async () => {
  const tab = await signIn();
  const first = readSession(tab);
  const fixed = browse(serving.places.url);
  const name = [...tab.cookies.keys()].find((each) => each.includes("session")) ?? "";
  fixed.cookies.set(name, first);
  await fixed.open("/sign-in");
  await fixed.submit({ key: serving.key });
  expect(readSession(fixed)).not.toBe(first);
  expect((await tab.open("/")).path).toBe("/sign-in");
  const made = browse(serving.places.url);
  made.cookies.set(name, "a".repeat(43));
  expect((await made.open("/")).path).toBe("/sign-in");
});

test("all processes of a data folder accept a session until the user signs out", async () => {
  const tab = await signIn();
  const there = browse(other.places.url);
  const { port } = new URL(other.places.url);
  there.cookies.set(`waypost_session_${port}`, readSession(tab));
  expect((await there.open("/")).text).toContain("Connect your assistant");
  const form_token = await readFormToken(tab);
  expect((await tab.post("/sign-out", { form_token })).path).toBe("/sign-in");
  expect((await there.open("/")).path).toBe("/sign-in");
});

test("a session ends when its key is revoked", async () => {
  const { id, token } = await runJson(["keys", "create", "--data", folder.path]);
  const tab = await signIn(token);
  expect((await tab.open("/")).path).toBe("/");
  await run(["keys", "revoke", id, "--data", folder.path]);
  await expect.poll(async () => (await tab.open("/")).path).toBe("/sign-in");
});

test("waypost console prints a single-use sign-in URL that any process accepts", async () => {
  const address = new URL(await readAddress());
  const [tab, late] = [browse(serving.places.url), browse(other.places.url)];
  expect((await tab.open(address.pathname)).text).toContain("one-time address");
  await late.open(address.pathname);
  expect((await tab.submit({})).path).toBe("/");
  expect((await late.submit({})).text).toContain("This address was already used");
  expect(readSession(late)).toBe("");
  expect((await late.open(address.pathname)).status).toBe(404);
});

test("waypost serve prints a one-time sign-in URL to a terminal, but not to a pipe", async () => {
  await using place = await createUsedFolder();
  const words = `serve --data ${place.path} --port 0`;
  const address = new URL(await readAddress(words, /Console \(signs you in once.*?(http\S+)/));
  expect(address.pathname).toMatch(/^\/sign-in\/[\w-]{43}$/);
  await using piped = await startServe(place.path);
  const { stderr, stdout } = await piped.stop();
  expect(stderr + stdout).not.toContain("/sign-in/");
});

test("waypost console does not print a one-time sign-in URL outside a terminal", async () => {
  expectRefused(await run(["console", "--data", folder.path]), "only to a terminal");
});

test("an IP address gets 429 after twenty wrong keys, but the right key still works", async () => {
  await using place = await createUsedFolder();
  await using one = await startServe(place.path);
  await using two = await startServe(place.path);
  const tabs = [browse(one.places.url), browse(two.places.url)];
  for (const tab of tabs) await tab.open("/sign-in");
  const statuses: number[] = [];
  for (let turn = 0; turn < 20; turn += 1) {
    statuses.push((await tabs[turn % 2]?.submit({ key: "wrong" }))?.status ?? 0);
  }
  expect(new Set(statuses)).toEqual(new Set([403]));
  for (const tab of tabs) {
    const { status, text } = await tab.submit({ key: "wrong" });
    expect([status, text.includes("Too many failed sign-ins")]).toEqual([429, true]);
    expect((await tab.submit({ key: one.key })).path).toBe("/");
    expect(readSession(tab)).not.toBe("");
  }
});

test("wrong keys from one IP address do not throttle another IP address", async () => {
  await using place = await createUsedFolder();
  const words = ["--public-url", "https://links.example.com", "--trusted-proxies", "loopback"];
  await using open = await startServe(place.path, words);
  const host = "links.example.com";
  const origin = "https://links.example.com";
  const tab = browse(`http://127.0.0.1:${await readPort(open)}`);
  await tab.open("/sign-in", { host });
  const tryFrom = async (address: string) => {
    const from = { host, origin, "x-forwarded-for": address };
    return (await tab.submit({ key: "wrong" }, from)).status;
  };
  for (let turn = 0; turn < 20; turn += 1) {
    expect(await tryFrom(`2001:db8:1:2:${turn + 1}::1`)).toBe(403);
  }
  expect(await tryFrom("2001:db8:1:2::1")).toBe(429);
  expect(await tryFrom("2001:db8:1:3::1")).toBe(403);
});

test("after twenty wrong PINs at one-time URLs, even the correct PIN is rejected", async () => {
  await using place = await createUsedFolder();
  await using asking = await startWithPin(place);
  const tab = browse(asking.places.url);
  await tab.open("/sign-in");
  for (let turn = 0; turn < 21; turn += 1) await tab.submit({ key: "wrong" });
  const { pathname } = new URL(await readAddress(`console --data ${place.path}`));
  await tab.open(pathname);
  // Wrong keys do not count as wrong PINs.
  expect((await tab.submit({ pin: "111111" })).text).toContain("The PIN is wrong.");
  await countAttempts(place, 18, { sign_in_by_pin: "127.0.0.1" });
  // The right PIN does not count as a try.
  expect((await tab.submit({ pin: "135790" })).path).toBe("/");
  const late = browse(asking.places.url);
  await late.open(new URL(await readAddress(`console --data ${place.path}`)).pathname);
  expect((await late.submit({ pin: "111111" })).status).toBe(403);
  expect((await late.submit({ pin: "135790" })).status).toBe(429);
  expect(readSession(late)).toBe("");
});

async function startWithPin(place: Folder): Promise<Serving> {
  const file = join(dirname(place.path), "pin");
  await writeFile(file, "135790", { mode: 0o600 });
  return startServe(place.path, [], { env: { WAYPOST_APPROVAL_PIN_FILE: file } });
}

/** Counts wrong PINs as if they were sent, because checking a PIN takes long. */
async function countAttempts({ path }: Folder, times: number, wrong: Attempt): Promise<void> {
  const file = join(path, "state.db");
  const sql = await openSqlite<StateTables>(file, { applicationId: 0x57415953 });
  const state = await openState(sql, { clock, random });
  for (let turn = 0; turn < times; turn += 1) await state.counters.take(wrong);
  await state.close();
}

type Attempt = Parameters<State["counters"]["take"]>[0];

test("if a PIN is configured, a one-time URL and each approval require the PIN", async () => {
  await using place = await createUsedFolder();
  await using asking = await startWithPin(place);
  const tab = browse(asking.places.url);
  const { pathname } = new URL(await readAddress(`console --data ${place.path}`));
  await tab.open(pathname);
  expect((await tab.submit({ pin: "111111" })).text).toContain("The PIN is wrong.");
  expect(readSession(tab)).toBe("");
  expect((await tab.submit({ pin: "135790" })).path).toBe("/");

  const { body } = await asking.call("POST", "/links", { body: { path: "spring" } });
  await tab.open(`/links/${body.id}`);
  const shown = await tab.post(`/links/${body.id}/delete`, {
    form_token: await readFormToken(tab),
  });
  expect(shown.text).toContain("5 tries are left.");
  const wrong = await tab.submit({ pin: "111111" });
  expect(wrong.text).toContain("The PIN is wrong.");
  expect(wrong.text).toContain("4 tries are left.");
  expect((await asking.call("GET", `/links/${body.id}`)).status).toBe(200);
  expect((await tab.submit({ pin: "135790" })).path).toBe("/links?done=deleted");
  expect((await asking.call("GET", `/links/${body.id}`)).status).toBe(404);

  const next = await asking.call("POST", "/links", { body: { path: "summer" } });
  const { id } = next.body;
  const last = await tab.post(`/links/${id}/delete`, { form_token: await readFormToken(tab) });
  const [, question = ""] = /name="question" value="([^"]+)"/.exec(last.text) ?? [];
  await countAttempts(place, 5, { pin_of_approval: question });
  expect((await tab.submit({ pin: "135790" })).text).toContain("try again in five minutes.");
  expect((await asking.call("GET", `/links/${id}`)).status).toBe(200);
});

test.each(["//evil.example", "/.//evil.example", "/..//evil.example", "https://evil.example/"])(
  "signing in never redirects to another site: %s",
  async (wanted) => {
    const tab = browse(serving.places.url);
    await tab.open(`/sign-in?next=${encodeURIComponent(wanted)}`);
    const { path, status } = await tab.submit({ key: serving.key });
    expect([path, status]).toEqual(["/", 200]);
  },
);

test("the console in read-only mode shows links and keys but offers no changes", async () => {
  await using place = await createUsedFolder();
  await using reading = await startServe(place.path, ["--mode", "read-only"]);
  const tab = await signIn(reading.key, reading);
  expect((await tab.open("/links")).text).toContain("No links yet.</p>");
  const { body } = await reading.call("POST", "/links", { body: { path: "spring" } });
  const { text } = await tab.open(`/links/${body.id}`);
  expect(text).toContain("/spring");
  expect(text).not.toMatch(/name="url"|Delete…/);
  const form_token = await readFormToken(tab);
  expect((await tab.post("/links/new", { form_token, path: "made" })).status).toBe(404);
  const keys = await tab.open("/keys");
  expect(keys.text).toContain("role owner, all scopes");
  expect(keys.text).not.toMatch(/\/keys\/new|Revoke/);
  const key = { form_token, once: "x", role: "owner", access: "full" };
  expect((await tab.post("/keys/new", key)).status).toBe(404);
  const { token } = await runJson(["keys", "create", "--master", "--data", place.path]);
  const [{ id }] = (await runJson(["projects", "list", "--data", place.path])).projects;
  const master = await signIn(token, reading);
  expect((await master.open(`/projects/${id}`)).text).not.toMatch(/>Save<|Delete…/);
  const settings = { form_token: await readFormToken(master), suspended: "on" };
  expect((await master.post(`/projects/${id}/settings`, settings)).status).toBe(404);
});

test("the sign-in page is not shown for a foreign Host header", async () => {
  const tab = browse(serving.places.url);
  const { port } = new URL(serving.places.url);
  for (const host of [`evil.example:${port}`, `127.0.0.1.evil.example:${port}`]) {
    const shown = await tab.open("/sign-in", { host });
    expect(shown.text).not.toContain('name="key"');
  }
});

test("over plain HTTP, the sign-in page is not shown at a public host name", async () => {
  await using place = await createUsedFolder();
  const words = ["--public-url", "http://links.example.com"];
  await using open = await startServe(place.path, words);
  const tab = browse(`http://127.0.0.1:${await readPort(open)}`);
  const shown = await tab.open("/sign-in", { host: "links.example.com" });
  expect([shown.status, shown.text.includes("HTTPS required")]).toEqual([403, true]);
});

test("at an https public URL, the cookies are Secure and have the __Host- prefix", async () => {
  await using place = await createUsedFolder();
  await using open = await startServe(place.path, ["--public-url", "https://links.example.com"]);
  const tab = browse(`http://127.0.0.1:${await readPort(open)}`);
  const host = "links.example.com";
  const shown = await tab.open("/sign-in", { host });
  expect(String(shown.headers["set-cookie"])).toMatch(
    /^__Host-waypost_visit=\S+; Path=\/; .*; Secure/,
  );
  expect(shown.text).not.toContain(place.path);
  const plain = await tab.submit({ key: open.key }, { host });
  expect(plain.status).toBe(403);
  await tab.open("/sign-in", { host });
  await tab.submit({ key: open.key }, { host, origin: "https://links.example.com" });
  expect(tab.cookies.has("__Host-waypost_session")).toBe(true);
  const start = await tab.open("/", { host });
  expect(start.text).toContain("Any client over HTTP");
  expect(start.text).not.toContain("waypost.js");
});

test("a gateway's console accepts the gateway token but not the remote server's key", async () => {
  await using place = await createUsedFolder();
  const { url } = serving.places;
  const env = { WAYPOST_API_KEY: serving.key };
  await using gateway = await startServe(place.path, ["--base-url", url], { env });
  const tab = browse(gateway.places.url);
  expect((await tab.open("/")).text).toContain("Gateway token");
  await tab.submit({ key: serving.key });
  expect(readSession(tab)).toBe("");
  expect((await tab.submit({ key: gateway.key })).path).toBe("/");
  const wrong = await tab.open("/", { host: "wrong.example" });
  expect(wrong.status).toBe(403);
  expect(wrong.text).toContain("Use the address that waypost serve prints.");
  expect(wrong.text).toContain("A proxy in front of Waypost must keep the Host header.");
});

test("WAYPOST_CONSOLE=off disables the console", async () => {
  await using place = await createUsedFolder();
  await using bare = await startServe(place.path, [], { env: { WAYPOST_CONSOLE: "off" } });
  const { status, text } = await browse(bare.places.url).open("/");
  expect([status, JSON.parse(text)]).toEqual([404, { error: expect.any(String) }]);
});

/** Returns the port the process listens on, which its public address does not contain. */
async function readPort({ places }: Serving): Promise<string> {
  const note = await readFile(join(dirname(places.key_file), "listener.json"), "utf8");
  return /"port":\s*(\d+)/.exec(note)?.[1] ?? "";
}
