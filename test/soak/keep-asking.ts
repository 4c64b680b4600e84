import { setTimeout } from "node:timers/promises";
import { ask, type Answer, type Question } from "../bench/load/ask.ts";

/** Clients who ask again and again, whatever they are answered, until they are told to stop. */

type Asking = {
  readonly askers: number;
  readonly next: () => Question;
  /** Told of every question: what it was answered, or that it was not, and how long that took. */
  readonly hear: (question: Question, answer: Answer | Error, time_ms: number) => void;
};

/** Who got no answer or a refusal comes back a little later, as clients do. */
const rest_ms = 20;

export function keepAsking(
  server: { readonly url: string },
  { askers, next, hear }: Asking,
): { readonly stop: () => Promise<void> } {
  let isOver = false;
  const askOn = async () => {
    while (!isOver) {
      const question = next();
      const asked = performance.now();
      const answer = await ask(server, question).catch((error: Error) => error);
      hear(question, answer, performance.now() - asked);
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

/** An answer in a few words. */
export function describeAnswer(answer: Answer | Error): string {
  return answer instanceof Error
    ? `no answer: ${answer.message}`
    : `${answer.status} ${answer.body.slice(0, 160)}`;
}
