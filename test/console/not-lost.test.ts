import { expect, test } from "vitest";
import {
  createUsedFolder,
  createServed,
  runJson,
  startServe,
  type Folder,
  type Serving,
} from "../support/command.ts";
import { readFormToken, signInAt } from "../support/console.ts";
import { openForAll } from "../support/open-for.ts";

/** A form keeps its input when it cannot be saved. */

let folder: Folder;
let serving: Serving;

openForAll(createServed, (opened) => ({ folder, serving } = opened));

test("a gateway keeps form input and returns 503 if the remote server is down", async () => {
  await using place = await createUsedFolder();
  await using outside = await createUsedFolder();
  const deployment = await startServe(outside.path);
  const env = { WAYPOST_API_KEY: deployment.key };
  const words = ["--base-url", deployment.places.url];
  await using gateway = await startServe(place.path, words, { env });
  const link = await deployment.call("POST", "/links", { body: { path: "kept" } });
  const ios_app = { name: "Kept", bundle_id: "com.example.kept", team_id: "ABCDE12345" };
  const app = await deployment.call("POST", "/ios_apps", { body: { ios_app } });
  const pages = [`/links/${link.body.id}`, `/apps/ios/${app.body.id}`];
  const tab = await signInAt(gateway);
  for (const page of pages) expect((await tab.open(page)).text).toContain("Save</button>");
  const form_token = await readFormToken(tab);
  await deployment[Symbol.asyncDispose]();
  // The gateway retries each request for some seconds.
  const looks = pages.map(async (page) => {
    const typed = { form_token, name: "Typed by me" };
    const [sent, shown] = await Promise.all([tab.post(page, typed), tab.open(page)]);
    expect([sent.status, sent.text.includes('value="Typed by me"')]).toEqual([422, true]);
    expect([shown.status, /was deleted|went wrong/.test(shown.text)]).toEqual([503, false]);
    const why = "The server cannot be reached";
    expect([sent, shown].map(({ text }) => text.includes(why))).toEqual([true, true]);
  });
  const codes = ["svg", "png"].map(async (ending) => {
    const shown = await tab.open(`${pages[0]}/qr.${ending}`);
    expect([shown.status, shown.text.includes("does not exist")]).toEqual([503, false]);
    expect(shown.text).toContain("The server cannot be reached");
  });
  await Promise.all([...looks, ...codes]);
});

const first = "<h1>{{ link.name }}</h1>\n{% store_buttons %}\n";
const second = first.replace("h1", "h2").replace("/h1", "/h2");

async function readDraft(): Promise<string> {
  return (await serving.call("PATCH", "/page_template", { body: {} })).body.body;
}

test("a template draft can be saved after its publication is cancelled", async () => {
  await serving.call("PATCH", "/page_template", { body: { body: first, css: "" } });
  const tab = await signInAt(serving);
  await tab.open("/template");
  const typed = { body: second, css: "" };
  expect((await tab.submit({ ...typed, do: "publish" })).text).toContain("Publish page");
  expect((await tab.submit({ leave: "" })).text).toContain("You cancelled.");
  expect(await readDraft()).toBe(second);
  const saved = await tab.submit({ body: first, css: "", do: "save" });
  expect([saved.status, saved.text.includes("Someone else changed")]).toEqual([200, false]);
  expect(await readDraft()).toBe(first);
});

test("a template draft can be saved after its publication fails", async () => {
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
