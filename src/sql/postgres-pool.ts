import { Socket } from "node:net";
import { Kysely, PostgresDialect, type PostgresPool as PoolOfKysely } from "kysely";
import { Pool, type PoolClient, type QueryResult } from "pg";
import { isBroken, isLost } from "./postgres-faults.ts";
import { refuseNul } from "./run-statements.ts";
import type { PoolMeasures } from "./sql.ts";

/**
 * A bounded number of connections, as Kysely's own dialect takes them. Nothing is kept in a session
 * and no statement has a name: behind PgBouncer each transaction may get another connection.
 */
export type PostgresPool = {
  /** Kysely on these connections; a statement without an answer in time closes its connection. */
  readonly openKysely: <Tables>(limits: Limits) => Kysely<Tables>;
  readonly measure: () => PoolMeasures;
  /** Waits for the connections in use, or closes them. */
  readonly close: (how: "wait" | "now") => Promise<void>;
};

type Limits = {
  readonly longest_ms: number;
  /** For single statements outside transactions: one that met a broken connection runs again. */
  readonly isRepeating?: boolean;
};

const longestConnect_ms = 5_000;
const longestIdle_ms = 30_000;
/** bigint and numeric: the driver would return text, though our numbers fit. */
const numberTypes = [20, 1700];

/** `explain` turns an error of the server or the network into one that the rooms above know. */
export function openPostgresPool(
  url: string,
  most: number,
  explain: (error: unknown) => unknown,
): PostgresPool {
  const sockets = new Set<Socket>();
  const pool = new Pool({
    connectionString: nameSslMode(url),
    max: most,
    connectionTimeoutMillis: longestConnect_ms,
    idleTimeoutMillis: longestIdle_ms,
    allowExitOnIdle: true,
    keepAlive: true,
    fallback_application_name: "waypost",
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once("close", () => sockets.delete(socket));
    },
  });
  pool.on("connect", (client) => {
    for (const type of numberTypes) client.setTypeParser(type, Number);
    // The statement that uses a broken connection reports it.
    client.on("error", () => undefined);
  });
  pool.on("error", () => undefined);
  let ended: Promise<void> | undefined;
  const destroyAll = () => sockets.forEach((socket) => socket.destroy());

  return {
    openKysely: <Tables>(limits: Limits) => {
      const connect = () =>
        pool.connect().then(
          (client) => holdClient(client, limits, explain),
          (error: unknown) => {
            throw explain(error);
          },
        );
      const adapted = {
        connect: limits.isRepeating === true ? connectForEach(connect) : connect,
        end: () => Promise.resolve(),
      };
      // Kysely's type also has cursors, which need a package of their own.
      return new Kysely<Tables>({
        dialect: new PostgresDialect({ pool: adapted as unknown as PoolOfKysely }),
      });
    },
    measure: () => {
      const { totalCount: open, idleCount: idle, waitingCount: waiting } = pool;
      return { open, idle, waiting };
    },
    close: (how) => {
      ended ??= pool.end();
      if (how === "now") destroyAll();
      // The driver forgets a connection whose password was missing, and it kept the process alive.
      return ended.finally(destroyAll);
    },
  };
}

type Connection = {
  readonly query: (sql: string, parameters: readonly unknown[]) => Promise<QueryResult>;
  readonly release: () => void;
};

function holdClient(
  client: PoolClient,
  { longest_ms }: Limits,
  explain: (error: unknown) => unknown,
): Connection {
  let isUsable = true;
  let isReleased = false;
  const release = () => {
    if (!isReleased) client.release(!isUsable);
    isReleased = true;
  };
  const closeConnection = () => {
    isUsable = false;
    release();
  };

  return {
    query: async (sql, parameters) => {
      if (isReleased) throw new Error("a statement came after the end of its transaction");
      refuseNul(parameters);
      const timer = setTimeout(closeConnection, longest_ms);
      try {
        const result = await client.query(sql, [...parameters]);
        if (sql === "commit" && result.command !== "COMMIT") {
          throw new Error("a statement failed, and the write went on");
        }
        return result;
      } catch (error) {
        isUsable &&= !isLost(error);
        throw explain(error);
      } finally {
        clearTimeout(timer);
      }
    },
    release,
  };
}

/** Takes a connection for each statement, and another one where the first was broken. */
function connectForEach(connect: () => Promise<Connection>): () => Promise<Connection> {
  const runOnce: Connection["query"] = async (sql, parameters) => {
    const connection = await connect();
    try {
      return await connection.query(sql, parameters);
    } finally {
      connection.release();
    }
  };
  const connection: Connection = {
    query: (sql, parameters) =>
      runOnce(sql, parameters).catch((error: unknown) => {
        if (!isBroken(error)) throw error;
        return runOnce(sql, parameters);
      }),
    release: () => undefined,
  };
  return () => Promise.resolve(connection);
}

/** The driver takes these for what they become here, and warns of that on every start. */
function nameSslMode(url: string): string {
  if (/[?&]uselibpqcompat=true/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}
