import { once } from "node:events";
import { createServer, request } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createPageListener, type PageListener } from "../../../src/mcp/approval/page-listener.ts";

/** Over stdio, the approval page is served only on loopback, and only while an approval waits. */

const path = "/approve/";
const minute = 60_000;
let listener: PageListener;

beforeEach(() => {
  // Fake only the timers that the page listener uses.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  listener = createPageListener((asked) =>
    Promise.resolve(new Response(new URL(asked.url).pathname)),
  );
});

afterEach(() => {
  listener.close();
  vi.useRealTimers();
});

function visit(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    // Reusing an open connection would not show whether the port is still open.
    request(url, { agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve(text));
    })
      .on("error", () => resolve(undefined))
      .end();
  });
}

describe("the page listener", () => {
  test("opens one loopback port for all approvals", async () => {
    const [first, second] = await Promise.all([
      listener.open(path, "first"),
      listener.open(path, "second"),
    ]);
    expect(first).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/approve\/first$/);
    expect(second).toBe(first.replace("first", "second"));
    expect(await listener.open(path, "first")).toBe(first);
    expect(await visit(first)).toBe("/approve/first");
  });

  test("stops reading from a connection with 100 unanswered requests", async () => {
    let asked = 0;
    const busy = createPageListener(() => {
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

  test("closes its port two seconds after the last approval is answered", async () => {
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

  test("closes its port a minute after an approval expires", async () => {
    const url = await listener.open(path, "first");
    await vi.advanceTimersByTimeAsync(5 * minute);
    expect(await visit(url)).toBe("/approve/first");
    await vi.advanceTimersByTimeAsync(minute);
    expect(await visit(url)).toBeUndefined();
  });

  test("does not keep its port open longer if the same call is repeated", async () => {
    const url = await listener.open(path, "first");
    for (let minutes = 0; minutes < 5; minutes += 1) {
      await vi.advanceTimersByTimeAsync(minute);
      expect(await listener.open(path, "first")).toBe(url);
    }
    await vi.advanceTimersByTimeAsync(minute);
    expect(await visit(url)).toBeUndefined();
  });

  test("opens a port again for the next approval", async () => {
    const url = await listener.open(path, "first");
    listener.release("first");
    await vi.advanceTimersByTimeAsync(2000);
    expect(await visit(url)).toBeUndefined();
    expect(await visit(await listener.open(path, "second"))).toBe("/approve/second");
  });

  test("closes its port immediately when the process ends", async () => {
    const url = await listener.open(path, "first");
    listener.close();
    expect(await visit(url)).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });
});

async function listOtherAddresses(): Promise<readonly string[]> {
  const known = Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map(({ address, family }) => (family === "IPv6" ? `[${address}]` : address)),
  );
  // A link-local IP address needs a zone, which a URL cannot have.
  const usual = known.filter((host) => !host.startsWith("[fe80:"));
  const others = new Set(["127.0.0.2", "[::1]", ...usual]);
  others.delete("127.0.0.1");
  const everywhere = createServer((_, response) => response.end("here")).listen({ port: 0 });
  await once(everywhere, "listening");
  // A listening TCP server always has an AddressInfo, never a string or null.
  const { port } = everywhere.address() as AddressInfo;
  const answers = [...others].map(async (host) => [host, await visit(`http://${host}:${port}/`)]);
  const reached = (await Promise.all(answers)).filter(([, answer]) => answer === "here");
  everywhere.close();
  await once(everywhere, "close");
  return reached.map(([host = ""]) => host);
}

test("the page listener listens on 127.0.0.1 and on no other IP address", async (context) => {
  const others = await listOtherAddresses();
  context.skip(others.length === 0, "this machine has no address but 127.0.0.1");
  const url = await listener.open(path, "first");
  expect(await visit(url)).toBe("/approve/first");
  for (const host of others) {
    expect(await visit(url.replace("127.0.0.1", host)), host).toBeUndefined();
  }
});
