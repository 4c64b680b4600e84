import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { Chance } from "../bulk/simulator/chance.ts";

/** A proxy between two programs that delays, cuts and resets their connections. */
export type FaultyProxy = {
  readonly port: number;
  readonly setTrouble: (trouble: Trouble) => void;
  /** How many connections have been broken so far. */
  readonly countBroken: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** What happens to each piece of data, in either direction. */
export type Trouble = {
  /** The longest delay. */
  readonly delay_ms: number;
  /** The probability that the connection ends in the middle of the piece. */
  readonly cut: number;
  /** The probability that the connection is reset, as after a loss of power. */
  readonly reset: number;
};

export const calm: Trouble = { delay_ms: 0, cut: 0, reset: 0 };

export async function openFaultyProxy(target: string, chance: Chance): Promise<FaultyProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let trouble = calm;
  let broken = 0;

  const pass = async (from: Socket, to: Socket): Promise<void> => {
    for await (const bytes of from as AsyncIterable<Buffer>) {
      const { delay_ms, cut, reset } = trouble;
      if (delay_ms > 0) await setTimeout(chance.between(0, delay_ms));
      if (chance.isLikely(cut)) {
        broken += 1;
        to.write(bytes.subarray(0, bytes.length / 2), () => to.destroy());
        from.destroy();
        return;
      }
      if (chance.isLikely(reset)) {
        broken += 1;
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
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();

  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    setTrouble: (next) => (trouble = next),
    countBroken: () => broken,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
