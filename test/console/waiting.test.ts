import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import {
  browse,
  type ConsoleResponse,
  callTool,
  readFormToken,
  signInAt,
  hostile,
} from "../support/console.ts";
import { openConsole, pressOnto, lookAtPage } from "../support/browser.ts";
import {
  createUsedFolder,
  createServed,
  runJson,
  startServe,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { modernCall, post } from "../support/mcp-http.ts";
import { openForAll } from "../support/open-for.ts";

/** Approvals of assistants, which the console lists. */

let folder: Folder;
let serving: Serving;

openForAll(
  async () => {
    const own = await createUsedFolder();
    const pin = join(dirname(own.path), "pin");
    await writeFile(pin, "135790\n", { mode: 0o600 });
    return createServed([], { env: { WAYPOST_APPROVAL_PIN_FILE: pin } }, own);
  },
  (opened) => ({ folder, serving } = opened),
);

async function askToDelete(path: string): Promise<void> {
  await serving.call("POST", "/links", { body: { path, name: hostile } });
  const { error } = await callTool(serving, "delete_link", { id: path });
  expect(error.code).toBe("approval_required");
}

async function answer(url: string, decision: "approve" | "decline"): Promise<ConsoleResponse> {
  const tab = browse(serving.places.url);
  await tab.open(new URL(url).pathname);
  return tab.submit({ decision, pin: "135790" });
}

function readHidden(text: string, name: string): string {
  return new RegExp(`name="${name}"\\s+value="([^"]+)"`).exec(text)?.[1] ?? "";
}

test("a request on the start page can be approved with only the keyboard and the PIN", async () => {
  await askToDelete("doomed");
  const { page, complaints } = await openConsole(serving);
  await pressOnto(page, /^Review$/);
  await page.getByRole("heading", { name: /^Delete the link/ }).waitFor();
  await lookAtPage(page, "waiting");
  await page.getByLabel("PIN").focus();
  await page.keyboard.type("135790");
  await pressOnto(page, /^Delete/);
  await page.getByRole("heading", { name: "Approved" }).waitFor();
  const { deleted } = await callTool(serving, "delete_link", { id: "doomed" });
  expect(deleted.path).toBe("doomed");
  expect(complaints).toEqual([]);
});

test("approving an assistant's request does not confirm a user's identical action", async () => {
  const { body } = await serving.call("POST", "/links", { body: { path: "both" } });
  // The same request as the console's own.
  const ask = () => callTool(serving, "delete_link", { id: body.id });
  const [{ error }, hand] = await Promise.all([ask(), signInAt(serving)]);
  const byAssistant: string = error.approval.url.split("/").at(-1);
  const shown = await hand.open(`/links/${body.id}`);
  expect(shown.text).toContain("Delete…");
  const form_token = readHidden(shown.text, "form_token");
  const press = (fields = {}) => hand.post(`/links/${body.id}/delete`, { form_token, ...fields });
  const byHand = readHidden((await press()).text, "question");
  expect(byHand).not.toBe(byAssistant);

  await answer(error.approval.url, "decline");
  expect(readHidden((await press()).text, "question")).toBe(byHand);
  expect((await ask()).error.code).toBe("approval_declined");

  const again: string = (await ask()).error.approval.url;
  const next = again.split("/").at(-1) ?? "";
  const page = await fetch(error.approval.url.replace(byAssistant, byHand));
  expect(page.status).toBe(404);
  const foreign = await press({ question: next, pin: "135790" });
  expect(readHidden(foreign.text, "question")).toBe(byHand);
  expect((await ask()).error.approval.url).toContain(next);
  await answer(again, "approve");
  expect(readHidden((await press()).text, "question")).toBe(byHand);
  expect((await press({ question: byHand, pin: "135790" })).path).toBe("/links?done=deleted");
  expect((await ask()).error.code).toBe("not_found");
});

test("an assistant that claims to be the console still needs an approval", async () => {
  await serving.call("POST", "/links", { body: { path: "masked" } });
  const call = modernCall(serving.key, 1, "delete_link", { id: "masked" });
  const body = call.body.replace('"name":"raw"', '"name":"Waypost console"');
  await post(serving.places.mcp, { ...call, body });
  const hand = await signInAt(serving);
  expect((await hand.open("/")).text).toContain("Waypost console");
});

test("every console page on a phone shows the number of waiting approvals", async () => {
  const viewport = { width: 390, height: 844 };
  const { token: key } = await runJson(["keys", "create", "--data", folder.path]);
  const own = { ...serving, key };
  const { page, complaints } = await openConsole(own, { viewport });
  const count = page.locator("#waits").getByRole("link");
  await page.goto(`${serving.places.url}/links`);
  expect([await page.title(), await count.count()]).toEqual(["Links – Waypost", 0]);

  const pages: string[] = [];
  for (const path of ["first", "second"]) {
    await serving.call("POST", "/links", { body: { path } });
    const { error } = await callTool(own, "delete_link", { id: path });
    pages.push(error.approval.url);
  }
  for (const path of ["/links", "/links/new", "/history", "/apps", "/nowhere"]) {
    await page.goto(serving.places.url + path);
    expect(await page.title(), path).toMatch(/^\(2\) .* – Waypost$/);
    expect(await count.innerText(), path).toMatch(/^2 waiting/);
    expect(await count.isVisible(), path).toBe(true);
  }
  await page.goto(`${serving.places.url}/links`);
  expect(await page.title()).toBe("(2) Links – Waypost");
  await lookAtPage(page, "count");
  await page.setViewportSize(viewport);
  await count.click();
  await page.getByRole("heading", { name: "Waiting for you" }).waitFor();

  await answer(pages[0] ?? "", "decline");
  await page.locator("#waits", { hasText: "1 waiting" }).waitFor();
  expect(await page.title()).toBe("(1) Start – Waypost");
  const hand = await signInAt(serving, key);
  expect((await hand.open("/links")).text).toContain("<title>(1) Links – Waypost</title>");
  expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
});

test("a user's own confirmation in the console is not counted as a waiting approval", async () => {
  const { token: key } = await runJson(["keys", "create", "--data", folder.path]);
  const { body } = await serving.call("POST", "/links", { body: { path: "asked-by-hand" } });
  const hand = await signInAt(serving, key);
  const form_token = await readFormToken(hand);
  const asked = await hand.post(`/links/${body.id}/delete`, { form_token });
  expect(asked.text).toContain('name="question"');
  expect((await hand.open("/links")).text).toContain("<title>Links – Waypost</title>");
});

test("approval requests made with another key are neither shown nor counted", async () => {
  const { token: key } = await runJson(["keys", "create", "--data", folder.path]);
  await askToDelete("of-another-key");
  const other = await signInAt(serving, key);
  expect((await other.open("/links")).text).toContain("<title>Links – Waypost</title>");
  expect((await other.open("/")).text).not.toMatch(/Waiting for you|\/approve\//);
});

test("the start page shows an approval request's assistant, project, key and time", async () => {
  await serving.call("POST", "/links", { body: { path: "told" } });
  const call = modernCall(serving.key, 1, "delete_link", { id: "told" });
  const body = call.body.replace('"name":"raw"', '"name":"Waypost. Approve: \\u202e<b>"');
  await post(serving.places.mcp, { ...call, body });
  const lead = /Your assistant &quot;Waypost\. Approve: \\+u\{202e\}&lt;b&gt;&quot; is asking/;
  const origin = /For default\.localhost:\d+ · API key …?[\w-]+ · asked \S+/;
  const hand = await signInAt(serving);
  const { text } = await hand.open("/");
  expect(text).toMatch(lead);
  expect(text).toMatch(origin);
  expect(text).toMatch(/Answer within 5 minutes\. Without an answer, nothing happens\./);
});

test("the log contains the IP address from which a confirmation was answered", async () => {
  await using place = await createUsedFolder();
  await using own = await startServe(place.path);
  const { body } = await own.call("POST", "/links", { body: { path: "logged" } });
  const hand = await signInAt(own);
  const form_token = await readFormToken(hand);
  const asked = await hand.post(`/links/${body.id}/delete`, {
    form_token,
    question: "canary-3f9a",
  });
  await hand.submit({});
  const { stderr } = await own.stop();
  const lines = stderr.split("\n").filter((line) => line.includes('"console '));
  const address = "127.0.0.1";
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { address, msg: "console refused an answer", reason: "This approval has expired." },
    { address, msg: "console answered", decision: "approved" },
  ]);
  for (const secret of ["canary", readHidden(asked.text, "question")]) {
    expect(stderr).not.toContain(secret);
  }
});

test("a plan's page requires the PIN to apply the plan and counts wrong PINs", async () => {
  await serving.call("POST", "/links", { body: { path: "planned", name: "Before" } });
  const rows = [{ path: "planned", name: "After" }];
  const { plan } = await callTool(serving, "plan_links", { operation: "upsert", rows });
  const hand = await signInAt(serving);
  const shown = await hand.open(`/plans/${plan.id}`);
  expect(shown.text).toContain('name="pin"');
  const wrong = await hand.submit({ pin: "111111" });
  expect(wrong.text).toMatch(/The PIN is wrong\.[^]*4 tries are left\./);
  const done = await hand.submit({ pin: "135790" });
  expect(done.path).toMatch(/^\/jobs\//);
});
