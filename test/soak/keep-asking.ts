import { setTimeout } from "node:timers/promises";
import { ask, type BenchResponse, type Question } from "../bench/load/ask.ts";

/** Clients that send requests until they are stopped, whatever the responses. */

type LoadOptions = {
  readonly askers: number;
  readonly next: () => Question;
  readonly hear: (question: Question, answer: BenchResponse | Error) => void;
};

/** After an error a client waits a little, as real clients do. */
const rest_ms = 20;

export function keepAsking(
  server: { readonly url: string },
  { askers, next, hear }: LoadOptions,
): { readonly stop: () => Promise<void> } {
  let isOver = false;
  const askOn = async () => {
    while (!isOver) {
      const question = next();
      const answer = await ask(server, question).catch((error: Error) => error);
      hear(question, answer);
      if (answer instanceof Error || answer.status >= 400) await setTimeout(rest_ms);
    }
  };
  const asking = Promise.all(Array.from({ length: askers }, askOn));
  return {
    stop: async () => {
      isOver = true;
      await asking;
    },
  };
}

export function describeAnswer(answer: BenchResponse | Error): string {
  return answer instanceof Error
    ? `no answer: ${answer.message}`
    : `${answer.status} ${answer.body.slice(0, 160)}`;
}
