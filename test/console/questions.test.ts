import { describe, expect, test } from "vitest";
import { type WebTab, readFormToken, signInAt } from "../support/console.ts";
import { createServed, runJson, type OwnServer } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** Confirmations in the console: approved, cancelled, expired and repeated. */

let served: OwnServer;
let tab: WebTab;
let form_token: string;

openForAll(createServed, async (opened) => {
  served = opened;
  tab = await signInAt(served.serving);
  form_token = await readFormToken(tab);
});

const call = (method: string, path: string, body?: object) =>
  served.serving.call(method, path, body === undefined ? {} : { body });

async function plantLink(path: string): Promise<string> {
  const { body } = await call("POST", "/links", { path, url: "https://one.example/" });
  return body.id;
}

const led = { "was.url": "https://one.example/", url: "https://two.example/" };

/** Sends the form of a link with a destination on another host. */
async function leadElsewhere(id: string, path: string, more: Record<string, string> = {}) {
  const shown = { "was.path": path, path, ...led };
  const asked = await tab.post(`/links/${id}`, { form_token, ...shown, ...more });
  expect(asked.text).toContain("Cancel");
  return asked;
}

const readUrl = async (id: string) => (await call("GET", `/links/${id}`)).body.url;

describe("cancelling a confirmation", () => {
  test("changes nothing and shows a link's form with the user's input", async () => {
    const id = await plantLink("left");
    await leadElsewhere(id, "left", { name: 'Typed "so"' });
    const left = await tab.submit({ leave: "" });
    expect(left.status).toBe(200);
    expect(left.text).toContain("You cancelled.");
    for (const value of ["Typed &quot;so&quot;", led.url, led["was.url"]]) {
      expect(left.text).toContain(`value="${value}"`);
    }
    expect(await readUrl(id)).toBe(led["was.url"]);
    await leadElsewhere(id, "left", { name: "Typed" });
    expect((await tab.submit({})).path).toBe(`/links/${id}?done=saved`);
    expect(await readUrl(id)).toBe(led.url);
  });

  test("changes nothing and shows a new app's form with the user's input", async () => {
    const typed = { name: "Shop", bundle_id: "com.example.left", team_id: "ABCDE12345" };
    const asked = await tab.post("/apps/ios/new", { form_token, ...typed });
    expect(asked.text).toContain("Register the iOS app");
    const left = await tab.submit({ leave: "" });
    for (const value of Object.values(typed)) expect(left.text).toContain(`value="${value}"`);
    expect((await call("GET", "/ios_apps")).body.ios_apps).toEqual([]);
  });

  test("changes nothing and shows the project settings with the user's input", async () => {
    const inFolder = ["--data", served.folder.path];
    const { token } = await runJson(["keys", "create", "--master", ...inFolder]);
    const [project] = (await runJson(["projects", "list", ...inFolder])).projects;
    const master = await signInAt(served.serving, token);
    const typed = {
      suspended: "on",
      "was.plan": "pro",
      plan: "pro",
      home_url: "https://h.example",
    };
    const path = `/projects/${project.id}/settings`;
    const asked = await master.post(path, {
      form_token: await readFormToken(master),
      "was.templates_enabled": "on",
      templates_enabled: "on",
      ...typed,
    });
    expect(asked.text).toContain("Suspend the project");
    const left = await master.submit({ leave: "" });
    expect(left.text).toMatch(/id="suspended"[^>]* checked/);
    expect(left.text).toContain(typed.home_url);
    expect((await runJson(["projects", "list", ...inFolder])).projects[0].suspended).toBe(false);
  });
});

test("an expired confirmation changes nothing and is shown again", async () => {
  const id = await plantLink("late");
  await leadElsewhere(id, "late");
  const late = await tab.submit({ question: "x".repeat(27) });
  expect(late.text).toContain("You did not confirm in time, so nothing was done.");
  expect(late.text).not.toContain("This has changed in the meantime.");
  expect(await readUrl(id)).toBe(led["was.url"]);
  expect((await tab.submit({})).path).toBe(`/links/${id}?done=saved`);
  expect(await readUrl(id)).toBe(led.url);
});

test("a confirmation is shown again if the link changes before the user answers", async () => {
  const id = await plantLink("moved");
  await leadElsewhere(id, "moved");
  await call("PATCH", `/links/${id}`, { social_title: "Theirs" });
  const again = await tab.submit({});
  expect(again.text).toContain("This has changed in the meantime.");
  expect(await readUrl(id)).toBe(led["was.url"]);
  await tab.submit({});
  expect(await readUrl(id)).toBe(led.url);
});

test("the confirmation of a first publication does not label anything as changed", async () => {
  await using fresh = await createServed();
  const owner = await signInAt(fresh.serving);
  await owner.open("/template");
  const asked = await owner.submit({ body: "{% store_buttons %}", css: "", do: "publish" });
  expect(asked.text).toContain("Publish page");
  expect(asked.text).not.toContain("<strong>Changed</strong>");
});
