import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openConsole, pressOnto, tabTo, lookAtPage } from "../support/browser.ts";
import {
  createServed,
  createUsedFolder,
  runJson,
  startServe,
  untilSeen,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { readFormToken, signInAt } from "../support/console.ts";
import { openForAll } from "../support/open-for.ts";

/** Keys in the console: created within the rights of their creator, shown once, and revoked. */

let folder: Folder;
let serving: Serving;

openForAll(
  () => createServed(["--log", "debug"]),
  (opened) => ({ folder, serving } = opened),
);

const inFolder = (...words: readonly string[]) => [...words, "--data", folder.path];
const status = async (key: string, path = "/links") =>
  (await serving.call("GET", path, { key })).status;
const listKeys = async () => (await runJson(inFolder("keys", "list"))).keys;

async function openForm(tab: Awaited<ReturnType<typeof signInAt>>) {
  const { text } = await tab.open("/keys/new");
  const once = /name="once" value="([^"]+)"/.exec(text)?.[1] ?? "";
  const form_token = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? "";
  return { once, form_token, role: "owner", access: "full" };
}

function readToken(text: string): string {
  return /waypost_\w{40}/.exec(text)?.[0] ?? "";
}

test("a key can be created, shown once and revoked with only the keyboard", async () => {
  const { page, complaints } = await openConsole(serving);
  await pressOnto(page, /^Keys$/);
  await page.waitForURL("**/keys");
  await pressOnto(page, /^New key$/);
  await tabTo(page, /^Access$/);
  await page.keyboard.type("Only");
  await tabTo(page, /^list$/);
  await page.keyboard.press("Space");
  await lookAtPage(page, "new-key-limited");
  await pressOnto(page, /^Create key$/);
  const token = await page.locator("#token").innerText();
  expect(token).toMatch(/^waypost_\w{40}$/);
  expect(page.url()).toMatch(/\/keys\/new$/);
  await lookAtPage(page, "key-shown");
  expect([await status(token), await status(token, "/ios_apps")]).toEqual([200, 401]);
  // A browser sends this event before it caches the page for the Back button.
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
  expect(await page.content()).not.toContain(token);

  await pressOnto(page, /^I have copied it$/);
  await page.getByText("manager, links.index").waitFor();
  const { id } = (await listKeys()).at(-1);
  await pressOnto(page, new RegExp(`^Revoke …${id.slice(-8)}…$`));
  await page.getByRole("heading", { name: `Revoke the API key …${id.slice(-8)}` }).waitFor();
  expect(await status(token)).toBe(200);
  await lookAtPage(page, "revoke");
  await pressOnto(page, /^Revoke key$/);
  await page.getByText("Key revoked.").waitFor();
  await expect.poll(() => status(token)).toBe(401);
  expect(complaints).toEqual([]);
});

test("submitting the form for a new key several times creates only one key", async () => {
  const tab = await signInAt(serving);
  const before = (await listKeys()).length;
  const form = await openForm(tab);
  const sent = await Promise.all([1, 2, 3].map(() => tab.post("/keys/new", form)));
  sent.push(await tab.post("/keys/new", form));
  const made = sent.filter(({ text }) => readToken(text) !== "");
  expect(made.map((shown) => [shown.status, shown.path])).toEqual([[200, "/keys/new"]]);
  expect(made[0]?.headers["cache-control"]).toBe("no-store");
  const others = sent.filter((shown) => !made.includes(shown));
  expect(others.map((shown) => shown.status)).toEqual([409, 409, 409]);
  expect(others[0]?.text).toContain("has already created a key");
  expect(await listKeys()).toHaveLength(before + 1);
  const { id } = (await listKeys()).at(-1);
  const { form_token } = form;
  await tab.post(`/keys/${id}/revoke`, { form_token });
  await tab.submit({});
  // The form creates none after the key was revoked either.
  expect((await tab.post("/keys/new", form)).status).toBe(409);
  expect(await listKeys()).toHaveLength(before);
});

describe("the keys page of the console", () => {
  test.each([
    ["a viewer", ["--role", "viewer"]],
    ["a manager", ["--role", "manager"]],
    ["an owner with scopes", ["--scopes", "links.index,links.create"]],
    ["a user with a master key", ["--master"]],
  ])("is hidden from %s", async (_, words) => {
    const { token } = await runJson(inFolder("keys", "create", ...words));
    const tab = await signInAt(serving, token);
    const form_token = await readFormToken(tab);
    const before = await listKeys();
    expect((await tab.open("/")).text).not.toContain('href="/keys"');
    const form = { form_token, once: "x", role: "viewer", access: "full" };
    for (const path of ["/keys", "/keys/new", `/keys/${before[0].id}/revoke`]) {
      expect((await tab.open(path)).status).toBe(404);
      expect((await tab.post(path, form)).status).toBe(404);
    }
    expect((await listKeys()).map(({ id }: { id: string }) => id)).toEqual(
      before.map(({ id }: { id: string }) => id),
    );
  });

  test("creates no key if the user's own key was revoked after the form was opened", async () => {
    const maker = await runJson(inFolder("keys", "create"));
    const tab = await signInAt(serving, maker.token);
    const form = await openForm(tab);
    const other = await signInAt(serving);
    await other.post(`/keys/${maker.id}/revoke`, { form_token: await readFormToken(other) });
    await other.submit({});
    const before = (await listKeys()).length;
    expect(readToken((await tab.post("/keys/new", form)).text)).toBe("");
    expect(await listKeys()).toHaveLength(before);
  });
});

test("a client key is created once per form and revoked only after a confirmation", async () => {
  const tab = await signInAt(serving);
  const { text } = await tab.open("/keys");
  const form_token = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? "";
  const once = /name="once" value="([^"]+)"/.exec(text)?.[1] ?? "";
  const made = await tab.post("/keys/client", { form_token, once });
  const token = /waypost_client_\w{40}/.exec(made.text)?.[0] ?? "";
  const ask = async () =>
    (await serving.call("POST", "/links/attribute", { key: token, body: { url: "x" } })).status;
  expect([await ask(), await status(token)]).toEqual([200, 401]);
  const shown = { accept: "text/html", authorization: `Bearer ${token}` };
  const page = await fetch(new URL("/keys", serving.places.url), {
    headers: shown,
    redirect: "manual",
  });
  expect([page.status, await page.text()]).toEqual([
    401,
    expect.stringContaining("Key not accepted"),
  ]);
  expect((await tab.post("/keys/client", { form_token, once })).status).toBe(409);
  const { client_keys } = await runJson(inFolder("keys", "list"));
  expect(client_keys).toHaveLength(1);
  const [{ id }] = client_keys;
  expect((await tab.open("/keys")).text).toContain(id.slice(-8));
  const asked = await tab.post(`/keys/client/${id}/revoke`, { form_token });
  expect([asked.text.includes("Revoke the client key"), await ask()]).toEqual([true, 200]);
  await tab.submit({});
  expect(await ask()).toBe(401);
});

test("an invalid role or scope of a new key is reported next to its field", async () => {
  const tab = await signInAt(serving);
  const form = await openForm(tab);
  const before = (await listKeys()).length;
  const refuse = async (typed: object) => {
    const shown = await tab.post("/keys/new", { ...form, ...typed });
    expect([shown.status, readToken(shown.text)]).toEqual([422, ""]);
    return shown.text;
  };
  expect(await refuse({ access: "limited" })).toContain("Scopes can&#39;t be blank");
  expect(await refuse({ access: "limited", scope: "links.fly" })).toContain("Scopes is invalid");
  expect(await refuse({ scope: "links.index" })).toContain("You selected scopes");
  expect(await refuse({ role: "king" })).toContain("Role must be one of viewer, manager, owner");
  expect(await listKeys()).toHaveLength(before);
});

test("the console neither lists nor revokes a key of another project", async () => {
  const words = ["--name", "Other", "--subdomain", "other"];
  const other = await runJson(inFolder("projects", "create", ...words));
  const key = await runJson(inFolder("keys", "create", "--project", other.id));
  const tab = await signInAt(serving);
  expect((await tab.open("/keys")).text).not.toContain(key.id.slice(-8));
  const form_token = await readFormToken(tab);
  for (const id of [key.id, "nothing", "%E0%A4%A", "a%2Fb"]) {
    const shown = await tab.post(`/keys/${id}/revoke`, { form_token });
    expect([shown.status, shown.text.includes("This project has no such key")]).toEqual([
      422,
      true,
    ]);
  }
  expect(await status(key.token)).toBe(200);
});

test("a user cannot confirm an action that was requested with another key", async () => {
  const { id, token } = await runJson(inFolder("keys", "create", "--project", "other"));
  const [tab, other] = [await signInAt(serving), await signInAt(serving, token)];
  const path = `/keys/${id}/revoke`;
  const asked = await other.post(path, { form_token: await readFormToken(other) });
  const question = /name="question" value="([^"]+)"/.exec(asked.text)?.[1] ?? "";
  expect(question).not.toBe("");
  await tab.post(path, { form_token: await readFormToken(tab), question });
  const again = await other.post(path, { form_token: await readFormToken(other) });
  expect(again.text).toContain(`value="${question}"`);
  expect(await status(token)).toBe(200);
});

test("revoking your own key shows a warning and signs you out", async () => {
  const key = await runJson(inFolder("keys", "create", "--project", "default"));
  const [tab, other] = [await signInAt(serving, key.token), await signInAt(serving, key.token)];
  const form_token = await readFormToken(tab);
  const asked = await tab.post(`/keys/${key.id}/revoke`, { form_token });
  expect(asked.text).toContain("you are signed in with this key");
  expect((await other.open("/")).path).toBe("/");
  expect((await tab.submit({})).text).toContain("You were signed in with this key");
  expect((await tab.open("/")).path).toBe("/sign-in");
  expect((await other.open("/")).path).toBe("/sign-in");
});

test("the keys page shows each key's last use, and which key this machine uses", async () => {
  const key = await runJson(inFolder("keys", "create", "--project", "default"));
  const tab = await signInAt(serving);
  const find = async (id: string) =>
    (await listKeys()).find((each: { id: string }) => each.id === id);
  expect((await find(key.id)).last_used_at).toBeNull();
  expect((await tab.open("/keys")).text).toContain("never");
  const from = Date.now();
  expect(await status(key.token)).toBe(200);
  await expect
    .poll(async () => Date.parse((await find(key.id)).last_used_at))
    .toBeGreaterThan(from - 1);
  const [own] = await listKeys();
  const asked = await tab.post(`/keys/${own.id}/revoke`, { form_token: await readFormToken(tab) });
  expect(asked.text).toContain("Waypost on this machine uses this key");
});

test("creating and revoking a key require the PIN if a PIN is configured", async () => {
  await using place = await createUsedFolder();
  const file = join(dirname(place.path), "pin");
  await writeFile(file, "135790", { mode: 0o600 });
  await using asking = await startServe(place.path, [], {
    env: { WAYPOST_APPROVAL_PIN_FILE: file },
  });
  const tab = await signInAt(asking);
  const form = { ...(await openForm(tab)), role: "viewer" };
  const shown = await tab.post("/keys/new", form);
  expect(shown.text).toContain("Create an API key");
  expect((await tab.submit({ pin: "111111" })).text).toContain("The PIN is wrong.");
  const made = await tab.submit({ pin: "135790" });
  expect(readToken(made.text)).toMatch(/^waypost_/);
  const { keys } = await runJson(["keys", "list", "--data", place.path]);
  const { id, role } = keys.at(-1);
  expect(role).toBe("viewer");
  await tab.post(`/keys/${id}/revoke`, { form_token: form.form_token });
  expect((await tab.submit({ pin: "" })).text).toContain("Type the PIN to approve.");
  expect((await tab.submit({ pin: "135790" })).path).toBe("/keys?done=revoked");
});

test("a new key's token appears in neither the history, the log nor the data files", async () => {
  const tab = await signInAt(serving);
  const { text } = await tab.post("/keys/new", await openForm(tab));
  const token = readToken(text);
  expect(token).not.toBe("");
  await untilSeen();
  expect((await tab.open("/")).text).toContain("API key");
  const names = readdirSync(folder.path).filter((name) => name !== "owner.key");
  const bytes = names.map((name) => readFileSync(join(folder.path, name), "latin1"));
  const { stdout, stderr } = await serving.stop();
  for (const kept of [...bytes, stdout, stderr, (await listKeys()).join()]) {
    expect(kept).not.toContain(token);
  }
});
