import { expect, test } from "vitest";
import { type WebTab, callTool, readFormToken, signInAt } from "../support/console.ts";
import { createServed, type OwnServer } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";
import { createScribbler } from "./fill-console.ts";

/** Data that does not fit on one page of the console can still be reached. */

let served: OwnServer;
let tab: WebTab;
const scribble = createScribbler();
const apps = 30;

openForAll(createServed, async (opened) => {
  served = opened;
  tab = await signInAt(served.serving);
  const fingerprints = [Array.from({ length: 32 }, () => "AB").join(":")];
  for (let turn = 0; turn < apps; turn += 1) {
    const android_app = { package_name: `com.example.a${turn}`, fingerprints };
    await served.serving.make("/android_apps", { android_app });
  }
});

const read = async (path: string) => (await served.serving.call("GET", path)).body;

async function findApp(turn: number): Promise<string> {
  const { android_apps } = await read(`/android_apps?q[package_name_eq]=com.example.a${turn}`);
  return android_apps[0].id;
}

/** Returns an app that the list of the form leaves out. */
function findUnlisted(text: string): number {
  const turns = Array.from({ length: apps }, (_, turn) => turn);
  return turns.find((turn) => !text.includes(`>com.example.a${turn}<`)) ?? -1;
}

test("the link form accepts the package name of an unlisted app and selects that app", async () => {
  const { text } = await tab.open("/links/new");
  expect(text.replace(/\s+/g, " ")).toContain("5 more are not listed.");
  const turn = findUnlisted(text);
  const form_token = await readFormToken(tab);
  const typed = { path: "typed", "android_app.other": `com.example.a${turn}` };
  const { path } = await tab.post("/links/new", { form_token, ...typed });
  const id = /^\/links\/([^?]+)\?done=created/.exec(path)?.[1] ?? "none";
  expect((await read(`/links/${id}`)).android_app_id).toBe(await findApp(turn));
  const shown = await tab.open(`/links/${id}`);
  expect(shown.text).toMatch(new RegExp(`selected>com\\.example\\.a${turn}<`));
  const wrong = { form_token: await readFormToken(tab), "android_app.other": "com.nowhere" };
  const refused = await tab.post("/links/new", { ...wrong, path: "wrong" });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('value="com.nowhere"');
});

test("the form for several links accepts the package name of an unlisted app", async () => {
  for (const path of ["one", "two"]) await served.serving.make("/links", { path });
  const form = new URLSearchParams({ form_token: await readFormToken(tab), way: "choose" });
  for (const path of ["one", "two"]) form.append("path", path);
  form.set("choice", "ios_app:");
  const first = new URLSearchParams({ form_token: form.get("form_token") ?? "", path: "one" });
  const { text } = await tab.postForm("/links/several", first);
  const turn = findUnlisted(text.replaceAll("Android app: ", ""));
  form.set("android_app.other", `com.example.a${turn}`);
  const planned = await tab.postForm("/links/several", form);
  expect(planned.path).toMatch(/^\/plans\//);
  expect(planned.text).toContain(`com.example.a${turn}`);
});

test("a link form detects that another user changed a long field", async () => {
  const url = `https://example.com/${scribble(8000)}`;
  const { id } = await served.serving.make("/links", { path: "long", url });
  const { text } = await tab.open(`/links/${id}`);
  expect(text.split(url)).toHaveLength(2);
  const hidden = text.matchAll(/name="(was\.[^"]+)" value="([^"]*)"/g);
  const was = Object.fromEntries([...hidden].map(([, name = "", value = ""]) => [name, value]));
  const form = { ...was, path: "long", url, name: "Named" };
  const save = async (fields: object) =>
    tab.post(`/links/${id}`, { ...form, form_token: await readFormToken(tab), ...fields });
  expect((await save({})).path).toContain("done=saved");
  expect(await read(`/links/${id}`)).toMatchObject({ url, name: "Named" });
  const theirs = `https://example.com/${scribble(8000)}`;
  await served.serving.call("PATCH", `/links/${id}`, { body: { url: theirs } });
  const mine = await save({ name: "Named", "was.name": "Named", url: `${url}/mine` });
  expect(mine.status).toBe(422);
  expect(mine.text).toContain("Someone else changed this in the meantime.");
  expect((await read(`/links/${id}`)).url).toBe(theirs);
});

test("the template editor contains the whole text of a large template", async () => {
  const body = `<p>${scribble(60_000)}</p>{% store_buttons %}`;
  await callTool(served.serving, "save_template", { body, css: "" });
  const { text } = await tab.open("/template");
  expect(text).toContain(body.slice(3, 60_000));
  // The script's request for problems does not return the text.
  const form = { form_token: await readFormToken(tab), do: "preview", body: "<p>{{ x", css: "" };
  const told = await tab.post("/template", { ...form, body: `${body}{{ x`, known: "1" });
  expect(told.text).not.toContain(body.slice(3, 100));
  expect(told.text).toContain('id="findings"');
});

test("the page of a plan shortens long rows and links to a page with the full row", async () => {
  const start = `https://example.com/${scribble(300)}`;
  const rows = Array.from({ length: 60 }, (_, at) => {
    return { path: `row-${at}`, url: `${start}/${scribble(7000)}` };
  });
  for (const { path } of rows.slice(0, 2)) {
    await served.serving.make("/links", { path, url: `${start}/old` });
  }
  const planned = await callTool(served.serving, "plan_links", { operation: "upsert", rows });
  const { text } = await tab.open(`/plans/${planned.plan.id}`);
  expect(text).toContain("Links 1 to 25 of 60");
  const url = rows[0]?.url ?? "";
  expect(text).not.toContain(url.slice(0, 1000));
  // The row starts shortly before the first difference.
  const unmarked = text.replace(/<\/?(?:ins|del)>/g, "");
  expect(unmarked).toContain(`…${url.slice(start.length - 10)}`.slice(11, 50));
  expect(unmarked).not.toContain(start.slice(0, 200));
  const [, row = ""] = /href="(\?row=\d+)"/.exec(text) ?? [];
  expect((await tab.open(`/plans/${planned.plan.id}${row}`)).text).toContain(url.slice(-1000));
  const faulty = rows.map(({ path }) => ({ path, url: "nowhere" }));
  const { plan } = await callTool(served.serving, "plan_links", {
    operation: "upsert",
    rows: faulty,
  });
  const first = await tab.open(`/plans/${plan.id}`);
  expect(first.text).toContain("Page 1 of 3");
  const last = await tab.open(`/plans/${plan.id}?faults=3`);
  expect(last.text.match(/Url must|URL must|must be/gi)?.length).toBe(10);
});

test("the checkbox of a link with a long path has the whole path as its value", async () => {
  const path = `far/${scribble(1500)}`;
  await served.serving.make("/links", { path });
  const { text } = await tab.open("/links");
  expect(text).toContain(`name="path" value="${path}"`);
});
