import { expect, test } from "vitest";
import { type WebTab, callTool, readFormToken, signInAt } from "../support/console.ts";
import { createServed, runJson, type OwnServer } from "../support/command.ts";
import { waitUntil } from "../support/clock.ts";
import { openForAll } from "../support/open-for.ts";

/** The history in the console: its pages, and undoing a change. */

let served: OwnServer;
let tab: WebTab;

openForAll(createServed, async (opened) => {
  served = opened;
  tab = await signInAt(served.serving);
});

const ask = (name: string, args: object) => callTool(served.serving, name, args);

function readButtons(text: string) {
  const found = text.matchAll(/<button class="small"([^>]*)aria-label="Undo([^"]*)"/g);
  return [...found].map(([, attributes = "", label = ""]) => {
    const read = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(attributes)?.[1];
    return { label, change_id: read("value"), action: read("formaction") };
  });
}

async function press(label: string, at: string) {
  const { text } = await tab.open(at);
  const button = readButtons(text).find((each) => each.label.startsWith(label));
  expect(button, `${label} at ${at}`).toBeDefined();
  const back = /name="back" value="([^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const form_token = await readFormToken(tab);
  const { action = "/history/undo", change_id = "" } = button ?? {};
  return tab.post(action, { form_token, back, change_id });
}

test("the history is paginated and can be filtered by target and by kind of change", async () => {
  const first = await ask("create_link", { path: "first", name: "First" });
  for (let turn = 0; turn < 42; turn += 1) await ask("create_link", { path: `made-${turn}` });
  // More updates than this would need an approval.
  for (let turn = 0; turn < 8; turn += 1) {
    await ask("update_link", { id: "first", name: `Name ${turn}` });
  }
  const pages = await Promise.all([1, 2, 3, 4].map((page) => tab.open(`/history?page=${page}`)));
  const counts = pages.map(({ text }) => readButtons(text).length);
  expect(counts).toEqual([20, 20, 11, 11]);
  expect(pages.map(({ path }) => path).at(-1)).toBe("/history?page=3");
  expect(pages[0]?.text).toContain("Page 1 of 3");
  await ask("save_template", { body: "<h1>Ours</h1>{% store_buttons %}" });
  const pagesOnly = await tab.open("/history?kind=page_template");
  const labels = readButtons(pagesOnly.text).map(({ label }) => label);
  expect(labels).toEqual([": Saved page template"]);
  const ofFirst = await tab.open("/history?target=first&kind=link");
  expect(readButtons(ofFirst.text)).toHaveLength(9);
  expect((await tab.open("/history?target=nothing")).text).toContain("No changes yet.");
  const { text } = await tab.open(`/links/${first.link.id}`);
  expect(readButtons(text)).toHaveLength(6);
  expect(text).toContain(`href="/history?target=${first.link.id}"`);
  expect((await tab.open("/")).text).toContain('href="/history"');
});

test("undoing a change returns to the page on which Undo was pressed", async () => {
  await ask("update_link", { id: "first", name: "Here" });
  const { link } = await ask("get_link", { id: "first" });
  const at = `/links/${link.id}?from=sort%3Dname`;
  expect((await press(": Changed", at)).path).toBe(`${at}&done=undone`);
  const onward = await press(": Created", "/history?kind=link&page=2");
  expect(onward.path).toBe("/history/undo");
  expect(onward.text).toContain('href="/history?kind=link&amp;page=2"');
  expect((await tab.submit({})).path).toBe("/history?kind=link&page=2&done=undone");
  await ask("update_link", { id: "first", name: "Again" });
  const back = await press(": Changed", "/history?target=first&kind=link");
  expect(back.path).toBe("/history?target=first&kind=link&done=undone");
  expect(back.text).toContain("Undone.");
  await ask("update_link", { id: "first", name: "Again and again" });
  expect((await tab.open("/?done=constructor")).text).not.toContain("native code");
  const { text } = await tab.open("/?done=undone");
  const [{ change_id = "" } = {}] = readButtons(text);
  expect(/name="back" value="([^"]+)"/.exec(text)?.[1]).toBe("/");
  for (const elsewhere of ["https://evil.example/", "//evil.example", "/\\evil.example", "x://"]) {
    await ask("update_link", { id: "first", name: elsewhere });
    const shown = await tab.open("/history?kind=link");
    const id = readButtons(shown.text)[0]?.change_id ?? change_id;
    const form = { form_token: await readFormToken(tab), back: elsewhere, change_id: id };
    expect((await tab.post("/history/undo", form)).path).toMatch(/^\/history(\/undo)?(\?|$)/);
  }
});

test("every kind of change can be undone, or the history shows why not", async () => {
  await ask("save_template", { body: "<h1>Other</h1>{% store_buttons %}" });
  expect((await press(": Saved", "/history?kind=page_template")).path).toContain("done=undone");
  const rows = [{ path: "by-job", name: "By job" }];
  const { plan } = await ask("plan_links", { operation: "upsert", rows });
  await tab.open(`/plans/${plan.id}`);
  const { path: job } = await tab.submit({});
  await waitUntil(async () => />\s*Done\s*</.test((await tab.open(job)).text));
  expect((await press(" the job", "/history?kind=job")).path).toMatch(/^\/plans\//);
  const data = ["--data", served.folder.path];
  const { id } = await runJson(["keys", "create", "--scopes", "links.show", ...data]);
  expect(id).toBeDefined();
  const { text } = await tab.open("/history?kind=api_key");
  expect(readButtons(text)).toEqual([]);
  expect(text).toContain("This cannot be undone. Create and revoke keys");
  expect(text).toMatch(
    /Created <a[^>]*><bdi>API key …[\da-f]{8}<|Created <bdi>API key …[\da-f]{8}</,
  );
  await ask("update_link", { id: "first", name: "Twice" });
  const { text: before } = await tab.open("/history?kind=link");
  const [{ change_id = "" } = {}] = readButtons(before);
  const form = { form_token: await readFormToken(tab), back: "/history?kind=link", change_id };
  expect((await tab.post("/history/undo", form)).status).toBe(200);
  const again = await tab.post("/history/undo", { ...form, form_token: await readFormToken(tab) });
  expect(again.status).toBe(422);
  expect(again.text).toContain("It was already undone");
  expect(again.text).toContain('href="/history?kind=link"');
  expect((await tab.open("/history")).text).toContain(">undone<");
});
