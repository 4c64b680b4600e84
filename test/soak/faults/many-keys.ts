import { Agent } from "node:http";
import { ask, type Question } from "../../bench/load/ask.ts";
import { openSession } from "../../bench/load/http-tools.ts";
import { pickTurn } from "../../bench/ring.ts";
import { modernCall } from "../../support/mcp-post.ts";
import { none, note } from "../check.ts";
import type { Fault } from "../fault.ts";

/** Many keys at once over few connections, whose calls all have the same ids. */
export const manyKeys: Fault = {
  name: "many-keys",
  what: "50 keys interleaved in 1,000 calls with colliding JSON-RPC ids",
  engines: ["sqlite", "postgres"],
  play: async ({ openSite, scale, chance }) => {
    await using site = await openSite();
    const keys: string[] = [];
    for (let turn = 0; turn < scale(50, 10); turn += 1) {
      keys.push(...(await site.addPlot(`tenant-${turn}`, 1)).keys);
    }
    await using server = await site.serve();
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const callers: Caller[] = [];
    for (const [index, token] of keys.entries()) {
      // Each has the same path, and its own name behind it.
      const body = { path: "spring", name: `only of ${index}.`, url: "https://example.com/" };
      await ask(server, { method: "POST", path: "/api/v1/links", token, body });
      const session = await openSession(server, token);
      callers.push({ token, own: body.name, session });
    }
    const calls = chance.shuffle(
      Array.from({ length: scale(1000, 100) }, (_, turn) => ({
        caller: pickTurn(callers, turn),
        // The same of every key; within a session each is used once.
        id: 1 + Math.floor(turn / callers.length),
        way: chance.between(0, 3),
      })),
    );
    const wrong: string[] = [];
    const foreign: string[] = [];
    await Promise.all(
      calls.map(async ({ caller, id, way }) => {
        const { body } = await ask(server, write(caller, id, way), agent);
        if (!body.includes(caller.own) || !body.includes(`"id":${id}`)) {
          wrong.push(`${body.slice(0, 160)} for ${caller.own}`);
        }
        const others = callers.filter(({ own }) => own !== caller.own && body.includes(own));
        foreign.push(...others.map(({ own }) => `${own} told to ${caller.own}`));
      }),
    );
    agent.destroy();
    return [
      note("keys", keys.length),
      note("calls", calls.length),
      none("a neighbour's row", foreign),
      none("other answers", wrong),
    ];
  },
};

type Caller = {
  readonly token: string;
  readonly own: string;
  readonly session: Awaited<ReturnType<typeof openSession>>;
};

/** In either era, of one link or of a list. */
function write({ token, session }: Caller, id: number, way: number): Question {
  const [name, args] = way < 2 ? ["get_link", { id: "spring" }] : ["list_links", {}];
  if (way % 2 === 0) {
    const { headers, body: text } = modernCall(token, id, name, args);
    return { method: "POST", path: "/mcp", headers, text };
  }
  const question = session.write("tools/call", { name, arguments: args });
  return { ...question, body: { ...question.body, id } };
}
