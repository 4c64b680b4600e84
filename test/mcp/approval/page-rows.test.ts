import { describe, expect, test } from "vitest";
import type { Question } from "../../../src/mcp/approval/question.ts";
import {
  createAssistantWorld,
  readToken,
  type AssistantWorld,
} from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";

/** A plan's approval page lists all rows, 25 per page. */

const count = 230;
let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

type Row = Readonly<Record<string, unknown>>;

async function plan(rows: readonly Row[], operation = "upsert"): Promise<string> {
  const { structured } = await assistant.callTool("plan_links", { operation, rows });
  return structured.plan.id;
}

async function makeLinks(name: string): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => ({
    path: `row/${index}`,
    name,
    url: `https://old.example/${index}`,
  }));
  await assistant.callTool("apply_plan", { plan_id: await plan(rows) });
}

async function planChange(): Promise<string> {
  const rows = Array.from({ length: count }, (_, index) => {
    const host = index < 200 ? "old.example" : "other-host.example";
    return { path: `row/${index}`, url: `https://${host}/new/${index}` };
  });
  return plan(rows);
}

async function open(plan_id: string, names = {}): Promise<string> {
  const preview: Question = {
    title: `Change ${count} links`,
    button: `Change ${count} links`,
    facts: [],
    rows: { plan_id, names },
  };
  const json = JSON.stringify({ ...preview, asker: {} });
  const wanted = { digest: plan_id, preview: json, key_print: "a key" };
  const asked = await assistant.state.approvals.askPage(wanted);
  if (!("waits" in asked)) throw new Error(`it was ${asked.decision}`);
  return `http://127.0.0.1:8787/approve/${asked.waits.id}`;
}

async function readAll(url: string): Promise<readonly string[]> {
  const pages: string[] = [];
  for (let next: string | undefined = ""; next !== undefined;) {
    const { html, status } = await assistant.visit(url + next);
    expect(status).toBe(200);
    pages.push(html);
    next = /<a href="(\?page=\d+)">Next<\/a>/.exec(html)?.[1];
  }
  return pages;
}

function listPaths(html: string): readonly string[] {
  return [...html.matchAll(/&quot;(row\/\d+)&quot;/g)].map(([, path]) => path ?? "");
}

describe("a row on a plan's approval page", () => {
  test("is listed in the plan's order on a page that has the approval form", async () => {
    await makeLinks("Spring");
    const url = await open(await planChange());
    const pages = await readAll(url);
    expect(pages.map((html) => listPaths(html).length)).toEqual([
      ...Array.from({ length: 9 }, () => 25),
      5,
    ]);
    const all = Array.from({ length: count }, (_, index) => `row/${index}`);
    expect(pages.flatMap(listPaths)).toEqual(all);
    for (const html of pages) {
      expect(html).toContain('name="decision" value="approve"');
      expect(html).toContain(`Change ${count} links`);
    }
    expect(pages[9]).toContain("other-host");
    expect(pages[9]).toContain("Page 10 of 10");
  });

  test("shows the link's name, clicks and changes, with HTML escaped", async () => {
    await makeLinks('<b onclick="x">');
    const html = (await assistant.visit(await open(await planChange()))).html;
    expect(html).not.toContain("<b onclick");
    expect(html).toContain("named &quot;&lt;b onclick=\\&quot;x\\&quot;&gt;&quot;, 0 clicks");
    expect(html).toContain("old.example/<ins>new/</ins>0&quot;");
    expect(html).not.toMatch(/Name<\/dt>/);
  });

  test("too long for the list is shown on its own page with the approval form", async () => {
    const tail = "the very end";
    const change = { path: "row/1", social_title: `${"long ".repeat(600)}${tail}` };
    await assistant.plant("link", { path: "row/1", social_title: "short" });
    const url = await open(await plan([change, { path: "row/2" }]));
    const { html } = await assistant.visit(url);
    expect([html.includes(tail), listPaths(html)]).toEqual([false, ["row/1", "row/2"]]);
    const [, one = ""] = /<a href="(\?row=\d+)">Show this link in full<\/a>/.exec(html) ?? [];
    const whole = await assistant.visit(url + one);
    expect([whole.html.includes(tail), listPaths(whole.html)]).toEqual([true, ["row/1"]]);
    const form = { token: readToken(html), decision: "approve" };
    expect((await assistant.visit(url + one, form)).html).toContain("<h1>Approved");
  });

  test("contains a warning if the link's new host resembles another host", async () => {
    const plan_id = await plan([{ path: "row/1", url: "https://\u0430pple.com/" }]);
    expect((await assistant.visit(await open(plan_id))).html).toContain("mixes Latin and Cyrillic");
  });

  test("shows the app's name instead of its ID if the name is known", async () => {
    const app = await assistant.plant("ios_app", { bundle_id: "com.a", team_id: "ABCDE12345" });
    await assistant.plant("link", { path: "row/1", ios_app: { id: app.id } });
    const plan_id = await plan([{ path: "row/1", ios_app: null }]);
    const url = await open(plan_id, { [app.id]: '"Example" ("com.a")' });
    const { html } = await assistant.visit(url);
    expect(html).toContain("&quot;Example&quot; (&quot;com.a&quot;)");
    expect(html).not.toContain(app.id);
  });

  test("is still listed after an invalid answer to the form", async () => {
    await makeLinks("Spring");
    const url = await open(await planChange());
    await readAll(url);
    const last = await assistant.visit(`${url}?page=10`);
    const form = { token: readToken(last.html), decision: "maybe" };
    const refused = await assistant.visit(`${url}?page=10`, form);
    expect([refused.status, listPaths(refused.html).length]).toEqual([403, 5]);
    const done = await assistant.visit(`${url}?page=2`, { ...form, decision: "approve" });
    expect(done.html).toContain("<h1>Approved");
  });

  test.each(["0", "-1", "x", "", "1e9", "99999999999"])(
    "is listed even if the URL contains the invalid page number %o",
    async (page) => {
      const url = await open(await plan([{ path: "row/0" }]));
      const { html, status } = await assistant.visit(`${url}?page=${page}`);
      expect([status, listPaths(html)]).toEqual([200, ["row/0"]]);
    },
  );

  test("is omitted if a job has already applied it", async () => {
    await makeLinks("Spring");
    const plan_id = await planChange();
    const found = await assistant.state.plans.find(plan_id);
    if (found === undefined) throw new Error("the plan is missing");
    const job = await assistant.state.jobs.open(found);
    const run = { id: job.id, runner: "a runner" };
    await assistant.state.jobs.take(run);
    for (const position of [0, 1]) {
      await assistant.state.jobs.noteSent(run, position);
      await assistant.state.jobs.noteEnd(run, position, { status: "done" });
    }
    const pages = await readAll(await open(plan_id));
    expect(pages.flatMap(listPaths)[0]).toBe("row/2");
    expect(pages.flatMap(listPaths)).toHaveLength(count - 2);
    expect(pages[0]).toContain(`Links 1 to 25 of ${count - 2}`);
  });
});

test("an approval request for a plan that no longer exists can only be declined", async () => {
  const url = await open("plan_gone");
  const { html } = await assistant.visit(url);
  expect(html).toContain("You can only decline this");
  const forced = await assistant.visit(url, { token: readToken(html), decision: "approve" });
  expect([forced.status, forced.html]).toEqual([403, expect.not.stringContaining("<h1>Approved")]);
  expect((await assistant.press(url, "decline")).html).toContain("<h1>Declined");
});
