import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Internet } from "../../src/network/hosts/ask-address.ts";
import { createDestinationCheck } from "../../src/network/hosts/check-destinations.ts";

/** Strangers' hosts, as real servers of this machine that count as public here. */

const publicPlace = "127.0.0.1";
const privatePlace = "127.0.0.2";

let server: Server;
let port: number;
let asked: IncomingMessage[] = [];
/** The address of this machine at which each of them came. */
let places: string[] = [];
const noPublicHost = "no host of the public internet";
/** What each name leads to; each look takes the next one, and the last stays. */
const names = new Map<string, readonly (readonly string[])[]>();
const missing = new Set<string>();
const looked: string[] = [];
const alarms = new Set<() => void>();

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request);
    places.push(request.socket.localAddress ?? "");
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://a.example");
    const to = searchParams.get("to");
    if (pathname === "/silent") {
      // The last that was set is that of the host.
      [...alarms].at(-1)?.();
      return;
    }
    if (pathname === "/head") {
      response.writeHead(request.method === "HEAD" ? 405 : 200).end("x".repeat(1_000_000));
    } else if (to !== null) response.writeHead(302, { location: to }).end();
    else response.writeHead(Number(pathname.slice(1)) || 200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = [];
  places = [];
  looked.length = 0;
  names.clear();
  missing.clear();
  alarms.clear();
});

function resolve(hostname: string): Promise<readonly string[]> {
  looked.push(hostname);
  if (missing.has(hostname)) return Promise.reject(new Error("ENOTFOUND"));
  if (/^[\d.]+$|:/.test(hostname)) return Promise.resolve([hostname]);
  const [next = [publicPlace], ...later] = names.get(hostname) ?? [];
  if (later.length > 0) names.set(hostname, later);
  return Promise.resolve(next);
}

const write = (host: string, path = "/") => `http://${host}:${port}${path}`;
const leadTo = (address: string) => `/go?to=${encodeURIComponent(address)}`;

async function ask(
  addresses: readonly string[],
  given: { budget?: number; signal?: AbortSignal } = {},
) {
  const internet: Internet = {
    resolve,
    isPublic: (address) => address === publicPlace,
    ports: new Set([port]),
  };
  const check = createDestinationCheck({
    internet,
    setAlarm: (_milliseconds, ring) => {
      alarms.add(ring);
      return () => alarms.delete(ring);
    },
    spend: (_key, hosts) => Promise.resolve(Math.min(hosts, given.budget ?? hosts)),
  });
  const hosts = addresses.map((address) => ({ host: address, addresses: [address] }));
  const { outcomes, left } = await check(
    hosts,
    "key",
    given.signal ?? new AbortController().signal,
  );
  return { outcomes: addresses.map((address) => outcomes.get(address)), left };
}

async function askOne(address: string) {
  return (await ask([address])).outcomes[0];
}

test("what answers is reached, and is told nothing of who asks", async () => {
  expect(await askOne(write("a.example", "/here?b=1"))).toEqual({ kind: "reached" });
  expect(asked.map(({ method, url }) => [method, url])).toEqual([["HEAD", "/here?b=1"]]);
  const names = Object.keys(asked[0]?.headers ?? {}).toSorted((a, b) => (a < b ? -1 : 1));
  expect(names).toEqual(["accept", "connection", "host", "user-agent"]);
});

test("a server that knows no HEAD is asked with GET", async () => {
  expect(await askOne(write("a.example", "/head"))).toEqual({ kind: "reached" });
  expect(asked.map(({ method }) => method)).toEqual(["HEAD", "GET"]);
});

test("what is not there is told by its status", async () => {
  expect(await askOne(write("a.example", "/404"))).toEqual({ kind: "error_status", status: 404 });
});

describe("redirects", () => {
  test("to another site are told, and those to what is below it are not", async () => {
    const elsewhere = write("a.example", leadTo(write("other.example", "/x")));
    const below = write("a.example", leadTo(write("www.a.example", "/x")));
    expect((await ask([elsewhere, below])).outcomes).toEqual([
      { kind: "redirects_elsewhere", host: "other.example" },
      { kind: "reached" },
    ]);
  });

  test("are followed three times, and no more", async () => {
    let address = write("a.example", "/end");
    for (let step = 0; step < 3; step += 1) address = write("a.example", leadTo(address));
    expect(await askOne(address)).toEqual({ kind: "reached" });
    const more = write("a.example", leadTo(address));
    expect(await askOne(more)).toEqual({ kind: "unreachable", reason: "more than 3 redirects" });
  });

  test.each([
    ["a private name", () => write("inside.example"), noPublicHost],
    ["a private address", () => write(privatePlace), noPublicHost],
    ["another port", () => "http://a.example:22/", "an unusual port"],
    ["no web address", () => "ftp://a.example/", "no web address"],
    ["a login", () => `http://me:pw@a.example:${port}/`, "a user name in the address"],
  ])("to %s are not followed", async (_, to, reason) => {
    names.set("inside.example", [[privatePlace]]);
    expect(await askOne(write("a.example", leadTo(to())))).toEqual({ kind: "unreachable", reason });
    expect(asked).toHaveLength(1);
  });
});

describe("nothing is asked of a host", () => {
  test.each([
    ["that is not public", [privatePlace]],
    ["of which one address is not public", [publicPlace, privatePlace]],
    ["that has no address", []],
    ["whose name is not there", undefined],
  ])("%s", async (_, addresses) => {
    if (addresses === undefined) missing.add("odd.example");
    else names.set("odd.example", [addresses]);
    const told = { kind: "unreachable", reason: noPublicHost };
    expect(await askOne(write("odd.example"))).toEqual(told);
    expect(asked).toEqual([]);
  });

  test("at its second look: the connection goes to the address that was looked at", async () => {
    names.set("rebind.example", [[publicPlace], [privatePlace]]);
    expect(await askOne(write("rebind.example"))).toEqual({ kind: "reached" });
    expect(looked).toEqual(["rebind.example"]);
    expect(places).toEqual([publicPlace]);
  });
});

describe("the bounds of a call", () => {
  test("a host that does not answer is given up", async () => {
    const silent = await askOne(write("a.example", "/silent"));
    expect(silent).toEqual({ kind: "unreachable", reason: "no answer in time" });
  });

  test("hosts beyond the key's budget are left", async () => {
    const { outcomes, left } = await ask([write("a.example"), write("b.example")], { budget: 1 });
    expect([outcomes, left]).toEqual([[{ kind: "reached" }, undefined], 1]);
  });

  test("a call that is cancelled ends", async () => {
    const cancelled = AbortSignal.abort(new Error("cancelled"));
    await expect(ask([write("a.example")], { signal: cancelled })).rejects.toThrow("cancelled");
    expect(asked).toEqual([]);
  });
});
