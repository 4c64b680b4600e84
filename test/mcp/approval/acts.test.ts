import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { AssistantWorld } from "../../support/assistant-world.ts";
import {
  createPagedWorld,
  launchBrowser,
  lookAtPage,
  openTab,
  sizes,
} from "../../support/browser.ts";
import { openForEach } from "../../support/open-for.ts";

/**
 * Tests the approval page of each action that needs approval. states.test.ts tests the page's other
 * states.
 */

let browser: Browser;
let assistant: AssistantWorld;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
});

openForEach(createPagedWorld, (opened) => (assistant = opened));

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

type Args = Readonly<Record<string, unknown>>;
type Caller = Pick<AssistantWorld, "callTool">;

/** Calls a tool that needs approval, and returns the URL of the approval page. */
async function ask(tool: string, args: Args, { callTool }: Caller = assistant): Promise<string> {
  const { structured } = await callTool(tool, args);
  expect(structured.error, tool).toMatchObject({ code: "approval_required" });
  return structured.error.approval.url;
}

/** Calls a tool, and approves the call if it needs approval. */
async function act(tool: string, args: Args) {
  const first = await assistant.callTool(tool, args);
  const url = first.structured.error?.approval?.url;
  if (url === undefined) return first.structured;
  await assistant.press(url, "approve");
  return (await assistant.callTool(tool, args)).structured;
}

async function setClicks(id: string, clicks: number): Promise<void> {
  await assistant.world.store.write((db) =>
    db.updateTable("links").set({ clicks }).where("id", "=", id).execute(),
  );
}

const iosApp = { bundle_id: "com.example.shop", team_id: "ABCDE12345", name: "Example Shop" };
const print = (digit: string) => Array.from({ length: 32 }, () => digit.repeat(2)).join(":");
const androidApp = {
  package_name: "com.example.shop",
  fingerprints: [print("A"), print("B")],
  name: "Example Shop",
};
const writeBody = (title: string) =>
  `<h1>${title}</h1>\n<p>All shoes, {{ link.name }}</p>\n{% store_buttons %}\n`;
const css = "h1 { color: teal; font-size: 40px }\np { margin: 0 }";

async function createLink(fields: Args = {}) {
  const link = await assistant.plant("link", {
    path: "spring sale/ü",
    name: "Spring sale",
    url: "https://example.com/spring?utm_source=mail",
    ...fields,
  });
  await setClicks(link.id, 1234);
  return link;
}

/** Creates links of a campaign, each with a different number of clicks. */
async function createLinks(count: number): Promise<readonly string[]> {
  const paths = Array.from({ length: count }, (_, row) => `spring/${row + 1}`);
  const rows = paths.map((path, row) => ({
    path,
    name: row % 2 === 0 ? `Spring ${row + 1}` : null,
    url: `https://example.com/old/${row + 1}`,
  }));
  await act("apply_plan", { plan_id: await plan(rows) });
  await assistant.world.store.write((db) =>
    db
      .updateTable("links")
      .set((set) => ({ clicks: set.fn("length", ["url"]) }))
      .execute(),
  );
  return paths;
}

async function plan(rows: readonly Args[], more: Args = { operation: "upsert" }): Promise<string> {
  const given = rows.length === 0 ? more : { ...more, rows };
  const { structured } = await assistant.callTool("plan_links", given);
  expect(structured.error).toBeUndefined();
  return structured.plan.id;
}

async function askForPlan(rows: readonly Args[], more?: Args): Promise<string> {
  return ask("apply_plan", { plan_id: await plan(rows, more) });
}

const acts: Readonly<Record<string, readonly [says: string, ask: () => Promise<string>]>> = {
  "delete a link": [
    'Delete the link "Spring sale"',
    async () => ask("delete_link", { id: (await createLink()).id }),
  ],
  "point a link at another host": [
    "seconds ago by this key. Before that: web address",
    async () => {
      const { id } = await createLink();
      await act("update_link", { id, url: "https://example.com/summer?utm_source=mail" });
      assistant.advance(20_000);
      return ask("update_link", { id, url: "https://\u0430pple.com/spring?utm_source=mail" });
    },
  ],
  "change many fields of a link": [
    'Change the link "Spring sale"',
    async () => {
      await assistant.plant("ios_app", iosApp);
      await assistant.plant("android_app", androidApp);
      const { id } = await createLink({ ios_app: { bundle_id: iosApp.bundle_id } });
      return ask("update_link", {
        id,
        name: "Summer sale",
        url: `https://shop.example.net/${"very-long-segment/".repeat(12)}`,
        ios_app: null,
        android_app: { package_name: androidApp.package_name },
        android_fallback_url: "https://müller.example/straße?a=1&b=2",
        enable_forced_redirect: true,
        social_title: "Summer sale: everything must go",
        social_description: "Shoes, hats and coats.\nOnly this week.",
      });
    },
  ],
  "create a link with new apps": [
    "Create link and register 2 apps",
    async () =>
      ask("create_link", {
        path: "spring",
        name: "Spring",
        url: "https://shop.example/spring",
        ios_app: { bundle_id: iosApp.bundle_id, team_id: iosApp.team_id },
        android_app: { package_name: "com.example.shop", fingerprints: [print("A")] },
      }),
  ],
  "change an iOS app": [
    "Links that open this app",
    async () => {
      const { id } = await assistant.plant("ios_app", iosApp);
      await createLink({ ios_app: { bundle_id: iosApp.bundle_id } });
      return ask("update_ios_app", { id, team_id: "NEWTEAM123", app_store_id: "123456789" });
    },
  ],
  "change a domain": [
    "mixes Latin and Cyrillic",
    async () => {
      const { id } = await assistant.world.addProject({
        subdomain: "spring",
        custom_domain: "go.example.com",
      });
      const changes = { id, subdomain: "summer", custom_domain: "go.xn--xample-2of.com" };
      return ask(
        "update_project",
        changes,
        await assistant.connect({ key: assistant.world.master }),
      );
    },
  ],
  "overwrite a link for the 21st time": [
    "up to 100 more overwrites",
    async () => {
      const { id } = await createLink();
      for (let done = 0; done < 20; done += 1) {
        await act("update_link", { id, name: `Name ${done}` });
      }
      return ask("update_link", { id, name: "Spring and summer sale" });
    },
  ],
  "point many links at another host": [
    'Point 24 links to "example.org/new"',
    async () => {
      const paths = await createLinks(24);
      return askForPlan(paths.map((path) => ({ path, url: "https://example.org/new" })));
    },
  ],
  "change many links at once": [
    "Links 101 to 104 of 104",
    async () => {
      const paths = await createLinks(104);
      const rows = paths.map((path, row) => ({
        path,
        url: row < 101 ? `https://example.com/new/${row}` : `https://\u0430pple.com/new/${row}`,
      }));
      return `${await askForPlan(rows)}?page=5`;
    },
  ],
  "a plan with changes of every kind": [
    "and register 1 app",
    async () => {
      await createLinks(3);
      const rows = [
        { path: "spring/1", url: "https://shop.example.net/1", name: "A new name" },
        { path: "spring/2", enable_forced_redirect: true, social_title: "Summer" },
        { path: "new/one", url: `https://shop.example.net/${"long/".repeat(30)}`, name: "New one" },
        {
          path: "new/two",
          ios_app: { bundle_id: iosApp.bundle_id, team_id: iosApp.team_id },
          url: "https://shop.example.net/2",
        },
      ];
      return askForPlan(rows);
    },
  ],
  "delete many links": [
    "Delete 12 links",
    async () => {
      await createLinks(12);
      return askForPlan([], {
        operation: "delete",
        filters: [{ field: "path", condition: "start", value: "spring/" }],
      });
    },
  ],
  "undo a job": [
    "Undo a job",
    async () => {
      const paths = await createLinks(3);
      const rows = paths.map((path) => ({ path, url: "https://example.org/new" }));
      const { job } = await act("apply_plan", { plan_id: await plan(rows) });
      return askForPlan([], { undo: job.id });
    },
  ],
  "undo that replaces a later change": [
    'Undo the change of the link "Summer sale"',
    async () => {
      const { id } = await createLink();
      const { change } = await act("update_link", { id, name: "Summer sale", path: "summer" });
      await act("update_link", { id, name: "Autumn sale" });
      assistant.advance(60_000);
      return ask("undo", { change_id: change.id });
    },
  ],
  "undo a registration": [
    'Undo the registration of the iOS app "Example Shop"',
    async () => {
      const { change } = await act("register_ios_app", iosApp);
      await createLink({ ios_app: { bundle_id: iosApp.bundle_id } });
      return ask("undo", { change_id: change.id });
    },
  ],
  "publish a page": [
    "After approval",
    async () => {
      await act("publish_template", { body: writeBody("Spring sale"), css });
      return ask("publish_template", { body: writeBody("Summer sale"), css: `${css}\n` });
    },
  ],
  "take a page down": [
    "Unpublish the project's page",
    async () => {
      await act("publish_template", { body: writeBody("Spring sale"), css });
      return ask("unpublish_template", {});
    },
  ],
  "restore a page": [
    "Restore an older version",
    async () => {
      const { page_template } = await act("publish_template", { body: writeBody("Spring"), css });
      await act("save_template", { body: writeBody("Summer") });
      return ask("restore_template_version", { id: page_template.live_version.id });
    },
  ],
};

test.each(Object.entries(acts))(
  'the approval page of the action "%s" is complete and accessible',
  async (name, [says, make]) => {
    const page = await open(await make());
    const text = await page.getByRole("main").innerText();
    expect(text).toContain(says);
    expect(text).not.toMatch(/\{"|\[object|undefined|NaN/);
    await lookAtPage(page, `act ${name}`);
  },
);

async function open(url: string): Promise<Page> {
  const page = await openTab(browser, { viewport: sizes.desktop });
  await page.goto(url);
  return page;
}
