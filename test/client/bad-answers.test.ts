import { describe, expect, test } from "vitest";
import { CallFailure } from "../../src/client/outcome.ts";
import { openRemoteSender } from "../../src/client/remote-sender.ts";
import { contract } from "../../src/contract/index.ts";
import { openHostile, type FaultName } from "../support/hostile.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, origin } from "../support/world.ts";
import { createClientWithFaults, createTimedClient, type ClientWithFaults } from "./clients.ts";

/** How a broken remote server affects calls that only read. */

const { links, shortLinks } = contract;

let at: ClientWithFaults;
openForEach(createClientWithFaults, (opened) => (at = opened));

const temporaryFaults: readonly (readonly [
  FaultName,
  code: string,
  tries: number,
  words: RegExp,
])[] = [
  ["reset", "unreachable", 4, /was lost \(ECONNRESET\)/],
  ["close", "unreachable", 4, /was lost \(UND_ERR_SOCKET\)/],
  ["cut_length", "unreachable", 4, /was lost/],
  ["cut_chunked", "unreachable", 4, /was lost/],
  ["noise", "unreachable", 4, /was lost/],
  // Three tries of 15 seconds fit into 45 seconds.
  ["stall", "timed_out", 3, /the server did not respond in time/],
  ["stall_body", "timed_out", 3, /the server did not respond in time/],
  ["busy", "overloaded", 4, /status 503: "Request took too long/],
  ["failing", "overloaded", 4, /status 500: "Something went wrong on the server \(reference r-1\)/],
  ["html_502", "overloaded", 4, /status 502/],
  ["odd_status", "overloaded", 4, /status 799/],
];

describe("a read with a temporary failure", () => {
  test.each(temporaryFaults)('is retried after the fault "%s" and succeeds', async (misdeed) => {
    at.hostile.plan({ reads: [misdeed] });
    expect(await at.client.call(links.index, {})).toMatchObject({ links: [], meta: { count: 0 } });
    expect(at.hostile.received).toEqual(["GET /links", "GET /links"]);
  });

  test.each(temporaryFaults)(
    'gets the fault "%s" on every try and fails with the code %s after %i tries',
    async (misdeed, code, tries, words) => {
      at.hostile.plan({ reads: Array.from({ length: 9 }, () => misdeed) });
      const failure = await fail(at.client.call(links.index, {}));
      expect(failure).toMatchObject({ code, facts: { effect: "none", retry: "later" } });
      expect(failure.message).toMatch(words);
      expect(at.hostile.received).toHaveLength(tries);
    },
  );

  test("is retried even if it is the POST request that resolves a short link", async () => {
    at.hostile.plan({ reads: ["reset", "busy"] });
    const url = "http://default.localhost:8787/nothing";
    await expect(at.client.call(shortLinks.resolve, { url })).rejects.toMatchObject({
      status: 404,
    });
    expect(at.hostile.received).toHaveLength(3);
    expect(at.hostile.authorizations).toEqual([undefined, undefined, undefined]);
  });
});

describe("a response with a permanent fault", () => {
  const permanentFaults: readonly (readonly [Exclude<FaultName, "late">, words: RegExp])[] = [
    ["html_200", /no JSON/],
    ["html_201", /no JSON/],
    ["html_404", /status 404 and no JSON/],
    ["misdirected", /status 421 and no JSON/],
    ["half_json", /no JSON/],
    ["other_json", /JSON that does not match this API/],
    ["huge", /larger than 8 MiB/],
    ["redirect", /redirect \(status 307\), which Waypost does not follow/],
  ];

  test.each(permanentFaults)(
    'makes a read fail without a retry (fault "%s")',
    async (misdeed, words) => {
      at.hostile.plan({ reads: [misdeed, misdeed] });
      const failure = await fail(at.client.call(links.index, {}));
      expect(failure).toMatchObject({ code: "bad_response", facts: { effect: "none" } });
      expect(failure.message).toMatch(words);
      expect(at.hostile.received).toHaveLength(1);
      expect(at.hostile.strayed).toEqual([]);
    },
  );
});

describe("retries of reads", () => {
  test("wait longer each time, and respect the Retry-After header of a 503", async () => {
    at.hostile.plan({ reads: ["reset", "reset", "reset"] });
    await at.client.call(links.index, {});
    const [first = 0, second = 0, third = 0] = at.waits;
    expect(first).toBeGreaterThanOrEqual(150);
    expect(second).toBeGreaterThan(first);
    expect(third).toBeGreaterThan(second);

    at.hostile.plan({ reads: ["busy"] });
    await at.client.call(links.index, {});
    expect(at.waits.at(-1)).toBeGreaterThanOrEqual(1000);
  });
});

describe("calls to an unreachable server", () => {
  test('fail with "unreachable" and no effect if the server refuses the connection', async () => {
    await using world = await createWorld();
    const gone = await openHostile(world);
    await gone[Symbol.asyncDispose]();
    const remote = openRemoteSender();
    const { client, waits } = createTimedClient({ world, send: remote.send, origin: gone.origin });
    const failure = await fail(client.call(links.create, { path: "spring" }));
    expect(failure).toMatchObject({
      code: "unreachable",
      message: "The server cannot be reached (ECONNREFUSED).",
      facts: { effect: "none", retry: "later" },
    });
    expect(waits).toHaveLength(3);
    await remote.close();
  });

  test('fail with "unreachable" and no effect if TLS fails', async () => {
    const remote = openRemoteSender();
    const { client, waits } = createTimedClient({
      world: at.world,
      send: remote.send,
      origin: at.hostile.origin.replace("http:", "https:"),
    });
    const failure = await fail(client.call(links.create, { path: "spring" }));
    expect(failure).toMatchObject({ code: "unreachable", facts: { effect: "none" } });
    expect(failure.message).toMatch(/\(ERR_SSL_/);
    expect(waits).toHaveLength(3);
    expect(at.hostile.received).toEqual([]);
    await remote.close();
  });

  test("create a link only once if a retry reaches the server", async () => {
    const remote = openRemoteSender();
    const closed = await openHostile(at.world);
    await closed[Symbol.asyncDispose]();
    const ways = [closed.origin, closed.origin, at.hostile.origin];
    const { client } = createTimedClient({
      world: at.world,
      send: (request, signal) => {
        const url = request.url.replace(origin, ways.shift() ?? "");
        return remote.send({ ...request, url }, signal);
      },
    });
    expect(await client.call(links.create, { path: "spring" })).toMatchObject({ path: "spring" });
    expect(at.hostile.received).toEqual(["POST /links"]);
    await remote.close();
  });
});

async function fail(call: Promise<unknown>): Promise<CallFailure> {
  const error = await call.then(
    (answer) => new Error(`it went well: ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown,
  );
  if (error instanceof CallFailure) return error;
  throw error;
}
