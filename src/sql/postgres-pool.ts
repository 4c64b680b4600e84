import { Socket } from "node:net";
import { hostname } from "node:os";
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
  readonly openKysely: <Tables>(limits: Limits) => Kysely<Tables>;
  readonly measure: () => PoolMeasures;
  /** Ends the statements that are running. */
  readonly close: () => Promise<void>;
};

type Limits = {
  /** A statement without an answer by then closes its connection. */
  readonly longest_ms: number;
  /** For single statements outside transactions: one that met a broken connection runs again. */
  readonly isRepeating?: boolean;
};

const longestConnect_ms = 5_000;
const longestIdle_ms = 30_000;
/** bigint and numeric: the driver would return text, though our numbers fit. */
const numberTypes = [20, 1700];

/** By the name of its connections, `waypost migrate` finds a process that uses a database. */
export const connectionName = `waypost ${process.pid} ${hostname()}`;

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
    fallback_application_name: connectionName,
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

  return {
    openKysely: <Tables>(limits: Limits) => {
      const connect = () => holdConnection(() => pool.connect(), limits, explain);
      // Kysely's type also has cursors, which need a package of their own.
      const adapted = { connect, end: () => Promise.resolve() } as unknown as PoolOfKysely;
      return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: adapted }) });
    },
    measure: () => {
      const { totalCount: open, idleCount: idle, waitingCount: waiting } = pool;
      return { open, idle, waiting };
    },
    close: () => {
      ended ??= pool.end();
      // The driver forgets a connection whose login failed, and it would keep the process alive.
      for (const socket of sockets) socket.destroy();
      return ended;
    },
  };
}

type Connection = {
  readonly query: (text: string, values: readonly unknown[]) => Promise<QueryResult>;
  readonly release: () => void;
};

async function holdConnection(
  connect: () => Promise<PoolClient>,
  { longest_ms, isRepeating = false }: Limits,
  explain: (error: unknown) => unknown,
): Promise<Connection> {
  const throwExplained = (error: unknown): never => {
    throw explain(error);
  };
  let client: PoolClient | undefined = await connect().catch(throwExplained);
  let isUsable = true;
  const release = () => {
    client?.release(!isUsable);
    client = undefined;
  };

  async function run(text: string, values: readonly unknown[]): Promise<QueryResult> {
    if (client === undefined) throw new Error("a statement came after the end of its transaction");
    try {
      // The driver's types leave the time-out out.
      const query = { text, values: [...values], query_timeout: longest_ms };
      return await client.query(query);
    } catch (error) {
      isUsable &&= !isLost(error);
      throw error;
    }
  }

  async function runAgain(text: string, values: readonly unknown[]): Promise<QueryResult> {
    release();
    client = await connect();
    isUsable = true;
    return run(text, values);
  }

  return {
    query: async (text, values) => {
      refuseNul(values);
      const result = await run(text, values)
        .catch((error: unknown) => {
          if (!isRepeating || !isBroken(error)) throw error;
          return runAgain(text, values);
        })
        .catch(throwExplained);
      if (text === "commit" && result.command !== "COMMIT") {
        throw new Error("a statement failed, and the write went on");
      }
      return result;
    },
    release,
  };
}

/** The driver takes these for what they become here, and warns of that on every start. */
function nameSslMode(url: string): string {
  if (/[?&]uselibpqcompat=true/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}
