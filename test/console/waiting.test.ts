import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  browse,
  type Browsing,
  callTool,
  readFormToken,
  signInAt,
  hostile,
} from "../support/console.ts";
import {
  decideInTab,
  launchBrowser,
  openTab,
  openConsole,
  pressOnto,
  lookAtPage,
} from "../support/browser.ts";
import {
  createFolder,
  runJson,
  startServe,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { modernCall, post } from "../support/mcp-http.ts";

/** Approvals of assistants, answered in the console. */

let browser: Browser;
let folder: Folder;
let serving: Serving;

beforeAll(async () => {
  folder = await createFolder();
  const pin = join(dirname(folder.path), "pin");
  await writeFile(pin, "135790\n", { mode: 0o600 });
  const env = { WAYPOST_APPROVAL_PIN_FILE: pin };
  [browser, serving] = await Promise.all([launchBrowser(), startServe(folder.path, [], { env })]);
});
afterAll(async () => {
  await browser.close();
  await serving[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** Lets an assistant ask to delete a link, and returns the addresses of the approval. */
async function askToDelete(path: string) {
  await serving.call("POST", "/links", { body: { path, name: hostile } });
  const { error } = await callTool(serving, "delete_link", { id: path });
  expect(error.code).toBe("approval_required");
  const url: string = error.approval.url;
  return { url, here: `/waiting/${url.split("/").at(-1)}` };
}

function readHidden(text: string, name: string): string {
  return new RegExp(`name="${name}"\\s+value="([^"]+)"`).exec(text)?.[1] ?? "";
}

async function signIn(key = serving.key): Promise<Browsing> {
  const hand = browse(serving.places.url);
  await hand.open("/sign-in");
  await hand.submit({ key });
  return hand;
}

test("an approval on the start page can be answered with the keyboard and the PIN", async () => {
  await askToDelete("doomed");
  const { page, complaints } = await openConsole(browser, serving);
  await pressOnto(page, /^Review$/);
  await page.getByRole("heading", { name: /^Delete the link/ }).waitFor();
  await lookAtPage(page, "waiting");
  await page.getByLabel("PIN").focus();
  await page.keyboard.type("135790");
  await pressOnto(page, /^Delete/);
  await page.getByText("You approved this").waitFor();
  await lookAtPage(page, "waiting-approved");
  const { deleted } = await callTool(serving, "delete_link", { id: "doomed" });
  expect(deleted.path).toBe("doomed");
  expect(complaints).toEqual([]);
});

test("a wrong PIN approves nothing, and declining needs no PIN", async () => {
  const { here } = await askToDelete("kept");
  const hand = await signIn();
  await hand.open(here);
  const wrong = await hand.submit({ decision: "approved", pin: "111111" });
  expect(wrong.text).toMatch(/The PIN is wrong\.[^]*4 tries are left\./);
  const declined = await hand.submit({ decision: "declined" });
  expect(declined.text).toContain("You declined this");
  const { error } = await callTool(serving, "delete_link", { id: "kept" });
  expect(error.code).toBe("approval_declined");
});

test("an approval that was answered on its own page cannot be answered again", async () => {
  const { url, here } = await askToDelete("elsewhere");
  const hand = await signIn();
  await hand.open(here);
  await decideInTab(await openTab(browser), url, "decline");
  const late = await hand.submit({ decision: "approved", pin: "135790" });
  expect(late.text).toContain("You declined this, here or on the approval page.");
});

test("an assistant's approval and a user's confirmation of the same act are separate", async () => {
  const { body } = await serving.call("POST", "/links", { body: { path: "both" } });
  // The same request as the console's own.
  const ask = () => callTool(serving, "delete_link", { id: body.id });
  const [{ error }, hand] = await Promise.all([ask(), signIn()]);
  const byAssistant: string = error.approval.url.split("/").at(-1);
  const shown = await hand.open(`/links/${body.id}`);
  expect(shown.text).toContain("Delete…");
  const form_token = readHidden(shown.text, "form_token");
  const press = (fields = {}) => hand.post(`/links/${body.id}/delete`, { form_token, ...fields });
  const byHand = readHidden((await press()).text, "question");
  expect(byHand).not.toBe(byAssistant);

  // Declining the assistant's request does not affect the user's confirmation.
  await hand.post(`/waiting/${byAssistant}`, { form_token, decision: "declined" });
  expect(readHidden((await press()).text, "question")).toBe(byHand);
  expect((await ask()).error.code).toBe("approval_declined");

  // Neither can be answered in place of the other.
  const next: string = (await ask()).error.approval.url.split("/").at(-1);
  const here = await hand.post(`/waiting/${byHand}`, { form_token, decision: "declined" });
  expect(here.status).toBe(404);
  const page = await fetch(error.approval.url.replace(byAssistant, byHand));
  expect(page.status).toBe(404);
  const foreign = await press({ question: next, pin: "135790" });
  expect(readHidden(foreign.text, "question")).toBe(byHand);
  expect((await ask()).error.approval.url).toContain(next);
  await hand.post(`/waiting/${next}`, { form_token, decision: "approved", pin: "135790" });
  expect(readHidden((await press()).text, "question")).toBe(byHand);
  expect((await press({ question: byHand, pin: "135790" })).path).toBe("/links?done=deleted");
  expect((await ask()).error.code).toBe("not_found");
});

test("an assistant that calls itself the console still needs an approval", async () => {
  await serving.call("POST", "/links", { body: { path: "masked" } });
  const call = modernCall(serving.key, 1, "delete_link", { id: "masked" });
  const body = call.body.replace('"name":"raw"', '"name":"Waypost console"');
  await post(serving.places.mcp, { ...call, body });
  const hand = await signIn();
  expect((await hand.open("/")).text).toContain("Waypost console");
});

test.each([
  ["phone", { width: 390, height: 844 }],
  ["desktop", { width: 1280, height: 800 }],
])("every page shows the number of waiting approvals in a %s window", async (name, viewport) => {
  const { token: key } = await runJson(["keys", "create", "--data", folder.path]);
  const own = { ...serving, key };
  const { page, complaints } = await openConsole(browser, own, { viewport });
  const count = page.locator("#waits").getByRole("link");
  await page.goto(`${serving.places.url}/links`);
  expect([await page.title(), await count.count()]).toEqual(["Links – Waypost", 0]);

  const pages: string[] = [];
  for (const path of [`first-${name}`, `second-${name}`]) {
    await serving.call("POST", "/links", { body: { path } });
    const { error } = await callTool(own, "delete_link", { id: path });
    pages.push(`/waiting/${error.approval.url.split("/").at(-1)}`);
  }
  for (const path of ["/links", "/links/new", "/history", "/apps", "/nowhere", pages[0] ?? ""]) {
    await page.goto(serving.places.url + path);
    expect(await page.title(), path).toMatch(/^\(2\) .* – Waypost$/);
    expect(await count.innerText(), path).toMatch(/^2 waiting/);
    expect(await count.isVisible(), path).toBe(true);
  }
  await page.goto(`${serving.places.url}/links`);
  expect(await page.title()).toBe("(2) Links – Waypost");
  await lookAtPage(page, `count ${name}`);
  await page.setViewportSize(viewport);
  await count.click();
  await page.getByRole("heading", { name: "Waiting for you" }).waitFor();

  // The start page refreshes itself and shows the new count.
  const hand = await signIn(key);
  await hand.open(pages[0] ?? "");
  await hand.submit({ decision: "declined" });
  await page.locator("#waits", { hasText: "1 waiting" }).waitFor();
  expect(await page.title()).toBe("(1) Start – Waypost");
  expect((await hand.open("/links")).text).toContain("<title>(1) Links – Waypost</title>");
  const other = await signIn();
  expect((await other.open(pages[1] ?? "")).status).toBe(404);
  expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
});

test("a confirmation in the console is not counted as a waiting approval", async () => {
  const { token: key } = await runJson(["keys", "create", "--data", folder.path]);
  const { body } = await serving.call("POST", "/links", { body: { path: "asked-by-hand" } });
  const hand = await signIn(key);
  const form_token = await readFormToken(hand);
  const asked = await hand.post(`/links/${body.id}/delete`, { form_token });
  expect(asked.text).toContain('name="question"');
  expect((await hand.open("/links")).text).toContain("<title>Links – Waypost</title>");
});

test("approvals of another key are not counted as waiting", async () => {
  const { token: key } = await runJson(["keys", "create", "--data", folder.path]);
  await askToDelete("of-another-key");
  expect((await (await signIn(key)).open("/links")).text).toContain(
    "<title>Links – Waypost</title>",
  );
});

test("an approval shows the assistant, the project, the key and the time", async () => {
  await serving.call("POST", "/links", { body: { path: "told" } });
  const call = modernCall(serving.key, 1, "delete_link", { id: "told" });
  const body = call.body.replace('"name":"raw"', '"name":"Waypost. Approve: \\u202e<b>"');
  const { text } = await post(serving.places.mcp, { ...call, body });
  const [, id = ""] = /approve\/([\w-]+)/.exec(text) ?? [];
  const lead = /Your assistant &quot;Waypost\. Approve: \\+u\{202e\}&lt;b&gt;&quot; is asking/;
  const origin = /For default\.localhost:\d+ · API key …?[\w-]+ · asked \S+/;
  const hand = await signIn();
  for (const path of ["/", `/waiting/${id}`]) {
    const shown = await hand.open(path);
    expect(shown.text).toMatch(lead);
    expect(shown.text).toMatch(origin);
    expect(shown.text).toMatch(/Answer within 5 minutes\. Without an answer, nothing happens\./);
  }
});

test("the log records the address from which an approval was answered", async () => {
  await using place = await createFolder();
  await using own = await startServe(place.path);
  const { body } = await own.call("POST", "/links", { body: { path: "logged" } });
  const { error } = await callTool(own, "delete_link", { id: "logged" });
  const id: string = error.approval.url.split("/").at(-1);
  const hand = await signInAt(own);
  const form_token = await readFormToken(hand);
  for (const decision of ["declined", "approved"]) {
    await hand.post(`/waiting/${id}`, { form_token, decision });
  }
  await hand.post("/waiting/canary-3f9a", { form_token, decision: "approved" });
  const asked = await hand.post(`/links/${body.id}/delete`, { form_token });
  await hand.submit({});
  const { stderr } = await own.stop();
  const lines = stderr.split("\n").filter((line) => line.includes('"console '));
  const address = "127.0.0.1";
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { address, msg: "console answered", decision: "declined" },
    { address, msg: "console refused an answer", reason: "This was already answered." },
    { address, msg: "console refused an answer", reason: "This approval has expired." },
    { address, msg: "console answered", decision: "approved" },
  ]);
  for (const secret of [id, "canary", readHidden(asked.text, "question")]) {
    expect(stderr).not.toContain(secret);
  }
});

test("another key can neither see nor answer an approval", async () => {
  const { here } = await askToDelete("others");
  const stranger = await signIn((await runJson(["keys", "create", "--data", folder.path])).token);
  const { text } = await stranger.open("/");
  expect(text).not.toContain("Waiting for you");
  const form_token = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? "";
  expect((await stranger.open(here)).status).toBe(404);
  await stranger.post(here, { form_token, decision: "approved", pin: "135790" });
  const hand = await signIn();
  expect((await hand.open(here)).text).toContain('value="approved"');
});

test("the page of a plan asks for the PIN and counts wrong ones", async () => {
  await serving.call("POST", "/links", { body: { path: "planned", name: "Before" } });
  const rows = [{ path: "planned", name: "After" }];
  const { plan } = await callTool(serving, "plan_links", { operation: "upsert", rows });
  const hand = await signIn();
  const shown = await hand.open(`/plans/${plan.id}`);
  expect(shown.text).toContain('name="pin"');
  const wrong = await hand.submit({ pin: "111111" });
  expect(wrong.text).toMatch(/The PIN is wrong\.[^]*4 tries are left\./);
  const done = await hand.submit({ pin: "135790" });
  expect(done.path).toMatch(/^\/jobs\//);
});
