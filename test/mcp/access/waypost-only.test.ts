import { beforeEach, expect, test } from "vitest";
import { messages } from "../../../src/contract/messages.ts";
import {
  explainAccess,
  answering,
  openStage,
  type Handler,
  type Staging,
} from "../../support/stage.ts";
import { openForEach } from "../../support/open-for.ts";
import { openStateForEach } from "../../support/store-place.ts";
import { createWorld, type World } from "../../support/world.ts";

/** Only Waypost has statistics, so other servers do not get the tool link_stats. */

const name = "link_stats";
const path = "/api/v1/link_stats";
const day_ms = 24 * 60 * 60_000;

let world: World;
const at = openStateForEach();
openForEach(createWorld, (opened) => (world = opened));
beforeEach(() => {
  at.now = Date.UTC(2026, 0, 15, 12);
});

async function start(given: Partial<Staging> = {}) {
  const { kept } = await at.open();
  return openStage({
    send: world.fetch,
    key: world.key,
    clock: { now: () => at.now, monotonic: () => at.elapsed },
    openMemory: () => Promise.resolve(kept),
    ...given,
  });
}

function answerStatsWith(answer: Handler): Handler {
  return (request) =>
    new URL(request.url).pathname === path ? answer(request) : world.fetch(request);
}

const isStatsRequest = (line: string) => line.includes("/link_stats");

test("link_stats is listed for a remote Waypost server", async () => {
  await world.call("POST", "/links", { body: { path: "spring" } });
  await using stage = await start();
  expect(await stage.listNames()).toContain(name);
  const { structured, isError } = await stage.callTool(name, { by: "link" });
  expect([isError, structured.stats.sentence]).toEqual([false, expect.stringMatching(/clicks/)]);
});

const page = { headers: { "content-type": "text/html" } };

test.each([
  ["a 404", answering(404, { error: messages.route_unknown })],
  ["an HTML page", async () => new Response("<p>Hello</p>", page)],
  ["unrelated JSON", answering(200, { links: [], meta: {} })],
  ["a 500", answering(500, { error: "Oops" })],
  ["a 401 with an unknown message", answering(401, { error: "Not permitted to do so." })],
])(
  "link_stats is not listed if the server answers the link_stats probe with %s",
  async (_, answer) => {
    const send = answerStatsWith(answer);
    await using stage = await start({ send });
    expect(await stage.listNames()).not.toContain(name);
    const { tools } = await explainAccess(stage);
    expect(tools).toContainEqual(expect.objectContaining({ tool: name, state: "denied" }));
    expect(stage.asked.filter(isStatsRequest)).toHaveLength(1);
    await stage.settle();
    await using next = await start({ send });
    expect(await next.listNames()).not.toContain(name);
    expect(next.asked.filter(isStatsRequest)).toEqual([]);
  },
);

test("the result of a link_stats probe is reused for a day, even by the next process", async () => {
  await using first = await start();
  await first.listNames();
  await first.settle();
  await using silent = await start({ probe: "off" });
  await silent.callTool("explain_access");
  expect(await silent.listNames()).toContain(name);
  expect(silent.asked).toEqual([]);
  at.now += day_ms;
  await using later = await start({
    send: answerStatsWith(answering(404, { error: "Not found" })),
  });
  expect(await later.listNames()).not.toContain(name);
});
