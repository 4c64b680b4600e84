import type { Socket } from "node:net";
import { Client } from "pg";
import { readFrames, readTexts, writeQuery, type Frame } from "./postgres-frames.ts";

/** Connections to a PostgreSQL server that clients of a pooler have one after the other. */
export type Backends = {
  /** The one that has been free for the longest; where there is another, not the client's last. */
  readonly take: (last: Backend | undefined) => Promise<Backend>;
  /** Asks the session what was left there, and empties it, before somebody else has it. */
  readonly giveBack: (backend: Backend) => void;
  readonly close: () => void;
};

export type Backend = {
  readonly socket: Socket;
  /** Whoever hears what the server says now. */
  hear: (frame: Frame) => void;
  /** Whoever is told that it broke. */
  lose: () => void;
};

type Opening = {
  readonly url: string;
  readonly most: number;
  /** Told what was left in a session. */
  readonly noteLeft: (what: string) => void;
};

type Waiting = {
  readonly resolve: (backend: Backend) => void;
  readonly reject: (error: unknown) => void;
};

/** All that outlives a transaction. */
const selectLeft = `select concat_ws(', ',
  (select 'settings ' || string_agg(name, ' ') from pg_settings where source = 'session'),
  (select 'statements ' || string_agg(name, ' ') from pg_prepared_statements),
  (select 'cursors ' || string_agg(name, ' ') from pg_cursors),
  (select 'listens to ' || string_agg(name, ' ') from pg_listening_channels() as name),
  (select 'locks ' || count(*) from pg_locks
   where locktype = 'advisory' and pid = pg_backend_pid() having count(*) > 0),
  (select 'tables ' || string_agg(relname, ' ') from pg_class
   where relnamespace = pg_my_temp_schema()))`;

export function createBackends({ url, most, noteLeft }: Opening): Backends {
  const free: Backend[] = [];
  const waiting: Waiting[] = [];
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

  /** The driver has signed in; from here on its socket says what a client says. */
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

type Inside = { readonly connection: { readonly stream: Socket } };

/** The driver has no type for it. */
function readInside(client: Client): Inside {
  return client as unknown as Inside;
}
