import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  approveInTab,
  launchBrowser,
  openTab,
  createPagedWorld,
} from "../../../support/browser.ts";
import type { AssistantClient, AssistantWorld } from "../../../support/assistant-world.ts";
import type { Args } from "../../../support/mcp-clients.ts";
import { openForEach } from "../../../support/open-for.ts";

/** A session in guarded mode, whose approvals are given in a real browser. */

type Json = Readonly<Record<string, unknown>>;

let browser: Browser;
let assistant: AssistantWorld;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(() => browser.close());

openForEach(createPagedWorld, (opened) => (assistant = opened));

const writePage = (text: string) => ({ body: `<p>${text}</p>\n{% store_buttons %}\n` });
const ios_app = { bundle_id: "com.example.spring", team_id: "ABCDE12345" };

type Act = { readonly tool: string; readonly args: Args; readonly asks: boolean };

const act = (tool: string, args: Args): Act => ({ tool, args, asks: false });
const asked = (tool: string, args: Args): Act => ({ tool, args, asks: true });

/** The rows of a job, which a plan undoes. */
const rows = [
  { path: "spring", url: "https://four.example", name: "Summer" },
  { path: "autumn", url: "https://four.example" },
];

const acts: readonly Act[] = [
  asked("create_link", { path: "spring", url: "https://one.example", ios_app }),
  asked("update_link", { id: "spring", url: "https://two.example", name: "Spring" }),
  act("upsert_link", { path: "spring", name: "", referrer: "shop" }),
  asked("update_ios_app", { id: "com.example.spring", custom_scheme: "spring" }),
  act("shorten_link", { url: "https://three.example/a" }),
  asked("apply_plan", { operation: "upsert", rows }),
  asked("delete_link", { id: "autumn" }),
  asked("publish_template", writePage("first")),
  asked("publish_template", writePage("second")),
  asked("delete_ios_app", { id: "com.example.spring" }),
];

test("ten mixed writes are undone one by one", async () => {
  const client = await assistant.connect();
  const tab = await openTab(browser);
  const before: Json[] = [];
  for (const { tool, args, asks } of acts) {
    before.push(await readAll());
    const { text } = await approveInTab(tab, client, tool, await planIfMany(client, tool, args));
    expect([tool, text !== undefined]).toEqual([tool, asks]);
    assistant.advance(1000);
  }
  for (const [index, { tool }] of [...acts.entries()].toReversed()) {
    const { done } = await approveInTab(tab, client, "undo");
    if (tool === "apply_plan") {
      await approveInTab(tab, client, "apply_plan", { plan_id: done.plan.id });
    } else expect(done.change.undoes).toMatch(/^change_/);
    expect(await readAll(), tool).toEqual(before[index]);
  }
  expect((await client.callTool("undo")).structured.error.code).toBe("not_found");
  await tab.context().close();
});

async function planIfMany({ callTool }: AssistantClient, tool: string, args: Args): Promise<Args> {
  if (tool !== "apply_plan") return args;
  return { plan_id: (await callTool("plan_links", args)).structured.plan.id };
}

/** Every record, without times of change and versions of the template. */
async function readAll(): Promise<Json> {
  const { call } = assistant.world;
  const list = async (kind: string) => {
    const { body } = await call("GET", `/${kind}`, { query: "limit=100&s=created_at+asc" });
    return body[kind].map(({ updated_at: _time, ...row }: Json) => row);
  };
  const [links, ios_apps, android_apps] = await Promise.all(
    ["links", "ios_apps", "android_apps"].map(list),
  );
  const { status } = await call("GET", "/page_template/versions");
  // A draft can only be emptied, and an empty save returns it.
  const none = { body: "", css: "", live_version: null };
  const { body } =
    status === 404 ? { body: none } : await call("PATCH", "/page_template", { body: {} });
  const live = body.live_version;
  const template = { body: body.body, css: body.css, live: live && [live.body, live.css] };
  return { links, ios_apps, android_apps, template };
}
