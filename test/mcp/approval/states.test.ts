import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { Question } from "../../../src/mcp/approval/question.ts";
import { createPageListener, type PageListener } from "../../../src/mcp/approval/page-listener.ts";
import { approvalPath, createApprovalPages } from "../../../src/mcp/approval/approval-page.ts";
import { hashValue } from "../../../src/text/digest.ts";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openTab, pressButton, lookAtPage, sizes } from "../../support/browser.ts";
import { openForEach } from "../../support/open-for.ts";

/** Tests the approval page in every state. */

const pin = "271828";

let assistant: AssistantWorld;
let listener: PageListener;
let isBroken: boolean;

const openPage = (id: string) => listener.open(approvalPath, id);

openForEach(
  () => createAssistantWorld({ openPage }),
  (opened, keep) => {
    [assistant, isBroken] = [opened, false];
    const pages = createApprovalPages({
      openState: () =>
        isBroken ? Promise.reject(new Error("out of order")) : Promise.resolve(assistant.state),
      hostnames: ["127.0.0.1"],
      checkPin: (given) => Promise.resolve(given === pin),
      onDecided: () => {},
      onRefused: () => {},
      clock: assistant.clock,
      report: () => "a1b2c3",
    });
    listener = keep(createPageListener(pages.fetch));
  },
);

const asker = {
  client: "Claude Code",
  place: "default.localhost:8787",
  key: "019bc1a2-3d4e-7f00-8a1b-2c3d4e5f6071",
};
const removal: Question = {
  title: 'Delete the link "Spring" permanently',
  button: "Delete link",
  destroys: true,
  facts: [
    { name: "address", kind: "address", address: "http://default.localhost:8787/spring" },
    { name: "url", text: '"https://example.com/spring"' },
    { name: "clicks", text: "1234" },
  ],
};

const change: Question = {
  title: 'Point the link "Spring sale" to "https://\u0430pple.com/new"',
  button: "Change link",
  recent: {
    at: Date.UTC(2026, 0, 15, 12) - 20_000,
    time: "2026-01-15T11:59:40Z",
    by: "this key",
    was: '"https://example.com"',
  },
  facts: [
    {
      name: "url",
      kind: "change",
      from: '"https://example.com/spring/sale?utm_source=mail&utm_medium=spring"',
      to: '"https://\u0430pple.com/spring/sale?utm_source=mail&utm_medium=summer"',
      note: 'host "xn--pple-43d.com"',
      warnings: ['"\u0430pple" in the host mixes Latin and Cyrillic letters'],
    },
    {
      name: "android_fallback_url",
      text: '"https://müller.example"',
      note: 'host "xn--mller-kva.example"',
    },
    { name: "ios_app", kind: "change", from: '"Example" ("com.example.app")', to: "nothing" },
    { name: "name", kind: "change", to: '"Summer"' },
    { name: "address", kind: "address", address: "http://default.localhost:8787/a%20b/%C3%BC" },
    {
      name: "association file",
      kind: "lines",
      lines: [
        { kind: "removed", text: '"appID": "ABCDE12345.com.example.app",' },
        { kind: "added", text: '"appID": "NEWTEAM123.com.example.app",' },
      ],
    },
    {
      name: "visitors will see",
      kind: "list",
      items: [
        "iPhone: the app opens",
        `Computer: a redirect to "https://example.com/${"x".repeat(90)}"`,
      ],
    },
    { name: '"a link of mine"', text: "1 click" },
  ],
};

type QuestionOptions = { readonly pin?: string; readonly key_print?: string };

async function ask(preview: Question, { key_print = "a key", ...rest }: QuestionOptions = {}) {
  const json = JSON.stringify({ ...preview, asker });
  const wanted = { digest: `${Math.random()}`, preview: json, key_print, ...rest };
  const asked = await assistant.state.approvals.askPage(wanted);
  if (!("waits" in asked)) throw new Error(`it was ${asked.decision} before it was asked`);
  const { id } = asked.waits;
  return { id, digest: wanted.digest, url: await listener.open(approvalPath, id) };
}

async function open(url: string): Promise<Page> {
  const page = await openTab({ viewport: sizes.desktop });
  await page.goto(url);
  return page;
}

async function openLocked(wrong: number): Promise<Page> {
  const page = await open((await ask(removal, { pin: "a hash" })).url);
  for (let times = 0; times < wrong; times += 1) {
    await page.locator("[name=pin]").fill("000000");
    await pressButton(page, "approve");
  }
  return page;
}

async function openDecided(status: "approved" | "used" | "declined" | "reported"): Promise<Page> {
  const { id, url, digest } = await ask(removal);
  const isApproved = status === "approved" || status === "used";
  await assistant.state.approvals.decidePage(id, isApproved ? "approved" : "declined");
  const request = { digest, preview: "{}", key_print: "" };
  const isReported = status === "used" || status === "reported";
  if (isReported) await assistant.state.approvals.askPage(request);
  return open(url);
}

async function planMany(): Promise<Question> {
  const rows = Array.from({ length: 105 }, (_, row) => ({
    path: `spring/${row}`,
    name: row % 2 === 0 ? `Spring ${row}` : null,
    url: `https://example.com/old/${row}`,
  }));
  const bulk = { operation: "upsert", rows };
  const made = (await assistant.call("plan_links", bulk)).plan;
  await assistant.callTool("apply_plan", { plan_id: made.id });
  const changed = rows.map(({ path }) => ({ path, url: `https://example.org/new/${path}` }));
  const again = { operation: "upsert", rows: changed };
  const { plan } = await assistant.call("plan_links", again);
  return {
    title: "Point 105 links to example.org",
    button: "Change 105 links",
    count: 105,
    facts: [{ name: "hosts", kind: "list", items: ["example.org: 105 links, new here"] }],
    rows: { plan_id: plan.id },
  };
}

function writeBody(title: string): string {
  return `<h1>${title}</h1>\n<p>All shoes</p>\n{% store_buttons %}\n`;
}

async function publish(): Promise<Page> {
  const css = "h1 { color: teal; font-size: 48px }";
  const call = async (text: object) => await assistant.call("publish_template", { ...text });
  const first = await call({ body: writeBody("Spring"), css });
  await assistant.state.approvals.decidePage(readId(first.error.approval.url), "approved");
  await call({ body: writeBody("Spring"), css });
  const next = await call({ body: writeBody("Summer sale"), css });
  return open(next.error.approval.url);
}

function readId(url: string): string {
  return url.split("/").at(-1) ?? "";
}

const states: Readonly<Record<string, () => Promise<Page>>> = {
  waiting: async () => open((await ask(removal)).url),
  "waiting with a change": async () => open((await ask(change)).url),
  "invalid token": async () => {
    const page = await open((await ask(removal)).url);
    await page.evaluate("document.querySelector('[name=token]').value = 'x'");
    return pressButton(page, "approve");
  },
  "PIN required": () => openLocked(0),
  "PIN wrong": () => openLocked(2),
  "PIN attempts used up": () => openLocked(5),
  "PIN blocked": async () => {
    for (let page = 0; page < 4; page += 1) {
      const { id } = await ask(removal, { pin: "a hash" });
      for (let guess = 0; guess < 5; guess += 1) {
        await assistant.state.counters.take({ pin_of_approval: id, pin_of_key: "a key" });
      }
    }
    return openLocked(0);
  },
  "a plan's rows": async () => open(`${(await ask(await planMany())).url}?page=5`),
  "a deleted plan": async () =>
    open((await ask({ ...removal, rows: { plan_id: "plan_gone" } })).url),
  "a page template": publish,
  "a page template that is too long": async () => {
    const left_out = "The page is too long to show here.";
    return open((await ask({ ...removal, frames: { left_out } })).url);
  },
  "long texts": async () => {
    const lines = Array.from({ length: 900 }, (_, at) => {
      return {
        kind: at < 450 ? "removed" : "added",
        text: `${at} ${hashValue([`${at}`])}`,
      } as const;
    });
    const to = lines.map(({ text }) => text).join("-");
    const facts = [
      { name: "css", kind: "lines", lines } as const,
      { name: "url", kind: "change", from: `https://example.com/${to.slice(99)}`, to } as const,
      { name: "links", kind: "list", items: lines.map(({ text }) => text) } as const,
    ];
    return open((await ask({ ...removal, facts })).url);
  },
  approved: () => openDecided("approved"),
  used: () => openDecided("used"),
  declined: () => openDecided("declined"),
  "declined and reported": () => openDecided("reported"),
  expired: () => listener.open(approvalPath, "over").then(open),
  "from another host": async () =>
    open((await ask(removal)).url.replace("127.0.0.1", "rebound.localhost")),
  "internal error": async () => {
    const { url } = await ask(removal);
    isBroken = true;
    return open(url);
  },
};

const texts: Readonly<Record<string, string>> = {
  waiting: "Answer within 5 minutes",
  "waiting with a change": "Changed 20 seconds ago by this key",
  "invalid token": "Press one of its buttons",
  "PIN required": "5 tries are left",
  "PIN wrong": "3 tries are left",
  "PIN attempts used up": "Too many wrong PINs",
  "PIN blocked": "enter a PIN again in 60 minutes",
  "a plan's rows": "Links 101 to 105 of 105",
  "a deleted plan": "no longer exists",
  "a page template that is too long": "too long to show",
  "long texts": "899 zwkbHSENjvRx7",
  approved: "ask it to continue",
  used: "has used this approval",
  declined: "Your assistant will not do this",
  "declined and reported": "Your assistant knows that you declined",
  expired: "It expired after five minutes",
  "from another host": "Open the address exactly",
  "internal error": "Reference: a1b2c3",
  "a page template": "How the page looks",
};

test.each(Object.entries(states))(
  "the approval page has no accessibility violations: %s",
  async (name, make) => {
    const page = await make();
    const text = await page.getByRole("main").innerText();
    expect(text).toContain(texts[name]);
    await lookAtPage(page, name);
  },
);
