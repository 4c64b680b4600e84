import { isDeepStrictEqual } from "node:util";
import { serveAnswer, type Server } from "../servers/http-server.ts";
import { takeBoth } from "../take-both.ts";
import { ask, type Question } from "./ask.ts";
import { fire, type RequestLoad } from "./fire.ts";
import { summarize, type Figures } from "./measure.ts";

/** Compares the cost of a server with that of a bare `node:http` server with the same response. */
export type ServerComparison = {
  readonly measure: (barrage: RequestLoad) => Promise<{ readonly ours: Figures; bare: Figures }>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function openBeside(
  server: Server,
  example: Question,
  warming: RequestLoad,
): Promise<ServerComparison> {
  const answer = await ask(server, example);
  const bare = await serveAnswer(answer);
  if (!isDeepStrictEqual(await ask(bare, example), answer)) throw new Error("the bare one differs");
  for (const one of [server, bare]) await fire(one, warming);
  let turn = 0;
  return {
    measure: async (barrage) => {
      const measure = async (one: Server) => summarize(await fire(one, barrage));
      turn += 1;
      const [ours, bareFigures] = await takeBoth(
        turn,
        () => measure(server),
        () => measure(bare),
      );
      return { ours, bare: bareFigures };
    },
    [Symbol.asyncDispose]: () => bare[Symbol.asyncDispose](),
  };
}
