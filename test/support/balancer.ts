import { createServer, request as openRequest, type IncomingMessage } from "node:http";
import { listen } from "./listening.ts";

/** A balancer of a few lines, in front of processes that serve the same data. */
export type Balancer = {
  readonly url: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** Which of the processes, by its address, gets a request. */
type Rule = {
  readonly pick: (request: IncomingMessage) => string;
  /** Told of each answer, and whom it is from. */
  readonly learn?: (from: string, answer: IncomingMessage) => void;
};

export async function startBalancer({ pick, learn }: Rule): Promise<Balancer> {
  const server = createServer((request, response) => {
    const target = pick(request);
    const { method, url = "/", headers } = request;
    const passed = openRequest(new URL(url, target), { method, headers, agent: false });
    passed.once("response", (answer) => {
      learn?.(target, answer);
      response.writeHead(answer.statusCode ?? 0, answer.headers).flushHeaders();
      answer.pipe(response);
    });
    passed.once("error", () => response.destroy());
    response.once("close", () => passed.destroy());
    request.pipe(passed);
  });
  const port = await listen(server, 0);
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Every request goes to another one than the one before. */
export function takeTurns(targets: readonly string[]): Rule {
  let turn = 0;
  return {
    pick: () => {
      turn += 1;
      return targets[turn % targets.length] ?? "";
    },
  };
}

/** Pins a session to the process that gave its id, as the README says under Many processes. */
export function stickToSessions(targets: readonly string[]): Rule {
  const { pick } = takeTurns(targets);
  const owners = new Map<string, string>();
  return {
    pick: (request) => owners.get(String(request.headers["mcp-session-id"])) ?? pick(request),
    learn: (from, { headers }) => {
      const id = headers["mcp-session-id"];
      if (typeof id === "string") owners.set(id, from);
    },
  };
}
