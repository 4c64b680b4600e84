import { beforeEach, describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import type { Question } from "../../../src/mcp/approval/question.ts";
import { hashToken } from "../../../src/service/keys.ts";
import { findKey } from "../../../src/store/keys.ts";
import { starter } from "../../../src/template/starter-template.ts";
import { createAssistantWorld, eras, type AssistantWorld } from "../../support/assistant-world.ts";
import { openTab, createPagedWorld } from "../../support/browser.ts";
import { openForEach } from "../../support/open-for.ts";

/** Tests how the approval page shows the client, the changes and the page template. */

let assistant: AssistantWorld;

openForEach(createPagedWorld, (opened) => (assistant = opened));

async function show(preview: object): Promise<string> {
  const json = JSON.stringify({ asker: {}, ...preview });
  const wanted = { digest: json, preview: json, key_print: "a key" };
  const asked = await assistant.state.approvals.askPage(wanted);
  if (!("waits" in asked)) throw new Error(`it was ${asked.decision}`);
  return (await assistant.visit(`http://127.0.0.1:8787/approve/${asked.waits.id}`)).html;
}

describe("the approval page", () => {
  test.each(eras)("shows the name of the %s client that made the call", async (era) => {
    await assistant.plant("link", { path: "spring" });
    const { callTool } = await assistant.connect({ era });
    const { error } = (await callTool("delete_link", { id: "spring" })).structured;
    const { html } = await assistant.visit(error.approval.url);
    expect(html).toContain("Your assistant &quot;waypost-tests&quot; is asking for your approval");
    const { store, key } = assistant.world;
    const holder = await findKey(store.db, hashToken(key));
    expect(html).toContain(
      `For default.localhost:8787 · API key …${holder?.key_id.slice(-8)} · asked`,
    );
    expect(html).not.toContain(key);
  });

  test("shows only a short hash of a remote server's API key", async () => {
    await assistant.plant("link", { path: "spring" });
    const { world } = assistant;
    await using remote = await createAssistantWorld({ isRemote: true, beside: world });
    const { error } = await remote.call("delete_link", { id: "spring" });
    const { html } = await remote.visit(error.approval.url);
    expect(html).toMatch(/>API key [\w-]{8} · asked just now/);
    expect(html).not.toContain(world.key);
  });

  test("puts the client's name in quotes, and truncates a long name", async () => {
    const client = `<b>Bank</b> approved" ${"x".repeat(70)}`;
    const html = await show({ title: "Delete it", facts: [], asker: { client } });
    expect(html).toContain("&quot;&lt;b&gt;Bank&lt;/b&gt; approved\\&quot; xxx");
    expect(html).not.toContain("x".repeat(60));
  });
});

describe("a change on the approval page", () => {
  const preview: Question = {
    title: "Change it",
    recent: {
      at: Date.UTC(2026, 0, 15, 11, 59, 40),
      time: "2026-01-15T12:59:40+01:00",
      by: "this key",
      was: '"https://a.example"',
    },
    facts: [
      { name: "url", kind: "change", from: '"https://a.example/x"', to: '"https://a.example/y"' },
      { name: "ios_app", kind: "change", to: "nothing" },
      {
        name: "file",
        kind: "lines",
        lines: [
          { kind: "removed", text: "one two <three>" },
          { kind: "added", text: "one two <four>" },
        ],
      },
      { name: "visitors", kind: "list", items: ["iPhone: the <app>", "Computer: nothing"] },
    ],
  };

  test("is shown with the differing words highlighted", async () => {
    const html = await show(preview);
    expect(html).toContain("a.example/<del>x</del>&quot;");
    expect(html).toContain("a.example/<ins>y</ins>&quot;");
    expect(html).toContain("one two &lt;<del>three</del>&gt;");
    expect(html).toContain("one two &lt;<ins>four</ins>&gt;");
    expect(html).toContain("<li>iPhone: the &lt;app&gt;</li>");
    expect(html).toContain("<dt>iOS app</dt>");
    expect(html).toContain(
      "</strong> 20 seconds ago by this key. Before that: &quot;https://a.example",
    );
  });
});

describe("the approval page for a link update", () => {
  const url = "https://other.example/new";
  let id: string;
  let otherApp: string;

  beforeEach(async () => {
    const app = (name: string, bundle_id: string) =>
      assistant.plant("ios_app", { name, bundle_id, team_id: "ABCDE12345" });
    const ios_app = { id: (await app("Example", "com.example.app")).id };
    otherApp = (await app("Other", "com.other.app")).id;
    const fields = { name: "Spring", path: "spring", url: "https://example.com/old", ios_app };
    ({ id } = await assistant.plant("link", fields));
    await assistant.world.store.write((db) => db.updateTable("links").set({ clicks: 7 }).execute());
  });

  async function ask(changes: Readonly<Record<string, unknown>>): Promise<string> {
    const { error } = await assistant.call("update_link", { id, ...changes });
    expect(error).toMatchObject({ code: "approval_required" });
    const button = /<button name="decision" value="approve"[^>]*>([^<]*)</;
    const { html } = await assistant.visit(error.approval.url);
    return `${error.approval.preview}\nbutton: ${button.exec(html)?.[1]}`;
  }

  test("describes the change in its headline and on its button", async () => {
    const pointed = await ask({ url });
    expect(pointed).toMatch(/^Point the link "Spring" to "https:\/\/other\.example\/new"\n/);
    expect(pointed).toMatch(/\nbutton: Change link$/);
    const moved = await ask({ path: "summer" });
    expect(moved).toMatch(/^Move the link "Spring" to the path "summer"\n/);
    expect(moved).toMatch(/\nbutton: Move link$/);
    expect(await ask({ path: "summer", url })).toMatch(/^Change the link "Spring"\n/);
  });

  test("shows apps by name, never by UUID", async () => {
    const text = await ask({ ios_app: { id: otherApp } });
    expect(text).toContain('- iOS app: "Example" ("com.example.app") → "Other" ("com.other.app")');
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/);
    expect(text).not.toContain("{");
    expect(await ask({ ios_app: null })).toContain('"Example" ("com.example.app") → none');
    const fresh = { bundle_id: "com.new.app", team_id: "ABCDE12345" };
    expect(await ask({ ios_app: fresh })).toContain('→ "com.new.app"');
  });

  test("shows what visitors will see on each platform", async () => {
    const text = await ask({ url, ios_app: null });
    expect(text).toContain(`iPhone: a redirect to "${url}"`);
    expect(text).toContain(`Computer: a redirect to "${url}"`);
    expect(await ask({ url })).toContain(
      `iPhone: the app; without the app, the preview page, then "${url}"`,
    );
  });

  test("warns about a host that resembles another host", async () => {
    const text = await ask({ url: "https://\u0430pple.com/" });
    expect(text).toContain('(host "xn--pple-43d.com") (warning: "\u0430pple" in the host mixes');
  });

  test("says that visitors of the old URL will get a 404 page", async () => {
    const text = await ask({ path: "summer" });
    expect(text).toContain("- address: http://default.localhost:8787/spring");
    expect(text).toContain("- new address: http://default.localhost:8787/summer");
    expect(text).toContain("- old address: visitors will get a 404 page");
  });
});

function writeBody(title: string): string {
  return `<h1>${title}</h1>\n{% store_buttons %}\n`;
}

async function publish(text: Readonly<Record<string, string>>): Promise<string> {
  const { error } = await assistant.call("publish_template", text);
  return error.approval.url;
}

describe("a page template on the approval page", () => {
  test("is shown as it is now and after approval, without requests to other hosts", async () => {
    await assistant.press(await publish({ body: writeBody("Before"), css: "" }), "approve");
    await assistant.callTool("publish_template", { body: writeBody("Before"), css: "" });
    const picture = '<img src="https://evil.example/x.png" alt="">';
    const url = await publish({ body: writeBody("After") + picture, css: "h1 { color: teal }" });
    const page = await openTab({ viewport: { width: 1280, height: 3000 } });
    const hosts = new Set<string>();
    // A request that the policy blocks never finishes.
    page.on("requestfinished", (request) => hosts.add(new URL(request.url()).host));
    await page.goto(url);
    await page.waitForLoadState();
    const titles = ["Now", "After approval"];
    const frames = page.locator("iframe");
    expect(await frames.count()).toBe(4);
    for (const [index, title] of [...titles, ...titles].entries()) {
      expect(await frames.nth(index).getAttribute("title")).toContain(title);
      expect(await frames.nth(index).getAttribute("sandbox")).toBe("");
      const heading = frames.nth(index).contentFrame().locator("h1");
      expect(await heading.innerText()).toBe(title === "Now" ? "Before" : "After");
    }
    expect([...hosts]).toEqual([new URL(url).host]);
  });

  test.each([
    { viewport: { width: 1280, height: 800 }, columns: 2 },
    { viewport: { width: 390, height: 844 }, columns: 1 },
  ])(
    "fits a window of $viewport.width pixels, and its changed lines are collapsed",
    async ({ viewport, columns }) => {
      const body = starter.body.replace('class="page"', 'class="page new"');
      const page = await openTab({ viewport });
      await page.goto(await publish({ body, css: starter.css }));
      const { phone, desktop } = await countFramesInFirstRow(page);
      expect([phone, desktop]).toEqual([2, columns]);
      const [wide, high] = await page.evaluate<[number, number]>(
        "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]",
      );
      expect(wide).toBe(viewport.width);
      expect(high).toBeLessThan(2500);
      const lines = page.locator(".diff .lines > *");
      expect(await lines.first().isVisible()).toBe(false);
      await page.getByText("Changed lines: Body +1 −1").click();
      expect(await lines.allInnerTexts()).toEqual([
        expect.stringMatching(/^@@ −\d+,7 \+\d+,7 @@$/),
        ...Array(3).fill(expect.stringMatching(/^ {2}/)),
        '− <main class="page">',
        '+ <main class="page new">',
        ...Array(3).fill(expect.stringMatching(/^ {2}/)),
      ]);
    },
  );

  test("is rendered separately for a phone and a desktop", async () => {
    const url = await publish({ body: "<h1>{{ platform }}</h1>{% store_buttons %}", css: "" });
    expect((await assistant.visit(`${url}?frame=1-phone`)).html).toContain("<h1>ios</h1>");
    expect((await assistant.visit(`${url}?frame=1-desktop`)).html).toContain("<h1>desktop</h1>");
  });

  test("is shown in frames that other sites cannot embed", async () => {
    const url = await publish({ body: "<h1>After</h1>{% store_buttons %}", css: "" });
    const { headers, html, status } = await assistant.visit(`${url}?frame=1-phone`);
    expect([status, html]).toEqual([200, expect.stringContaining("After")]);
    const policy = headers.get("content-security-policy");
    expect(policy).toMatch(
      /^sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:;/,
    );
    expect(policy).toContain("frame-ancestors 'self'");
    expect(headers.get("x-frame-options")).toBe("SAMEORIGIN");
    for (const frame of ["2-phone", "0", "0-watch", "-1", "x", "__proto__", ""]) {
      expect((await assistant.visit(`${url}?frame=${frame}`)).status).toBe(404);
    }
    const otherHost = { host: "evil.example" };
    expect((await assistant.visit(`${url}?frame=1-phone`, undefined, otherHost)).status).toBe(403);
    await assistant.press(url, "decline");
    expect((await assistant.visit(`${url}?frame=1-phone`)).html).not.toContain("After");
  });

  test("is shown with a note about an earlier live version, but without its text", async () => {
    for (const title of ["First", "Second"]) {
      await assistant.callTool("save_template", { body: writeBody(title) });
      await assistant.press(await publish({}), "approve");
      await assistant.callTool("publish_template");
    }
    const { error } = await assistant.call("unpublish_template");
    const { html } = await assistant.visit(error.approval.url);
    expect(html).toContain("Before that: another live version");
    expect(html).not.toContain("store_buttons");
  });

  test("is replaced by an explanation if the key may not render previews", async () => {
    const key = await assistant.world.addKey({ scopes: ["page_templates.publish"] });
    const { callTool } = await assistant.connect({ key });
    const text = { body: "<h1>After</h1>{% store_buttons %}", css: "" };
    const { error } = (await callTool("publish_template", text)).structured;
    const { html } = await assistant.visit(error.approval.url);
    expect(html).not.toContain("<iframe");
    expect(html).toMatch(/This API key cannot|The server could not render the page/);
  });
});

/** Counts the device frames in the first row; 0 if a frame is wider than the window. */
function countFramesInFirstRow(
  page: Page,
): Promise<{ readonly phone: number; readonly desktop: number }> {
  return page.evaluate(`(() => {
    const count = (device) => {
      const frames = [...document.querySelectorAll("." + device + " iframe")];
      const places = frames.map((frame) => frame.getBoundingClientRect());
      if (places.some(({ right }) => right > innerWidth)) return 0;
      return places.filter(({ top }) => top === places[0].top).length;
    };
    return { phone: count("phone"), desktop: count("desktop") };
  })()`);
}
