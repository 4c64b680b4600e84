import { createHmac } from "node:crypto";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { createPageListener } from "../../../src/mcp/approval/page-listener.ts";
import { createApprovalPages } from "../../../src/mcp/approval/approval-page.ts";
import { isMasked, maskSecret } from "../../../src/text/secrets.ts";
import {
  createAssistantWorld,
  readToken,
  type AssistantWorld,
  type Page,
} from "../../support/assistant-world.ts";
import { createGate } from "../../support/clock.ts";
import { openForEach } from "../../support/open-for.ts";

/** Tests the HTTP responses of the approval page, and which answers are accepted. */

let assistant: AssistantWorld;
let url: string;

openForEach(createAssistantWorld, async (opened) => {
  assistant = opened;
  await assistant.plant("link", { path: "spring", name: '<b onclick="x">Spring</b>' });
  url = await ask();
});

async function ask(): Promise<string> {
  return (await call()).error.approval.url;
}

async function call() {
  return await assistant.call("delete_link", { id: "spring" });
}

function readTitle({ html }: Page): string {
  return /<h1>(.*?)<\/h1>/.exec(html)?.[1] ?? "";
}

/** Expects headers that forbid frames, scripts, caching and other hosts. */
function expectGuarded({ headers }: Pick<Page, "headers">): void {
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; /);
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain("form-action 'self'");
  expect(policy).not.toContain("script-src");
  expect(Object.fromEntries(headers)).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
  });
  expect(headers.get("set-cookie")).toBeNull();
}

describe("an open approval page", () => {
  test('contains one form with a hidden token and two buttons named "decision"', async () => {
    const page = await assistant.visit(url);
    expect(page.status).toBe(200);
    expectGuarded(page);
    expect(page.html.match(/<form method="post" class="stack">/g)).toHaveLength(1);
    const inputs = page.html.match(/<input[^>]*>/g);
    expect(inputs).toEqual([expect.stringMatching(/^<input type="hidden" name="token" value="/)]);
    const buttons = [...page.html.matchAll(/<button name="(\w+)" value="(\w+)"/g)];
    expect(buttons.map(([, name, value]) => [name, value])).toEqual([
      ["decision", "approve"],
      ["decision", "decline"],
    ]);
    expect(page.html).not.toMatch(/<script|<a |<img|<iframe|https?:\/\/(?!default\.localhost)/);
  });

  test("shows the same preview that the assistant gets, with HTML escaped", async () => {
    const { preview } = (await call()).error.approval;
    const { html } = await assistant.visit(url);
    expect(html).not.toContain("<b onclick");
    const text = html
      .replace(/<style>.*<\/style>/s, "")
      .replace(/<[^>]*>/g, "\n")
      .replaceAll("&quot;", '"')
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">");
    for (const line of preview.split("\n")) {
      expect(text).toContain(line.replace(/^- [^:]*: /, ""));
    }
    expect(html).toContain("Answer within 5 minutes");
    assistant.advance(61_000);
    const later = (await assistant.visit(url)).html;
    expect(later).toContain("Answer within 4 minutes");
    expect(later).toContain("asked 1 minute ago");
  });

  test("rejects unsupported HTTP methods and can still be answered afterwards", async () => {
    for (const method of ["GET", "HEAD", "GET", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      const headers = { host: "127.0.0.1:8787" };
      const response = await assistant.fetchPage(new Request(url, { method, headers }));
      const isRead = method === "GET" || method === "HEAD";
      expect([method, response.status]).toEqual([method, isRead ? 200 : 405]);
      expect(response.headers.get("allow")).toBe(isRead ? null : "GET, HEAD, POST");
      expectGuarded(response);
      if (!isRead) expect(await response.text()).not.toContain("Spring");
    }
    expect(await ask()).toBe(url);
    await assistant.press(url, "approve");
    expect((await call()).deleted).toBeDefined();
  });

  test("rejects the form token of another approval page", async () => {
    await assistant.plant("link", { path: "summer" });
    const { structured } = await assistant.callTool("delete_link", { id: "summer" });
    const other = readToken((await assistant.visit(structured.error.approval.url)).html);
    const page = await assistant.visit(url, { token: other, decision: "approve" });
    expect(page.status).toBe(403);
    expect(page.html).toContain("The answer did not come from this page.");
    expect(await ask()).toBe(url);
  });

  test("rejects a form token signed with another secret", async () => {
    const { state } = assistant;
    const id = url.split("/").at(-1) ?? "";
    const sign = async (name: string) =>
      createHmac("sha256", await state.readSecret(name))
        .update(id)
        .digest();
    const rights = [await assistant.visit(url), await assistant.visit(url)].map(({ html }) =>
      readToken(html),
    );
    // The token is masked differently each time because the page is compressed.
    expect(new Set(rights).size).toBe(2);
    const secret = await sign("approval-pages");
    expect(rights.map((right) => isMasked(right, secret))).toEqual([true, true]);
    for (const other of [`.${rights[0]}`, `${rights[0]}=`, `${rights[0]} `, ""]) {
      expect(isMasked(other, secret)).toBe(false);
    }
    // Clients see signatures made with the secret of sealed approvals, so it must not work here.
    const page = await assistant.visit(url, {
      token: maskSecret(await sign("approvals")),
      decision: "approve",
    });
    expect(page.status).toBe(403);
    expect(await ask()).toBe(url);
  });

  test("rejects an oversized form", async () => {
    const token = readToken((await assistant.visit(url)).html);
    const form = { token, decision: "approve", more: "x".repeat(5000) };
    expect((await assistant.visit(url, form)).status).toBe(403);
    expect(await ask()).toBe(url);
  });

  test.each(["127.0.0.1:8787", "localhost:9999", "127.0.0.1"])(
    "accepts requests for the host %s",
    async (host) => {
      const page = await assistant.visit(url, undefined, { host, origin: `http://${host}` });
      expect(page.status).toBe(200);
    },
  );

  test.each([
    ["a request for another host", { host: "evil.example" }],
    ["a request from another origin", { origin: "http://evil.example" }],
    ["a request from the origin null", { origin: "null" }],
  ])("does not show the action in the response to %s", async (_, headers) => {
    const page = await assistant.visit(url, undefined, headers);
    expect(page.status).toBe(403);
    expectGuarded(page);
    expect(page.html).not.toContain("Spring");
    expect(readToken(page.html)).toBe("");
  });
});

describe("an approval page", () => {
  test("cannot be approved after it was declined", async () => {
    const token = readToken((await assistant.visit(url)).html);
    await assistant.press(url, "decline");
    const page = await assistant.visit(url, { token, decision: "approve" });
    expect(readTitle(page)).toBe("Declined");
    expect((await call()).error.code).toBe("approval_declined");
    expect(assistant.writes).toEqual([]);
  });

  test("returns 404 after five minutes, even if an answer is submitted", async () => {
    const token = readToken((await assistant.visit(url)).html);
    assistant.advance(5 * 60_000);
    for (const form of [undefined, { token, decision: "approve" }]) {
      const page = await assistant.visit(url, form);
      expect([page.status, readTitle(page)]).toEqual([404, "This approval has expired"]);
      expect(page.html).toContain("It expired after five minutes");
      expectGuarded(page);
    }
    expect(await ask()).not.toBe(url);
  });

  test("with an unknown ID looks the same as an expired approval page", async () => {
    const sealed = await assistant.callRaw({ name: "delete_link", arguments: { id: "spring" } });
    const others = ["x", "", sealed.requestState, `${url.split("/").at(-1)}/`, "..", "%00"];
    for (const other of others) {
      const page = await assistant.visit(`http://127.0.0.1:8787/approve/${other}`);
      expect([page.status, readTitle(page)]).toEqual([404, "This approval has expired"]);
    }
    const otherPath = await assistant.visit(url.replace("/approve/", "/another/"));
    expect(otherPath.status).toBe(404);
  });
});

test("each decision and each rejected answer on the approval page is logged once", async () => {
  const reports: unknown[] = [];
  const { fetch } = createApprovalPages({
    openState: () => Promise.resolve(assistant.state),
    hostnames: ["127.0.0.1"],
    checkPin: () => Promise.resolve(true),
    onDecided: (...decided) => reports.push(decided),
    onRefused: (...refused) => reports.push(refused),
    clock: { now: () => Date.UTC(2026, 0, 15, 12) },
    report: String,
  });
  const token = readToken((await assistant.visit(url)).html);
  const from = "203.0.113.9";
  const press = async (form: Record<string, string>, more: Record<string, string> = {}) => {
    const body = new URLSearchParams({ token, ...form });
    const headers = { host: "127.0.0.1", ...more };
    return (await fetch(new Request(url, { method: "POST", headers, body }), from)).status;
  };
  await fetch(new Request(url, { headers: { host: "127.0.0.1" } }), from);
  expect(reports).toEqual([]);

  const foreign = "The answer did not come from this page. Press one of its buttons.";
  expect(await press({ decision: "maybe" })).toBe(403);
  expect(await press({ decision: "decline", token: "x" })).toBe(403);
  expect(reports.splice(0)).toEqual([
    [foreign, from],
    [foreign, from],
  ]);
  expect(await press({ decision: "approve" }, { origin: "http://evil.example" })).toBe(403);
  expect(reports.splice(0)).toEqual([["The answer came from another page.", from]]);
  expect(await press({ decision: "decline" })).toBe(200);
  expect(reports.splice(0)).toEqual([[url.split("/").at(-1), "declined", from]]);
  expect(await press({ decision: "approve" })).toBe(200);
  expect(reports.splice(0)).toEqual([["This was already answered.", from]]);
  assistant.advance(5 * 60_000);
  expect(await press({ decision: "approve" })).toBe(404);
  expect(reports.splice(0)).toEqual([["This approval has expired.", from]]);
});

test("an approval request stays open if the submission of its form is interrupted", async () => {
  const answered = createGate();
  const server = createPageListener((request) =>
    assistant.fetchPage(request).finally(answered.open),
  );
  const at = new URL(await server.open("/approve/", url.split("/").at(-1) ?? ""));
  const socket = connect(Number(at.port), at.hostname);
  socket.write(
    `POST ${at.pathname} HTTP/1.1\r\nhost: ${at.host}\r\ncontent-length: 100\r\n` +
      "content-type: application/x-www-form-urlencoded\r\n\r\ndecision=app",
    () => socket.destroy(),
  );
  await answered.opened;
  server.close();
  expect(assistant.reported).toEqual([]);
  expect(assistant.refused).toEqual([]);
  expect(await ask()).toBe(url);
});

test("after an internal error, the approval page shows only a reference ID", async () => {
  const { fetch } = createApprovalPages({
    openState: () => Promise.reject(new Error("/secret/path/state.db is locked")),
    hostnames: ["127.0.0.1"],
    checkPin: () => Promise.resolve(true),
    onDecided: () => {},
    onRefused: () => {},
    clock: { now: () => 0 },
    report: () => "abc123",
  });
  const response = await fetch(new Request(url, { headers: { host: "127.0.0.1" } }));
  const html = await response.text();
  expect(response.status).toBe(500);
  expect(html).toContain("Reference: abc123.");
  expect(html).not.toContain("secret");
  expectGuarded(response);
});
