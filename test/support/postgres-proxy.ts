import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { Client } from "pg";

/** Use these for a PostgreSQL whose connection is cut, or that is reached through a pooler. */

export type PostgresProxy = {
  readonly url: string;
  /** Cuts the next commit's connection before the server gets it or after it has answered. */
  readonly cutAtCommit: (moment: "asked" | "answered") => void;
  /** Refuses new connections until `restore`. */
  readonly refuse: () => void;
  /** Cuts every connection, and until `restore` refuses new ones. */
  readonly cut: () => void;
  /** Discards the server's responses until `restore`. */
  readonly hang: () => void;
  readonly restore: () => void;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function openPostgresProxy(url: string): Promise<PostgresProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isCut = false;
  let isHanging = false;
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
      else if (!isHanging) client.write(bytes);
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
    hang: () => (isHanging = true),
    restore: () => (isCut = isHanging = false),
    [Symbol.asyncDispose]: async () => {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}

/** Like PgBouncer in transaction mode, but a client changes connections whenever it can. */
export type TransactionPooler = {
  readonly url: string;
  /** What clients have left in a session. Behind a pooler, a program must leave nothing. */
  readonly left: readonly string[];
  /** How often a client got a different connection than the time before. */
  readonly countSwitches: () => number;
  readonly countMostClients: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type PoolClient = {
  readonly socket: Socket;
  readonly backends: Backends;
  readonly pooler: Pooler;
  backend: Backend | undefined;
  last: Backend | undefined;
  /** What the client has sent while it waits for a connection. */
  readonly said: Buffer[];
  /** Requests after which the server has not yet reported that it is ready. */
  unanswered: number;
};

type Pooler = {
  readonly target: URL;
  readonly databases: Map<string, Backends>;
  readonly guests: Map<number, PoolClient>;
  readonly left: string[];
  readonly mostBackends: number;
  switches: number;
  mostClients: number;
  numbers: number;
};

/** By default, PgBouncer refuses a connection that starts with any other parameter. */
const knownSettings = new Set(
  ["user", "database", "application_name", "client_encoding"].concat([
    "DateStyle",
    "TimeZone",
    "standard_conforming_strings",
  ]),
);

/** `mostBackends` limits the connections to each database. */
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
  let guest: PoolClient | undefined;
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

function welcome(socket: Socket, bytes: Buffer, pooler: Pooler): PoolClient | undefined {
  const words = readTexts(bytes, 8);
  const settings = new Map<string, string>();
  for (let at = 0; words[at] !== ""; at += 2) settings.set(words[at] ?? "", words[at + 1] ?? "");
  const unknown = [...settings.keys()].find((name) => !knownSettings.has(name));
  if (unknown !== undefined) {
    refuse(socket, "08P01", `unsupported startup parameter: ${unknown}`);
    return undefined;
  }
  const backends = findBackends(settings.get("database") ?? "", pooler);
  const guest: PoolClient = {
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
    // The server rolls back an open transaction; committed ones stay.
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

function hear(guest: PoolClient, { type, bytes }: Frame): void {
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

/** Lends the connection until the server reports that it is ready and in no transaction. */
function lend(guest: PoolClient, backend: Backend): void {
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

type Backends = {
  /** Resolves with the longest free one, but not the client's last one if another is free. */
  readonly take: (last: Backend | undefined) => Promise<Backend>;
  /** Notes and discards what the session holds, before another client gets the connection. */
  readonly giveBack: (backend: Backend) => void;
  readonly close: () => void;
};

type Backend = {
  readonly socket: Socket;
  hear: (frame: Frame) => void;
  lose: () => void;
};

type PoolOptions = {
  readonly url: string;
  readonly most: number;
  readonly noteLeft: (what: string) => void;
};

type PoolWaiter = {
  readonly resolve: (backend: Backend) => void;
  readonly reject: (error: unknown) => void;
};

/** Queries everything that a session keeps after a transaction. */
const selectLeft = `select concat_ws(', ',
  (select 'settings ' || string_agg(name, ' ') from pg_settings where source = 'session'),
  (select 'statements ' || string_agg(name, ' ') from pg_prepared_statements),
  (select 'cursors ' || string_agg(name, ' ') from pg_cursors),
  (select 'listens to ' || string_agg(name, ' ') from pg_listening_channels() as name),
  (select 'locks ' || count(*) from pg_locks
   where locktype = 'advisory' and pid = pg_backend_pid() having count(*) > 0),
  (select 'tables ' || string_agg(relname, ' ') from pg_class
   where relnamespace = pg_my_temp_schema()))`;

function createBackends({ url, most, noteLeft }: PoolOptions): Backends {
  const free: Backend[] = [];
  const waiting: PoolWaiter[] = [];
  const clients = new Set<Client>();

  function hand(backend: Backend): void {
    const next = waiting.shift();
    if (next === undefined) free.push(backend);
    else next.resolve(backend);
  }

  function open(): void {
    const client = new Client(url);
    clients.add(client);
    client.on("error", () => undefined);
    client.connect().then(
      () => hand(speakFor(client)),
      (error: unknown) => {
        clients.delete(client);
        for (const { reject } of waiting.splice(0)) reject(error);
      },
    );
  }

  /** Returns the driver's connection after sign-in, to send a client's messages over its socket. */
  function speakFor(client: Client): Backend {
    const socket = readInside(client).connection.stream;
    const backend: Backend = { socket, hear: () => undefined, lose: () => undefined };
    const read = readFrames(false, (frame) => backend.hear(frame));
    socket.removeAllListeners("data").on("data", read);
    socket.once("close", () => {
      clients.delete(client);
      backend.lose();
      if (free.includes(backend)) free.splice(free.indexOf(backend), 1);
      if (waiting.length > 0) open();
    });
    return backend;
  }

  return {
    take: (last) => {
      const other = free.findIndex((backend) => backend !== last);
      const isAny = other >= 0 || clients.size >= most;
      const [backend] = isAny ? free.splice(Math.max(0, other), 1) : [];
      if (backend !== undefined) return Promise.resolve(backend);
      if (clients.size < most) open();
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    giveBack: (backend) => {
      let readies = 0;
      backend.lose = () => undefined;
      backend.hear = ({ type, bytes }) => {
        const [left = ""] = type === "D" ? readTexts(bytes, 11) : [];
        if (left !== "") noteLeft(left);
        if (type === "Z") readies += 1;
        if (readies === 2) hand(backend);
      };
      backend.socket.write(Buffer.concat([writeQuery(selectLeft), writeQuery("discard all")]));
    },
    close: () => {
      for (const client of clients) readInside(client).connection.stream.destroy();
    },
  };
}

type ClientInternals = { readonly connection: { readonly stream: Socket } };

/** Reads a private member of the driver. */
function readInside(client: Client): ClientInternals {
  return client as unknown as ClientInternals;
}

/** Messages of PostgreSQL's protocol (its manual, §54.7), as far as tests need them. */

type Frame = { readonly type: string; readonly bytes: Buffer };

/** Splits bytes into messages. A client's first one has no letter before its length. */
function readFrames(isFirstBare: boolean, take: (frame: Frame) => void) {
  let rest = Buffer.alloc(0);
  let isBare = isFirstBare;
  return (arrived: Buffer): void => {
    rest = Buffer.concat([rest, arrived]);
    for (;;) {
      const head = isBare ? 0 : 1;
      if (rest.length < head + 4) return;
      const size = head + rest.readInt32BE(head);
      if (rest.length < size) return;
      const type = isBare ? "" : String.fromCharCode(rest[0] ?? 0);
      const bytes = rest.subarray(0, size);
      rest = rest.subarray(size);
      // A client that asks for encryption is refused, and then sends its first message again.
      if (isBare) isBare = bytes.readInt32BE(4) !== startup;
      take({ type, bytes });
    }
  };
}

/** The protocol version 3.0, which begins a connection. */
const startup = 196_608;

function writeFrame(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(type.length + 4);
  head.write(type);
  head.writeInt32BE(body.length + 4, type.length);
  return Buffer.concat([head, body]);
}

function writeQuery(text: string): Buffer {
  return writeFrame("Q", Buffer.from(`${text}\0`));
}

function writeError(code: string, message: string): Buffer {
  return writeFrame("E", Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`));
}

function writeNumbers(type: string, ...numbers: readonly number[]): Buffer {
  const body = Buffer.alloc(numbers.length * 4);
  numbers.forEach((number, index) => body.writeInt32BE(number, index * 4));
  return writeFrame(type, body);
}

/** Reads texts that each end with a zero byte, from an offset on. */
function readTexts(bytes: Buffer, from: number): readonly string[] {
  return bytes.subarray(from).toString("utf8").split("\0");
}
