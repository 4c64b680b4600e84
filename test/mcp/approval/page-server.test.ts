import { once } from "node:events";
import { createServer, request } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createPageServer, type PageServer } from "../../../src/mcp/approval/page-server.ts";

/** The page server over stdio: on loopback, and open only while an approval waits. */

const path = "/approve/";
const minute = 60_000;
let listener: PageServer;

beforeEach(() => {
  // Only the timers of the listener are fake.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  listener = createPageServer((asked) =>
    Promise.resolve(new Response(new URL(asked.url).pathname)),
  );
});

afterEach(() => {
  listener.close();
  vi.useRealTimers();
});

/** The response there; undefined if the port is closed. */
function visit(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    // An open connection would prove nothing about the port.
    request(url, { agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve(text));
    })
      .on("error", () => resolve(undefined))
      .end();
  });
}

describe("the listener", () => {
  test("opens on loopback with the first approval, and has one address for all", async () => {
    const [first, second] = await Promise.all([
      listener.open(path, "first"),
      listener.open(path, "second"),
    ]);
    expect(first).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/approve\/first$/);
    expect(second).toBe(first.replace("first", "second"));
    expect(await listener.open(path, "first")).toBe(first);
    expect(await visit(first)).toBe("/approve/first");
  });

  test("the server stops reading a connection with 100 unanswered requests", async () => {
    let asked = 0;
    const busy = createPageServer(() => {
      asked += 1;
      return new Promise(() => undefined);
    });
    const { port } = new URL(await busy.open(path, "first"));
    const client = connect(Number(port), "127.0.0.1");
    client.write("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".repeat(1000));
    for (let turns = 0; turns < 200 || asked === 0; turns += 1) await setImmediate();
    expect(asked).toBe(100);
    client.destroy();
    busy.close();
  });

  test("closes a moment after the last approval is answered", async () => {
    const first = await listener.open(path, "first");
    const second = await listener.open(path, "second");

    listener.release("first");
    await vi.advanceTimersByTimeAsync(minute);
    expect(await visit(first)).toBe("/approve/first");

    listener.release("second");
    await vi.advanceTimersByTimeAsync(1999);
    expect(await visit(second)).toBe("/approve/second");
    await vi.advanceTimersByTimeAsync(1);
    expect(await visit(second)).toBeUndefined();
  });

  test("closes a minute after an approval expires", async () => {
    const url = await listener.open(path, "first");
    await vi.advanceTimersByTimeAsync(5 * minute);
    expect(await visit(url)).toBe("/approve/first");
    await vi.advanceTimersByTimeAsync(minute);
    expect(await visit(url)).toBeUndefined();
  });

  test("does not stay open for repeated calls", async () => {
    const url = await listener.open(path, "first");
    for (let minutes = 0; minutes < 5; minutes += 1) {
      await vi.advanceTimersByTimeAsync(minute);
      expect(await listener.open(path, "first")).toBe(url);
    }
    await vi.advanceTimersByTimeAsync(minute);
    expect(await visit(url)).toBeUndefined();
  });

  test("opens again for the next approval", async () => {
    const url = await listener.open(path, "first");
    listener.release("first");
    await vi.advanceTimersByTimeAsync(2000);
    expect(await visit(url)).toBeUndefined();
    expect(await visit(await listener.open(path, "second"))).toBe("/approve/second");
  });

  test("closes at once when the process ends", async () => {
    const url = await listener.open(path, "first");
    listener.close();
    expect(await visit(url)).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });
});

/** Other addresses at which this machine can be reached. */
async function listOtherAddresses(): Promise<readonly string[]> {
  const known = Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map(({ address, family }) => (family === "IPv6" ? `[${address}]` : address)),
  );
  // A link-local address needs a zone, which a URL cannot have.
  const usual = known.filter((host) => !host.startsWith("[fe80:"));
  const others = new Set(["127.0.0.2", "[::1]", ...usual]);
  others.delete("127.0.0.1");
  const everywhere = createServer((_, response) => response.end("here")).listen({ port: 0 });
  await once(everywhere, "listening");
  // A listening TCP server has an address with a port.
  const { port } = everywhere.address() as AddressInfo;
  const answers = [...others].map(async (host) => [host, await visit(`http://${host}:${port}/`)]);
  const reached = (await Promise.all(answers)).filter(([, answer]) => answer === "here");
  everywhere.close();
  await once(everywhere, "close");
  return reached.map(([host = ""]) => host);
}

test("the page is at one loopback address, whichever others the machine has", async (context) => {
  const others = await listOtherAddresses();
  context.skip(others.length === 0, "this machine has no address but 127.0.0.1");
  const url = await listener.open(path, "first");
  expect(await visit(url)).toBe("/approve/first");
  for (const host of others) {
    expect(await visit(url.replace("127.0.0.1", host)), host).toBeUndefined();
  }
});
