import { setTimeout } from "node:timers/promises";
import type { Server } from "../servers/http-server.ts";
import { ask, type Question } from "./ask.ts";

/** A server that is killed during many writes. */

type Writing = {
  readonly writers: number;
  readonly next: () => Question;
  /** The paths of all acknowledged writes. Those of this server are added. */
  readonly acknowledged: string[];
  /** The server is killed this long after its first acknowledgement. */
  readonly later_ms: number;
};

const patience_ms = 5000;

export async function killWhileWriting(
  server: Server,
  { writers, next, acknowledged, later_ms }: Writing,
): Promise<void> {
  const writing = Array.from({ length: writers }, () => writeOn(server, next, acknowledged));
  await Promise.all([...writing, killOnceWritten(server, acknowledged, later_ms)]);
}

/** A server that acknowledges nothing is killed as well. */
async function killOnceWritten(
  server: Server,
  acknowledged: readonly string[],
  later_ms: number,
): Promise<void> {
  const before = acknowledged.length;
  const given_ms = performance.now() + patience_ms;
  while (acknowledged.length === before && performance.now() < given_ms) await setTimeout(1);
  await setTimeout(later_ms);
  await server.kill();
}

/** Writes until the server has ended. */
async function writeOn(
  server: Server,
  next: () => Question,
  acknowledged: string[],
): Promise<void> {
  for (;;) {
    const question = next();
    const answer = await ask(server, question).catch(() => undefined);
    if (answer === undefined) return;
    if (answer.status !== 201) throw new Error(`${answer.status} ${answer.body}`);
    acknowledged.push((JSON.parse(answer.body) as { readonly path: string }).path);
  }
}
