import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, request as sendRequest, type IncomingHttpHeaders } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { createHost, type HostOptions } from "../../src/host/host.ts";
import type { Store } from "../../src/store/store.ts";
import { ringSoon } from "./alarms.ts";
import { createWorld, type World } from "./world.ts";

/** A link host on a port of this machine, in front of a small world. */
export type LinkHost = {
  readonly world: World;
  readonly port: number;
  /** Where the links of the world's first project live. */
  readonly origin: string;
  readonly visit: (path: string, given?: Visiting) => Promise<Visited>;
  /** Sends bytes as they are and answers what comes back, to the end of the connection. */
  readonly sendRaw: (bytes: string) => Promise<string>;
  /** Creates a resource through the API; it must succeed. */
  readonly add: (kind: "link" | "ios_app" | "android_app", fields: object) => Promise<Added>;
  readonly readClicks: (id: string) => Promise<number>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

// Tests read what was created as freely as a client in any language would.
// oxlint-disable-next-line typescript/no-explicit-any
type Added = any;

export type Visiting = {
  readonly method?: string;
  /** Another host name than that of the first project, port and all. */
  readonly host?: string;
  readonly agent?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
};

export type Visited = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bytes: Buffer;
};

/** What the host says to host names that are none of its projects'. */
export const elsewhere = "not a link host";

const desktop =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) " +
  "Chrome/121.0.0.0 Safari/537.36";

type Given = "secondOrigin" | "clock" | "findCountry" | "report" | "trustedProxies";
type LinkHostOptions = Partial<Pick<HostOptions, Given>> & {
  /** Puts something between the host and its store. */
  readonly wrap?: (store: Store) => Store;
};

export async function openLinkHost({
  wrap = (store) => store,
  ...options
}: LinkHostOptions = {}): Promise<LinkHost> {
  const world = await createWorld();
  // A connection that is kept outlives whatever a test does between two visits.
  const server = createServer({ keepAliveTimeout: 60_000 }).listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening TCP server has an address with a port.
  const { port } = server.address() as AddressInfo;
  const host = createHost({
    store: wrap(world.store),
    clicks: world.clicks,
    clock: world.clock,
    random: { bytes: (count) => randomBytes(count) },
    setAlarm: ringSoon,
    linkOrigin: `http://{subdomain}.localhost:${port}`,
    report: (error) => {
      throw error;
    },
    ...options,
  });
  server.on("request", (request, response) => {
    const hostname = (request.headers.host ?? "").replace(/:\d+$/, "").toLowerCase();
    void host.answer(request, response, hostname, () => response.writeHead(421).end(elsewhere));
  });
  const ownHost = `default.localhost:${port}`;

  return {
    world,
    port,
    origin: `http://${ownHost}`,
    visit: (path, given = {}) => visitAt(port, path, { host: ownHost, ...given }),
    sendRaw: (bytes) => sendRaw(port, bytes),
    add: async (kind, fields) => {
      const body = kind === "link" ? fields : { [kind]: fields };
      const reply = await world.call("POST", `/${kind}s`, { body });
      if (reply.status !== 201) throw new Error(reply.text);
      return reply.body;
    },
    readClicks: async (id) => (await world.call("GET", `/links/${id}`)).body.clicks,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await world[Symbol.asyncDispose]();
    },
  };
}

export async function visitAt(port: number, path: string, given: Visiting): Promise<Visited> {
  const { method = "GET", host = "", agent = desktop, headers, body } = given;
  const sent = sendRequest({
    host: "127.0.0.1",
    port,
    method,
    path,
    headers: {
      host,
      "user-agent": agent,
      ...(body && { "content-type": "application/json" }),
      ...headers,
    },
  });
  sent.end(body && JSON.stringify(body));
  const [response] = await once(sent, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  return {
    status: response.statusCode,
    headers: response.headers,
    text: bytes.toString(),
    bytes,
  };
}

async function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("latin1");
  // Node answers nobody who has ended before the answer is there: these bytes say when it ends.
  socket.write(Buffer.from(bytes, "latin1"));
  let text = "";
  for await (const chunk of socket) text += chunk;
  return text;
}
