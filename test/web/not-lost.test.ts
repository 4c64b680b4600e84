import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createFolder,
  runJson,
  startServe,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { signInAt } from "../support/console-http.ts";

/** What is typed in a form stays there, whatever becomes of it. */

let folder: Folder;
let serving: Serving;

beforeAll(async () => {
  folder = await createFolder();
  serving = await startServe(folder.path);
});
afterAll(async () => {
  await serving[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const first = "<h1>{{ link.name }}</h1>\n{% store_buttons %}\n";
const second = first.replace("h1", "h2").replace("/h1", "/h2");

async function readDraft(): Promise<string> {
  return (await serving.call("PATCH", "/page_template", { body: {} })).body.body;
}

test("after a publication that was not agreed to the draft is nobody else's", async () => {
  await serving.call("PATCH", "/page_template", { body: { body: first, css: "" } });
  const tab = await signInAt(serving);
  await tab.open("/template");
  const typed = { body: second, css: "" };
  expect((await tab.submit({ ...typed, do: "publish" })).text).toContain("Publish page");
  expect((await tab.submit({ leave: "" })).text).toContain("You left it as it is.");
  expect(await readDraft()).toBe(second);
  const saved = await tab.submit({ body: first, css: "", do: "save" });
  expect([saved.status, saved.text.includes("Somebody changed")]).toEqual([200, false]);
  expect(await readDraft()).toBe(first);
});

test("after a publication that failed the draft is nobody else's", async () => {
  await serving.call("PATCH", "/page_template", { body: { body: first, css: "" } });
  const scopes = ["--scopes", "page_templates.show,page_templates.update"];
  const { token } = await runJson(["keys", "create", ...scopes, "--data", folder.path]);
  const tab = await signInAt(serving, token);
  await tab.open("/template");
  const failed = await tab.submit({ body: second, css: "", do: "publish" });
  expect([failed.status, await readDraft()]).toEqual([422, second]);
  const saved = await tab.submit({ body: first, css: "", do: "save" });
  expect([saved.status, await readDraft()]).toEqual([200, first]);
});
