import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Something in the place of a deployment, that answers as a test needs it and counts. */
export type Deployment = {
  readonly url: string;
  readonly requests: readonly IncomingMessage[];
  readonly connections: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export async function startDeployment(answer: Answer): Promise<Deployment> {
  const requests: IncomingMessage[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    requests.push(request);
    void answer(request, response);
  });
  server.on("connection", () => (connections += 1)).listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening TCP server has an address with a port.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A project without links. */
export const answerEmpty: Answer = (_, response) => {
  const meta = { page: 1, limit: 25, count: 0, last: 1, from: 0, to: 0 };
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ links: [], meta }));
};

/** The same, but nobody is answered before that is let go. */
export function holdAnswers(): { readonly answer: Answer; readonly letGo: () => void } {
  let letGo: () => void = () => undefined;
  const isLetGo = new Promise<void>((resolve) => (letGo = resolve));
  const answer: Answer = async (request, response) => {
    await isLetGo;
    await answerEmpty(request, response);
  };
  return { answer, letGo };
}

export const answerNever: Answer = () => undefined;
