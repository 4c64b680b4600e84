import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { ask } from "../bench/load/ask.ts";
import { askModern } from "../bench/load/http-tools.ts";
import { makeFolder } from "../bench/leftovers.ts";
import { serve } from "../bench/servers/http-server.ts";
import { listen } from "../support/ports.ts";
import { openChance, scale } from "./extent.ts";
import { keepAsking } from "./keep-asking.ts";
import { createLedger } from "./ledger.ts";
import { openSite } from "./site.ts";

/** A bad connection between the assistant's server and a remote API. */

const chance = openChance("remote-proxy");
const token = "soak-token-of-those-who-call-the-gateway";
/** The errors that a tool may return because of the connection. */
const codes = ["unreachable", "timed_out", "bad_response", "rate_limited"];

test("no write is lost or repeated when a remote connection is delayed, cut or reset", async () => {
  await using site = await openSite(undefined);
  const { keys } = await site.addBenchProject("remote", 1);
  await using service = await site.serve();
  await using proxy = await openFaultyProxy(service.url);
  using folder = makeFolder();
  const way = ["--base-url", `http://127.0.0.1:${proxy.port}`];
  const [key = ""] = keys;
  const env = { WAYPOST_API_KEY: key, WAYPOST_HTTP_TOKEN: token };
  await using server = await serve(folder.path, way, { env });
  const list = askModern(server, token).write("tools/call", {
    name: "list_links",
    arguments: { limit: 5 },
  });
  const { nextCall, hear, expectTrue } = createLedger([token], { codes });
  const loads = [
    keepAsking(server, { askers: 4, next: nextCall, hear }),
    keepAsking(server, { askers: 2, next: () => list, hear }),
  ];
  for (let turn = 0; turn < scale(20, 1); turn += 1) {
    proxy.setTrouble({ delay_ms: chance.pick([0, 100, 1000]), cut: 0.02, reset: 0.02 });
    await setTimeout(scale(3000, 1000));
    proxy.setTrouble(calm);
    await setTimeout(scale(500, 200));
  }
  await Promise.all(loads.map(({ stop }) => stop()));
  expect((await ask(server, list)).body).toContain('"links"');
  await service[Symbol.asyncDispose]();
  expectTrue(await site.readLinks());
});

/** What happens to each piece of data, in either direction. */
type ConnectionFault = {
  readonly delay_ms: number;
  /** The probability that the connection ends in the middle of the piece. */
  readonly cut: number;
  /** The probability that the connection is reset, as after a loss of power. */
  readonly reset: number;
};

const calm: ConnectionFault = { delay_ms: 0, cut: 0, reset: 0 };

/** A proxy between two programs that delays, cuts and resets their connections. */
async function openFaultyProxy(target: string) {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let trouble = calm;

  const pass = async (from: Socket, to: Socket): Promise<void> => {
    for await (const bytes of from as AsyncIterable<Buffer>) {
      const { delay_ms, cut, reset } = trouble;
      if (delay_ms > 0) await setTimeout(chance.between(0, delay_ms));
      if (chance.isLikely(cut)) {
        to.write(bytes.subarray(0, bytes.length / 2), () => to.destroy());
        from.destroy();
        return;
      }
      if (chance.isLikely(reset)) {
        to.resetAndDestroy();
        from.resetAndDestroy();
        return;
      }
      to.write(bytes);
    }
    to.end();
  };

  const server = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true });
    const both = [client, upstream] as const;
    for (const [one, other] of [both, both.toReversed()] as [Socket, Socket][]) {
      sockets.add(one);
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      // When one connection ends, the other one ends as well.
      one.on("error", () => undefined);
      pass(one, other).catch(() => other.destroy());
    }
  });
  return {
    port: await listen(server, 0),
    setTrouble: (next: ConnectionFault) => void (trouble = next),
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
