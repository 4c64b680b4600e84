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

/** Tests approvals end to end: official clients ask, and a user answers in a real browser. */

let browser: Browser;
/** The user's browser tab. */
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
const otherHost = "https://evil.example/login";
const day_ms = 24 * 60 * 60_000;
const iosApp = { bundle_id: "com.example.app", team_id: "ABCDE12345" };
const writePage = (text: string) => `<h1>${text}</h1>\n{% store_buttons %}\n`;

/** Calls a tool, and returns the URL of its approval page. */
async function ask(client: AssistantClient, tool: string, args: Args = {}): Promise<string> {
  const error = await callRefused(client, tool, args);
  expect(error).toMatchObject({ code: "approval_required", effect: "none" });
  return error.approval.url;
}

const carryOut = (client: AssistantClient, tool: string, args?: Args) =>
  approveInTab(tab, client, tool, args);

describe.each(["modern", "v1"] as const)("with a %s client and a browser,", (era) => {
  let assistant: AssistantWorld;

  openForEach(
    () => createPagedWorld({ era }),
    (opened) => (assistant = opened),
  );

  test("publish_template publishes only the draft that the page showed", async () => {
    await callDone(assistant, "save_template", { body: writePage("shown") });
    const url = await ask(assistant, "publish_template");
    await tab.goto(url);
    // The second frame shows the page after the approval.
    const shown = tab.frameLocator("iframe >> nth=1").locator("h1");
    expect(await shown.innerText()).toBe("shown");
    // Another assistant saves a draft before the approval.
    const other = await assistant.connect({ era });
    await callDone(other, "save_template", { body: writePage("unseen") });
    await pressButton(tab, "approve");
    const again = await ask(assistant, "publish_template");
    expect(again).not.toBe(url);
    expect(await callDone(assistant, "list_template_versions")).toEqual({ versions: [] });

    await tab.goto(again);
    expect(await shown.innerText()).toBe("unseen");
    await pressButton(tab, "approve");
    // A draft that is saved at the same time is not published.
    await Promise.all([
      assistant.callTool("publish_template"),
      other.callTool("save_template", { body: writePage("later") }),
    ]);
    const { body } = await assistant.world.call("PATCH", "/page_template", { body: {} });
    expect([writePage("unseen"), undefined]).toContain(body.live_version?.body);
  });

  test("the page mentions a recent live version without its text", async () => {
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

  test("a plan's page shows the hosts first, and lists every row", async () => {
    const rows = Array.from({ length: 105 }, (_, row) => ({ path: `p${row}`, url: old }));
    const plan = async (wanted: readonly object[]) => {
      const made = await callDone(assistant, "plan_links", { operation: "upsert", rows: wanted });
      return { plan_id: made.plan.id };
    };
    await callDone(assistant, "apply_plan", await plan(rows));
    assistant.setClock(day_ms + 1);
    // The plan is too long for a form, so the approval page is used.
    const withForm = await assistant.connect({ era, elicit: approve });
    const args = await plan(
      rows.map(({ path }, row) => ({ path, url: row < 100 ? `${old}er` : otherHost })),
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

  test("update_link changes the host as the page shows", async () => {
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

  test("undo restores what the page of a deletion promised", async () => {
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
});
