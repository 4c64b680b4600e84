import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** What stands between us and PostgreSQL, and cuts the way when a test says so. */
export type PostgresProxy = {
  /** The database's address, by way of here. */
  readonly url: string;
  /**
   * Cuts the next connection that asks for a commit: before the server has it, or when the server
   * has answered it, and the answer is lost.
   */
  readonly cutAtCommit: (moment: "asked" | "answered") => void;
  /** Refuses new connections until `restore`. */
  readonly refuse: () => void;
  /** Cuts every connection, and until `restore` refuses new ones. */
  readonly cut: () => void;
  readonly restore: () => void;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function openPostgresProxy(url: string): Promise<PostgresProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isCut = false;
  let cutting: "asked" | "answered" | undefined;

  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    const both = [client, upstream];
    const end = () => both.forEach((socket) => socket.destroy());
    for (const socket of both) {
      sockets.add(socket);
      socket.on("error", end).on("close", end);
    }
    let isLast = false;
    client.on("data", (bytes) => {
      if (cutting !== undefined && bytes.includes("commit\0")) {
        isLast = true;
        if (cutting === "asked") end();
        cutting = undefined;
        if (client.destroyed) return;
      }
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (isLast) end();
      else client.write(bytes);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const own = new URL(url);
  own.port = String(typeof address === "object" ? address?.port : "");
  const cutAll = () => sockets.forEach((socket) => socket.destroy());

  return {
    url: own.href,
    cutAtCommit: (moment) => (cutting = moment),
    refuse: () => (isCut = true),
    cut: () => {
      isCut = true;
      cutAll();
    },
    restore: () => (isCut = false),
    [Symbol.asyncDispose]: async () => {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}
