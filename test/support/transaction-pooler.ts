import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createBackends, type Backend, type Backends } from "./pooled-backends.ts";
import {
  readFrames,
  readTexts,
  startup,
  writeError,
  writeFrame,
  writeNumbers,
  type Frame,
} from "./postgres-frames.ts";

/**
 * What PgBouncer does in transaction mode, and harder: a client has a server's connection from the
 * first message of a transaction to its end, and the next time another one where there is any.
 * Before somebody else has a connection, its session is asked what was left there, and loses it.
 */
export type TransactionPooler = {
  /** The database's address, by way of here. */
  readonly url: string;
  /** What clients have left in a session; a program behind a pooler must leave nothing. */
  readonly left: readonly string[];
  /** How often a client was given another connection than the time before. */
  readonly countSwitches: () => number;
  /** The most clients of one database that were there at a time. */
  readonly countMostClients: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type Guest = {
  readonly socket: Socket;
  readonly backends: Backends;
  readonly pooler: Pooler;
  backend: Backend | undefined;
  last: Backend | undefined;
  /** What it says while it waits for a connection. */
  readonly said: Buffer[];
  /** Requests that the server has not said it is ready after. */
  unanswered: number;
};

type Pooler = {
  readonly target: URL;
  readonly databases: Map<string, Backends>;
  readonly guests: Map<number, Guest>;
  readonly left: string[];
  readonly mostBackends: number;
  switches: number;
  mostClients: number;
  numbers: number;
};

/** PgBouncer refuses others at the start of a connection, unless it was told not to. */
const knownSettings = new Set(
  ["user", "database", "application_name", "client_encoding"].concat([
    "DateStyle",
    "TimeZone",
    "standard_conforming_strings",
  ]),
);

/** With so many connections to each database. */
export async function openTransactionPooler(
  url: string,
  mostBackends = 3,
): Promise<TransactionPooler> {
  const target = new URL(url);
  const [databases, guests, left] = [new Map(), new Map(), []];
  const counts = { switches: 0, mostClients: 0, numbers: 0 };
  const pooler: Pooler = { target, databases, guests, left, mostBackends, ...counts };
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
    receive(socket, pooler);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const place = server.address();
  const own = new URL(url);
  own.port = String(typeof place === "object" ? place?.port : "");
  return {
    url: own.href,
    left: pooler.left,
    countSwitches: () => pooler.switches,
    countMostClients: () => pooler.mostClients,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      for (const { close } of pooler.databases.values()) close();
      await once(server, "close");
    },
  };
}

function receive(socket: Socket, pooler: Pooler): void {
  let guest: Guest | undefined;
  const read = readFrames(true, (frame) => {
    if (guest !== undefined) {
      hear(guest, frame);
      return;
    }
    const asked = frame.bytes.readInt32BE(4);
    if (asked === startup) guest = welcome(socket, frame.bytes, pooler);
    else socket.write("N");
  });
  socket.on("data", read);
}

function welcome(socket: Socket, bytes: Buffer, pooler: Pooler): Guest | undefined {
  const words = readTexts(bytes, 8);
  const settings = new Map<string, string>();
  for (let at = 0; words[at] !== ""; at += 2) settings.set(words[at] ?? "", words[at + 1] ?? "");
  const unknown = [...settings.keys()].find((name) => !knownSettings.has(name));
  if (unknown !== undefined) {
    refuse(socket, "08P01", `unsupported startup parameter: ${unknown}`);
    return undefined;
  }
  const backends = findBackends(settings.get("database") ?? "", pooler);
  const guest: Guest = {
    socket,
    backends,
    pooler,
    backend: undefined,
    last: undefined,
    said: [],
    unanswered: 0,
  };
  pooler.numbers += 1;
  const number = pooler.numbers;
  pooler.guests.set(number, guest);
  const clients = [...pooler.guests.values()].filter((other) => other.backends === backends);
  pooler.mostClients = Math.max(pooler.mostClients, clients.length);
  socket.once("close", () => {
    pooler.guests.delete(number);
    // What it had begun is taken back by the server; what it has committed stays.
    guest.backend?.socket.end();
  });
  const isReady = writeFrame("Z", Buffer.from("I"));
  socket.write(Buffer.concat([writeNumbers("R", 0), writeNumbers("K", number, number), isReady]));
  return guest;
}

function findBackends(database: string, { databases, target, left, mostBackends }: Pooler) {
  const known = databases.get(database);
  if (known !== undefined) return known;
  const url = new URL(target);
  url.pathname = `/${database}`;
  const noteLeft = (what: string) => left.push(what);
  const backends = createBackends({ url: url.href, most: mostBackends, noteLeft });
  databases.set(database, backends);
  return backends;
}

function hear(guest: Guest, { type, bytes }: Frame): void {
  const { socket, said, pooler } = guest;
  if (type === "X") {
    socket.end();
    return;
  }
  const [name, text] = type === "P" ? readTexts(bytes, 5) : [""];
  if (name !== "") {
    pooler.left.push(`a named statement: ${text}`);
    refuse(socket, "0A000", "statements behind a pooler have no names");
    return;
  }
  if (type === "Q" || type === "S") guest.unanswered += 1;
  if (guest.backend !== undefined) {
    guest.backend.socket.write(bytes);
    return;
  }
  said.push(bytes);
  if (said.length > 1) return;
  guest.backends.take(guest.last).then(
    (backend) => lend(guest, backend),
    (error: unknown) => refuse(socket, "08006", String(error)),
  );
}

/** Until the server says that it is ready, and in no transaction. */
function lend(guest: Guest, backend: Backend): void {
  const { socket, backends, pooler, last, said } = guest;
  if (socket.destroyed) {
    backends.giveBack(backend);
    return;
  }
  if (last !== undefined && last !== backend) pooler.switches += 1;
  guest.backend = backend;
  guest.last = backend;
  backend.lose = () => socket.destroy();
  backend.hear = ({ type, bytes }) => {
    if (type === "Z") guest.unanswered -= 1;
    const isIdle = type === "Z" && String.fromCharCode(bytes[5] ?? 0) === "I";
    if (isIdle && guest.unanswered === 0) {
      guest.backend = undefined;
      backends.giveBack(backend);
    }
    socket.write(bytes);
  };
  for (const bytes of said.splice(0)) backend.socket.write(bytes);
}

function refuse(socket: Socket, code: string, message: string): void {
  socket.end(writeError(code, message));
}
