import { request } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createListener, type Listener } from "../../src/mcp/approval/listener.ts";

/** The door of the approval page over stdio: on loopback, and open only while somebody waits. */

const path = "/approve/";
const minute = 60_000;
let listener: Listener;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  listener = createListener((asked) => Promise.resolve(new Response(new URL(asked.url).pathname)));
});

afterEach(() => {
  listener.close();
  vi.useRealTimers();
});

/** What is answered there; undefined where nobody listens. */
function visit(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    // A connection of its own: one that is kept would tell nothing about the door.
    request(url, { agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve(text));
    })
      .on("error", () => resolve(undefined))
      .end();
  });
}

/** Closing takes a moment of real time. */
async function untilClosed(url: string): Promise<void> {
  await vi.waitUntil(async () => (await visit(url)) === undefined, { interval: 5 });
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

  test("closes a moment after the last one was answered", async () => {
    const first = await listener.open(path, "first");
    const second = await listener.open(path, "second");

    listener.release("first");
    await vi.advanceTimersByTimeAsync(minute);
    expect(await visit(first)).toBe("/approve/first");

    listener.release("second");
    expect(await visit(second)).toBe("/approve/second");
    await vi.advanceTimersByTimeAsync(2000);
    await untilClosed(second);
  });

  test("closes when the time of an approval is over, and is there a little longer", async () => {
    const url = await listener.open(path, "first");
    await vi.advanceTimersByTimeAsync(5 * minute);
    expect(await visit(url)).toBe("/approve/first");
    await vi.advanceTimersByTimeAsync(minute);
    await untilClosed(url);
  });

  test("does not stay open for asking again and again", async () => {
    const url = await listener.open(path, "first");
    for (let minutes = 0; minutes < 5; minutes += 1) {
      await vi.advanceTimersByTimeAsync(minute);
      expect(await listener.open(path, "first")).toBe(url);
    }
    await vi.advanceTimersByTimeAsync(minute);
    await untilClosed(url);
  });

  test("opens again for the next one", async () => {
    const url = await listener.open(path, "first");
    listener.release("first");
    await vi.advanceTimersByTimeAsync(2000);
    await untilClosed(url);
    expect(await visit(await listener.open(path, "second"))).toBe("/approve/second");
  });

  test("closes at once when the process ends, whoever still waits", async () => {
    const url = await listener.open(path, "first");
    listener.close();
    await untilClosed(url);
    expect(vi.getTimerCount()).toBe(0);
  });
});
