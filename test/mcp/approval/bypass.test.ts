import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApprovalRequest } from "../../../src/mcp/approval/question.ts";
import { digestRequest } from "../../../src/mcp/approval/require-approval.ts";
import { canonize } from "../../../src/text/digest.ts";
import {
  createAssistantWorld,
  readToken,
  type AssistantWorld,
} from "../../support/assistant-world.ts";
import type { RawCall, RawResult } from "../../support/mcp-http.ts";
import { openForAll } from "../../support/open-for.ts";

/** Forged, replayed, swapped, expired or simultaneous answers must not bypass approvals. */

const minute = 60_000;
const yes = { action: "accept", content: { approve: true } } as const;

function makeAct(
  given: Pick<ApprovalRequest, "tool" | "target"> & { args: unknown; state: unknown },
): ApprovalRequest {
  const args = given.args as ApprovalRequest["args"];
  return { ...given, args, question: { title: "", facts: [] } };
}

describe("the digest of an approval request", () => {
  test("does not depend on the order of the request's fields", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonize(reverse(value))).toBe(canonize(value));
        expect(JSON.parse(canonize(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 500 },
    );
  });

  test("changes with the key, server, tool, arguments, target and state", () => {
    const part = fc.oneof(fc.jsonValue(), fc.string());
    const parts = fc.record({ tool: fc.string(), args: part, target: fc.string(), state: part });
    const keys = fc.record({ key_print: fc.string(), realm: fc.string() });
    fc.assert(
      fc.property(parts, parts, keys, keys, (one, other, key, otherKey) => {
        const isSame = JSON.stringify([one, key]) === JSON.stringify([other, otherKey]);
        fc.pre(!isSame && canonize([one, key]) !== canonize([other, otherKey]));
        expect(digestRequest(makeAct(one), key)).not.toBe(digestRequest(makeAct(other), otherKey));
        // Two random requests differ in every part, so also swap one part at a time.
        for (const name of ["tool", "args", "target", "state"] as const) {
          const swapped = { ...one, [name]: other[name] };
          const isEqual = canonize(swapped) === canonize(one);
          const digest = digestRequest(makeAct(swapped), key);
          expect(digest === digestRequest(makeAct(one), key)).toBe(isEqual);
        }
        const otherRealm = digestRequest(makeAct(one), { ...key, realm: otherKey.realm });
        const isSameRealm = key.realm === otherKey.realm;
        expect(otherRealm === digestRequest(makeAct(one), key)).toBe(isSameRealm);
      }),
      { numRuns: 500 },
    );
  });
});

type Manipulation = {
  readonly name: string;
  readonly change: (sealed: string) => Promise<Partial<SealedCall>> | Partial<SealedCall>;
};

type SealedCall = {
  readonly sealed: unknown;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly key: string;
};

describe("a sealed approval", () => {
  let assistant: AssistantWorld;
  let link: string;
  let other: string;
  let app: string;
  let otherKey: string;
  let rows: unknown;
  let clients = 0;

  openForAll(createAssistantWorld, async (opened) => {
    assistant = opened;
    link = (await assistant.plant("link", { path: "spring", name: "Spring" })).id;
    other = (await assistant.plant("link", { path: "summer", name: "Summer" })).id;
    app = (await assistant.plant("ios_app", { bundle_id: "com.a", team_id: "ABCDE12345" })).id;
    otherKey = await assistant.world.addKey();
    rows = await recall(assistant);
  });

  function obtain(): Promise<string> {
    return ask({ name: "delete_link", arguments: { id: link } });
  }

  /** Asks as a new client each time, because a client with open questions gets a page instead. */
  async function ask(call: RawCall): Promise<string> {
    clients += 1;
    const clientInfo = { name: "waypost-tests", version: String(clients) };
    const { requestState } = await send({ ...call, clientInfo });
    expect(requestState).toBeTypeOf("string");
    return requestState;
  }

  function send(call: RawCall): Promise<RawResult> {
    return assistant.callRaw(call);
  }

  function use({ sealed, tool, args, key }: SealedCall): Promise<RawResult> {
    const answer = { inputResponses: { approval: yes }, requestState: sealed };
    return send({ name: tool, arguments: args, key, ...answer });
  }

  async function rename(name: string): Promise<void> {
    assistant.world.advance(200);
    const reply = await assistant.world.call("PATCH", `/links/${link}`, { body: { name } });
    expect(reply.status).toBe(200);
  }

  const manipulations: readonly Manipulation[] = [
    { name: "for another target", change: () => ({ args: { id: other } }) },
    { name: "for the target's path", change: () => ({ args: { id: "spring" } }) },
    {
      name: "for the target's UUID in capitals",
      change: () => ({ args: { id: link.toUpperCase() } }),
    },
    { name: "with another tool", change: () => ({ tool: "delete_ios_app", args: { id: app } }) },
    { name: "with another key", change: () => ({ key: otherKey }) },
    {
      name: "after the target changed",
      change: async () => {
        await rename(`Spring ${Math.random()}`);
        return {};
      },
    },
    {
      name: "after five minutes",
      change: () => {
        assistant.advance(5 * minute);
        return {};
      },
    },
    {
      name: "with the clock set to before its creation",
      change: () => {
        assistant.setClock(-minute);
        return {};
      },
    },
  ];
  const manipulation = fc.oneof(
    fc.constantFrom(...manipulations),
    fc.integer({ min: 0, max: 1e9 }).map((seed): Manipulation => ({
      name: `forged (${seed})`,
      change: (sealed) => {
        const [forged] = fc.sample(forge(sealed), { seed, numRuns: 1 });
        return { sealed: forged === sealed ? flip(sealed, 0, 0) : forged };
      },
    })),
    fc.option(fc.string(), { nil: undefined }).map((made): Manipulation => ({
      name: `made up: ${String(made)}`,
      change: () => ({ sealed: made }),
    })),
  );

  test("approves only the action that it was created for", async () => {
    await fc.assert(
      fc.asyncProperty(manipulation, async ({ change }) => {
        const sealed = await obtain();
        const sent = { sealed, tool: "delete_link", args: { id: link }, key: assistant.world.key };
        const result = await use({ ...sent, ...(await change(sealed)) });

        expect(result.structuredContent?.deleted).toBeUndefined();
        expect(assistant.writes).toEqual([]);
      }),
      { numRuns: 300 },
    );
    await rename("Spring");
    expect(await recall(assistant)).toEqual(rows);
  });

  test("used on a changed target stays invalid even if the change is reverted", async () => {
    const sealed = await obtain();
    const sent = { sealed, tool: "delete_link", args: { id: link }, key: assistant.world.key };
    await rename("Changed");
    expect((await use(sent)).structuredContent?.deleted).toBeUndefined();
    await rename("Spring");
    expect((await use(sent)).structuredContent?.deleted).toBeUndefined();
    expect(assistant.writes).toEqual([]);
  });

  test("approves nothing if its format is invalid", async () => {
    const sent = { tool: "delete_link", args: { id: link }, key: assistant.world.key };
    for (const sealed of ["x\u0000", "x".repeat(1_000_000), "\ud800"]) {
      const result = await use({ ...sent, sealed });
      expect(result.structuredContent?.deleted).toBeUndefined();
      expect(result.structuredContent?.error?.effect ?? "none").toBe("none");
    }
    expect(assistant.writes).toEqual([]);
  });

  test("approves exactly one call, whatever the order of the call's arguments", async () => {
    const fields = ["id", "team_id", "name", "custom_scheme"];
    const order = fc.shuffledSubarray(fields, { minLength: 4 });
    await fc.assert(
      fc.asyncProperty(order, order, fc.integer({ min: 2, max: 10 }), async (one, two, times) => {
        const before = assistant.writes.length;
        const team_id = `TEAM${String(before).padStart(6, "0")}`;
        const values = { id: app, team_id, name: "Other", custom_scheme: "other" } as const;
        const pick = (names: readonly string[]) =>
          Object.fromEntries(names.map((name) => [name, Reflect.get(values, name)]));
        const tool = "update_ios_app";
        const { key } = assistant.world;
        const sealed = await ask({ name: tool, arguments: pick(one), key });
        const again = { sealed, tool, args: pick(two), key };
        const results = await Promise.all(Array.from({ length: times }, () => use(again)));
        const done = results.filter((result) => result.structuredContent?.ios_app !== undefined);
        const changes = done.map((result) => Object.keys(result.structuredContent.change.fields));
        const changing = changes.filter((names) => names.length > 0).length;
        expect([changing, done.length]).toEqual([1, 1]);
        expect(assistant.writes).toHaveLength(before + done.length);
        expect((await readApp()).team_id).toBe(team_id);
      }),
      { numRuns: 40 },
    );
  });

  async function readApp() {
    return (await assistant.world.call("GET", `/ios_apps/${app}`)).body;
  }
});

describe("an approval page", () => {
  let assistant: AssistantWorld;
  let link: string;

  openForAll(createAssistantWorld, async (opened) => {
    assistant = opened;
    link = (await assistant.plant("link", { path: "spring", name: "Spring" })).id;
  });

  const hosts = ["evil.example", "evil.example:8787", "127.0.0.1.evil.example", "localhost.", ""];
  const origins = ["http://evil.example", "https://evil.example:8787", "null", "file://"];
  const types = ["text/plain", "multipart/form-data; boundary=x", "application/json", "", "x"];
  const decisions = ["", "Approve", "approve ", "approved", "yes", "approve,decline"];

  const right = {
    host: "127.0.0.1:8787",
    origin: "http://127.0.0.1:8787",
    type: "application/x-www-form-urlencoded",
  };

  type Attempt = typeof right & { readonly token: string; readonly decision: string };

  /** Generates attempts with only one or two mistakes, so that each check is tested. */
  function attempts(token: string): fc.Arbitrary<Attempt> {
    const wrong = fc.record({
      token: fc.oneof(forge(token), fc.string()).filter((made) => made !== token),
      host: fc.constantFrom(...hosts),
      origin: fc.constantFrom(...origins),
      type: fc.constantFrom(...types),
      decision: fc.constantFrom(...decisions),
    });
    const names = ["token", "host", "origin", "type", "decision"] as const;
    const chosen = fc.subarray([...names], { minLength: 1, maxLength: 2 });
    // A forged decline must be rejected too.
    const meant = fc.constantFrom("approve", "decline");
    return fc.tuple(wrong, chosen, meant).map(([made, mistakes, decision]) => ({
      token,
      ...right,
      decision,
      ...Object.fromEntries(mistakes.map((name) => [name, made[name]])),
    }));
  }

  test("rejects forged answers and can still be answered afterwards", async () => {
    const call = () => assistant.callTool("delete_link", { id: link });
    const { url } = (await call()).structured.error.approval;
    const token = readToken((await assistant.visit(url)).html);

    await fc.assert(
      fc.asyncProperty(attempts(token), async ({ host, origin, type, token: sent, decision }) => {
        const headers = { host, origin, "content-type": type };
        const page = await assistant.visit(url, { token: sent, decision }, headers);
        expect(page.status).toBe(403);
        expect(page.html).not.toMatch(/<h1>(?:Approved|Declined)/);
        expect((await call()).structured.error.approval.url).toBe(url);
      }),
      { numRuns: 300 },
    );

    expect(assistant.writes).toEqual([]);
    await assistant.press(url, "approve");
    expect((await call()).structured.deleted.id).toBe(link);
  });

  test("approves exactly one of several identical concurrent calls", async () => {
    const calls = fc.integer({ min: 2, max: 10 });
    await fc.assert(
      fc.asyncProperty(calls, calls, async (times, presses) => {
        assistant.world.advance(minute);
        const { id } = await assistant.plant("link", {});
        const before = assistant.writes.length;
        const call = () => assistant.callTool("delete_link", { id });
        const waiting = await Promise.all(Array.from({ length: times }, call));
        const urls = new Set(waiting.map(({ structured }) => structured.error.approval.url));
        expect(urls.size).toBe(1);
        const [url] = urls;

        const press = () => assistant.press(url, "approve");
        await Promise.all(Array.from({ length: presses }, press));
        const results = await Promise.all(Array.from({ length: times }, call));

        expect(results.filter(({ isError }) => !isError)).toHaveLength(1);
        expect(assistant.writes).toHaveLength(before + 1);
      }),
      { numRuns: 25 },
    );
  });

  test("accepts only the first of two conflicting answers", async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id } = await assistant.plant("link", {});
      const call = () => assistant.callTool("delete_link", { id });
      const { url } = (await call()).structured.error.approval;
      const both = ["approve", "decline"] as const;
      const pages = await Promise.all(both.map((decision) => assistant.press(url, decision)));
      const [title] = pages.map(({ html }) => /<h1>(\w+)/.exec(html)?.[1]);
      expect(pages.every(({ html }) => html.includes(`<h1>${title}`))).toBe(true);
      expect((await call()).isError).toBe(title === "Declined");
    }
  });
});

/** Generates variants of the text with flipped bits, or cut, added, doubled or swapped parts. */
function forge(text: string): fc.Arbitrary<string> {
  const at = fc.nat({ max: text.length - 1 });
  const [payload = "", mark = ""] = text.split(".");
  const flipped = fc.tuple(at, fc.nat({ max: 6 })).map(([i, bit]) => flip(text, i, bit));
  return fc.oneof(
    { weight: 6, arbitrary: flipped },
    at.map((end) => text.slice(0, end)),
    at.map((start) => text.slice(start + 1)),
    fc.string({ minLength: 1 }).map((more) => text + more),
    fc.constantFrom(`${mark}.${payload}`, `${payload}.`, `.${mark}`, `${text}.${mark}`, `${text}=`),
    at.map((i) => text.slice(0, i) + text.charAt(i).toUpperCase() + text.slice(i + 1)),
  );
}

function flip(text: string, at: number, bit: number): string {
  const turned = String.fromCharCode(text.charCodeAt(at) ^ (1 << bit));
  return text.slice(0, at) + turned + text.slice(at + 1);
}

function reverse(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverse);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, reverse(member)] as const);
  return Object.fromEntries(members.toReversed());
}

/** Reads every record that an approval could change, without its time of change. */
async function recall({ world }: AssistantWorld): Promise<unknown> {
  const { db } = world.store;
  const links = await db.selectFrom("links").selectAll().orderBy("id").execute();
  const apps = await db.selectFrom("ios_apps").selectAll().orderBy("id").execute();
  return [...links, ...apps].map((row) => ({ ...row, updated_at: 0 }));
}
