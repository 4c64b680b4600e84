import { getRequestListener } from "@hono/node-server";
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { openServer } from "../support/ports.ts";
import { readAtMost } from "../../src/network/read-body.ts";

/** Reading request bodies up to a limit. */

const most = 300_000;

type BodyRead = { readonly length: number | undefined; readonly listeners: number };

test("readAtMost reads a body only once and leaves no listeners behind", async () => {
  const seen: BodyRead[] = [];
  const listen = getRequestListener(async (_, { incoming }) => {
    const bytes = await readAtMost(incoming, most);
    // The stream of a `Request` would listen here and queue everything that is not read.
    seen.push({ length: bytes?.length, listeners: incoming.listenerCount("data") });
    return new Response(bytes?.subarray(-3).toString() ?? "too long");
  });
  const server = createServer((incoming, outgoing) => void listen(incoming, outgoing));
  await using opened = await openServer(server);
  const send = async (body: string | ReadableStream) => {
    const init = { method: "POST", body, duplex: "half" } as const;
    return (await fetch(opened.url, init)).text();
  };
  const third = "y".repeat(most / 3);
  expect(await send(`${"x".repeat(most - 3)}end`)).toBe("end");
  expect(await send("")).toBe("");
  expect(await send(cut(third, third, third))).toBe("yyy");
  expect(await send(cut(third, third, third, "y"))).toBe("too long");
  expect(await send("x".repeat(most + 1))).toBe("too long");
  expect(seen).toEqual(
    [most, 0, most, undefined, undefined].map((length) => ({ length, listeners: 0 })),
  );
});

function cut(...parts: readonly string[]): ReadableStream {
  return ReadableStream.from(parts).pipeThrough(new TextEncoderStream());
}
