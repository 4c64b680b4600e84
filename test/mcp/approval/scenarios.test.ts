import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { AssistantClient, AssistantWorld } from "../../support/assistant-world.ts";
import {
  approveInTab,
  decideInTab,
  launchBrowser,
  openTab,
  pressButton,
  createPagedWorld,
} from "../../support/browser.ts";
import { callDone, callRefused, type Args, approve } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";

/**
 * What a person's yes is worth, from end to end: each official client asks, and a person reads the
 * page in a real browser and presses its button.
 */

let browser: Browser;
/** The person's. */
let tab: Page;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(() => browser.close());

beforeEach(async () => {
  tab = await openTab(browser);
  return () => tab.context().close();
});

const old = "https://shop.example/old";
const elsewhere = "https://evil.example/login";
const day_ms = 24 * 60 * 60_000;
const iosApp = { bundle_id: "com.example.app", team_id: "ABCDE12345" };
const nameApp = (index: number) => ({ ...iosApp, bundle_id: `com.example.n${index}` });
const checkPin = (given: string) => Promise.resolve(given === "271828");
const writePage = (text: string) => `<h1>${text}</h1>\n{% store_buttons %}\n`;

/** The page on which a call waits; nothing has happened yet. */
async function ask(client: AssistantClient, tool: string, args: Args = {}): Promise<string> {
  const error = await callRefused(client, tool, args);
  expect(error).toMatchObject({ code: "approval_required", effect: "none" });
  return error.approval.url;
}

const carryOut = (client: AssistantClient, tool: string, args?: Args) =>
  approveInTab(tab, client, tool, args);

describe.each(["modern", "v1"] as const)("before a %s client and a browser", (era) => {
  let assistant: AssistantWorld;

  openForEach(
    () => createPagedWorld({ era }),
    (opened) => (assistant = opened),
  );

  test("the page that was shown is published, and none that was saved meanwhile", async () => {
    await callDone(assistant, "save_template", { body: writePage("shown") });
    const url = await ask(assistant, "publish_template");
    await tab.goto(url);
    // The first frame shows the page as it is now.
    const shown = tab.frameLocator("iframe >> nth=1").locator("h1");
    expect(await shown.innerText()).toBe("shown");
    // Another assistant's draft comes between the look at the page and the yes to it.
    const other = await assistant.connect({ era });
    await callDone(other, "save_template", { body: writePage("unseen") });
    await pressButton(tab, "approve");
    const again = await ask(assistant, "publish_template");
    expect(again).not.toBe(url);
    expect(await callDone(assistant, "list_template_versions")).toEqual({ versions: [] });

    await tab.goto(again);
    expect(await shown.innerText()).toBe("unseen");
    await pressButton(tab, "approve");
    // The save that comes at the same time as the act is not what becomes of it.
    await Promise.all([
      assistant.callTool("publish_template"),
      other.callTool("save_template", { body: writePage("later") }),
    ]);
    const { body } = await assistant.world.call("PATCH", "/page_template", { body: {} });
    expect([writePage("unseen"), undefined]).toContain(body.live_version?.body);
  });

  test("a page that was live an hour ago is named, and not written out", async () => {
    for (const text of ["first", "second"]) {
      await callDone(assistant, "save_template", { body: writePage(text) });
      await decideInTab(tab, await ask(assistant, "publish_template"), "approve");
      await callDone(assistant, "publish_template");
    }
    await tab.goto(await ask(assistant, "unpublish_template"));
    const page = await tab.locator("body").innerText();
    expect(page).toContain("Before that: another live version");
    expect(page).not.toContain("store_buttons");
  });

  test("two identical calls that race on one yes are one act", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    const other = await assistant.connect({ era });
    await decideInTab(tab, await ask(assistant, "delete_link", { id }), "approve");
    const calls = [assistant, other].map((client) => client.callTool("delete_link", { id }));
    const deleted = (await Promise.all(calls)).filter(({ isError }) => !isError);
    expect(deleted).toHaveLength(1);
    expect(assistant.writes).toEqual([`DELETE /api/v1/links/${id}`]);
  });

  test("a link that changed after it was shown is shown anew", async () => {
    const { id } = await assistant.plant("link", { path: "spring", url: old });
    const args = { id, url: elsewhere };
    await decideInTab(tab, await ask(assistant, "update_link", args), "approve");
    const edit = { body: { url: "https://third.example/" } };
    assistant.interrupt("write", () => assistant.world.call("PATCH", `/links/${id}`, edit));
    const { text, done } = await carryOut(assistant, "update_link", args);
    expect(text).toContain("https://third.example/");
    expect(done.link.url).toBe(elsewhere);
  });

  test("a plan shows every row, and first of all where they lead", async () => {
    const rows = Array.from({ length: 105 }, (_, row) => ({ path: `p${row}`, url: old }));
    const plan = async (wanted: readonly object[]) => {
      const made = await callDone(assistant, "plan_links", { operation: "upsert", rows: wanted });
      return { plan_id: made.plan.id };
    };
    await callDone(assistant, "apply_plan", await plan(rows));
    assistant.setClock(day_ms + 1);
    // A form has no room for all of it, so that the page asks.
    const withForm = await assistant.connect({ era, elicit: approve });
    const args = await plan(
      rows.map(({ path }, row) => ({ path, url: row < 100 ? `${old}er` : elsewhere })),
    );
    await tab.goto(await ask(withForm, "apply_plan", args));
    const main = tab.getByRole("main");
    const first = await main.innerText();
    expect(first).toMatch(/^.*\n+Change 105 links/);
    expect(first).toMatch(
      /"evil\.example"\n+5 links; NEW: none of the 105 links that did not change /,
    );
    expect(first).not.toContain("login");
    await tab.getByRole("link", { name: "Last" }).click();
    await main.getByText("Page 5 of 5").waitFor();
    expect((await main.innerText()).match(/evil\.example\/login/g)).toHaveLength(5);

    await tab.locator("[name=count]").fill("105");
    await pressButton(tab, "approve");
    const { job } = await callDone(withForm, "apply_plan", args);
    expect(job.counts).toMatchObject({ done: 105 });
  });

  test("the domain vouches for no app unasked, however it comes", async () => {
    const rows = [{ path: "planned", ios_app: nameApp(4) }];
    const { plan } = await callDone(assistant, "plan_links", { operation: "upsert", rows });
    const calls: readonly (readonly [string, Args])[] = [
      ["register_ios_app", nameApp(1)],
      ["create_link", { path: "created", ios_app: nameApp(2) }],
      ["upsert_link", { path: "upserted", ios_app: nameApp(3) }],
      ["apply_plan", { plan_id: plan.id }],
    ];
    for (const [index, [tool, args]] of calls.entries()) {
      const { text } = await carryOut(assistant, tool, args);
      expect(text, tool).toContain(`+ "app ABCDE12345.com.example.n${index + 1}"`);
    }
    const leads = { app_store_id: "123", custom_scheme: "spring", clip_bundle_id: "com.clip" };
    const changed = await carryOut(assistant, "update_ios_app", { id: "com.example.n1", ...leads });
    for (const shown of ['New\n"123"', 'New\n"spring"', '+ "App Clip ABCDE12345.com.clip"']) {
      expect(changed.text).toContain(shown);
    }
    expect(changed.done.ios_app).toMatchObject(leads);
  });

  test("wrong PINs stop the key that asked, and no other", async () => {
    const options = { era, beside: assistant.world, pin: checkPin };
    await using locked = await createPagedWorld(options);
    const askFor = async (path: string) => {
      await assistant.plant("link", { path });
      return ask(locked, "delete_link", { id: path });
    };
    for (const path of ["a", "b", "c"]) {
      const url = await askFor(path);
      for (let guess = 0; guess < 5; guess += 1) await locked.press(url, "approve", "000000");
    }
    await tab.goto(await askFor("d"));
    for (const left of ["5 tries are", "4 tries are", "3 tries are", "2 tries are", "One try is"]) {
      await tab.getByText(`${left} left`).waitFor();
      await tab.locator("[name=pin]").fill("000000");
      await pressButton(tab, "approve");
    }
    await tab.getByText("can only decline").waitFor();
    const text = await decideInTab(tab, await askFor("e"), "decline");
    expect(text).toContain("You can enter a PIN again in 60 minutes");

    const other = await locked.connect({ era, key: await assistant.world.addKey() });
    await tab.goto(await ask(other, "delete_link", { id: "a" }));
    await tab.locator("[name=pin]").fill("271828");
    await pressButton(tab, "approve");
    expect((await callDone(other, "delete_link", { id: "a" })).deleted.path).toBe("a");
  });

  test("a link is led within its host unasked, and elsewhere only as the page shows", async () => {
    const { id } = await assistant.plant("link", { path: "spring", name: "Spring" });
    await callDone(assistant, "update_link", { id, url: old });
    await callDone(assistant, "update_link", { id, url: `${old}er` });
    assistant.advance(20_000);
    const url = "https://\u0430pple.com/spring";
    const { text, done } = await carryOut(assistant, "update_link", { id, url });
    for (const shown of [
      'Your assistant "waypost-tests" is asking for your approval',
      'Point the link "Spring" to "https://\u0430pple.com/spring"',
      `Changed 20 seconds ago by this key. Before that: web address "${old}"`,
      'host "xn--pple-43d.com"',
      "mixes Latin and Cyrillic letters",
      'Computer: a redirect to "https://xn--pple-43d.com/spring"',
      "Change link",
      "Answer within 5 minutes",
    ]) {
      expect(text).toContain(shown);
    }
    expect(done.link.url).toBe(url);

    await callDone(assistant, "update_link", { id, path: "summer" });
    await assistant.world.store.write((db) => db.updateTable("links").set({ clicks: 1 }).execute());
    const moved = await carryOut(assistant, "update_link", { id, path: "autumn" });
    expect(moved.text).toContain('Move the link "Spring" to the path "autumn"');
    expect(moved.text).toContain("visitors will get a 404 page");
  });

  test("a loop of overwrites asks, and its yes covers nothing that asks by itself", async () => {
    const { id } = await assistant.plant("link", { path: "spring", url: old });
    const rename = (name: string) => callDone(assistant, "update_link", { id, name });
    for (let done = 0; done < 20; done += 1) await rename(`${done}`);
    const { text } = await carryOut(assistant, "update_link", { id, name: "next" });
    expect(text).toContain("up to 100 more overwrites within 10 minutes");
    await rename("covered");
    await ask(assistant, "update_link", { id, url: elsewhere });
  });

  test("a form that nobody saw leads to the page, and never to a second form", async () => {
    let forms = 0;
    const client = await assistant.connect({
      era,
      elicit: () => {
        forms += 1;
        return { action: "decline" };
      },
    });
    for (const path of ["spring", "summer"]) {
      await assistant.plant("link", { path });
      const { text } = await carryOut(client, "delete_link", { id: path });
      expect(text).toContain(`Delete the link "${path}"`);
    }
    expect(forms).toBe(1);
  });

  test("what is deleted says what comes back, and comes back with it", async () => {
    const app = await assistant.plant("ios_app", iosApp);
    const link = await assistant.plant("link", { path: "spring", ios_app: { id: app.id } });
    await assistant.world.store.write((db) => db.updateTable("links").set({ clicks: 7 }).execute());
    const before = await callDone(assistant, "get_link", { id: link.id });
    const { text } = await carryOut(assistant, "delete_link", { id: "spring" });
    expect(text).toContain("possible for 30 days, with its clicks and short path");
    const detached = await carryOut(assistant, "delete_ios_app", { id: app.id });
    expect(detached.text).toContain(
      "unless another app takes its bundle ID; its links then open it again",
    );
    await carryOut(assistant, "undo");
    await carryOut(assistant, "undo");
    expect(await callDone(assistant, "get_link", { id: link.id })).toEqual(before);

    await carryOut(assistant, "delete_link", { id: "spring" });
    await assistant.plant("link", { path: "spring" });
    const { code, message } = await callRefused(assistant, "undo");
    expect([code, message]).toEqual(["validation_failed", "Path has already been taken"]);
  });

  test("what changed again since is lost only where the page has shown it", async () => {
    const { id } = await assistant.plant("link", { path: "spring", name: "Old" });
    await callDone(assistant, "update_link", { id, name: "New" });
    await assistant.world.call("PATCH", `/links/${id}`, { body: { name: "Newest" } });
    const { text } = await carryOut(assistant, "undo");
    expect(text).toMatch(/"Newest" will be replaced/);
    expect((await callDone(assistant, "get_link", { id })).link.name).toBe("Old");
  });

  test("a project's deletion says that nothing brings it back", async () => {
    const { id } = await assistant.world.addProject({ name: "Shop", subdomain: "shop" });
    const client = await assistant.connect({ era, key: assistant.world.master });
    const { text } = await carryOut(client, "delete_project", { id });
    expect(text).toContain('Delete the project "Shop" permanently');
    expect(text).toContain("not possible");
    const { message } = await callRefused(client, "undo");
    expect(message).toContain("cannot be restored");
  });
});
