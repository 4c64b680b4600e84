import { Socket } from "node:net";
import { hostname } from "node:os";
import { Kysely, PostgresDialect, type PostgresPool as PoolOfKysely } from "kysely";
import { Pool, type PoolClient, type QueryResult } from "pg";
import { isBroken, isLost } from "./postgres-faults.ts";
import { refuseNul } from "./engine.ts";
import type { PoolMeasures } from "./sql.ts";

/**
 * Gives Kysely a limited number of PostgreSQL connections. It uses no session state and no named
 * statements, because PgBouncer may use a different connection for each transaction.
 */
export type PostgresPool = {
  /**
   * Limits each statement to `longest_ms`, and closes its connection after a timeout. If the
   * connection breaks during the first statement of a read or transaction, retries that statement.
   */
  readonly openKysely: <Tables>(longest_ms: number) => Kysely<Tables>;
  readonly measure: () => PoolMeasures;
  /** Aborts running statements and closes all connections. */
  readonly close: () => Promise<void>;
};

const longestConnect_ms = 5_000;
const longestIdle_ms = 30_000;
/** The OIDs of bigint and numeric, which the driver would otherwise return as strings. */
const numberTypes = [20, 1700];

/** The name of this process's connections. `waypost migrate` uses it to find running processes. */
export const connectionName = `waypost ${process.pid} ${hostname()}`;

/** Opens the pool. `explain` translates errors of the server or the network. */
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
    // Ignored, because the statement that uses the broken connection also gets the error.
    client.on("error", () => undefined);
  });
  pool.on("error", () => undefined);
  let ended: Promise<void> | undefined;

  return {
    openKysely: <Tables>(longest_ms: number) => {
      const connect = () => holdConnection(() => pool.connect(), longest_ms, explain);
      // The cast is needed because Kysely's type requires cursors, which need another package.
      const adapted = { connect, end: () => Promise.resolve() } as unknown as PoolOfKysely;
      return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: adapted }) });
    },
    measure: () => {
      const { totalCount: open, idleCount: idle, waitingCount: waiting } = pool;
      return { open, idle, waiting };
    },
    close: () => {
      ended ??= pool.end();
      // The driver does not track connections whose login failed, but they keep the process alive.
      for (const socket of sockets) socket.destroy();
      return ended;
    },
  };
}

type HeldConnection = {
  readonly query: (text: string, values: readonly unknown[]) => Promise<QueryResult>;
  readonly release: () => void;
};

async function holdConnection(
  connect: () => Promise<PoolClient>,
  longest_ms: number,
  explain: (error: unknown) => unknown,
): Promise<HeldConnection> {
  const throwExplained = (error: unknown): never => {
    throw explain(error);
  };
  let client: PoolClient | undefined = await connect().catch(throwExplained);
  let lossError: unknown;
  let isFirst = true;
  const release = () => {
    client?.release(lossError !== undefined);
    client = undefined;
  };

  async function run(text: string, values: readonly unknown[]): Promise<QueryResult> {
    if (client === undefined) throw new Error("a statement came after the end of its transaction");
    // An earlier statement timed out. The driver would send this one only after it has ended.
    if (lossError !== undefined) throw lossError;
    try {
      // The driver's types lack `query_timeout`.
      const query = { text, values: [...values], query_timeout: longest_ms };
      return await client.query(query);
    } catch (error) {
      if (isLost(error)) lossError = error;
      throw error;
    }
  }

  async function runAgain(text: string, values: readonly unknown[]): Promise<QueryResult> {
    release();
    client = await connect();
    lossError = undefined;
    return run(text, values);
  }

  return {
    query: async (text, values) => {
      refuseNul(values);
      const mayRepeat = isFirst;
      isFirst = false;
      const result = await run(text, values)
        .catch((error: unknown) => {
          if (!mayRepeat || !isBroken(error)) throw error;
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

/** Renames SSL modes that the driver treats like verify-full, to avoid its warning about them. */
function nameSslMode(url: string): string {
  if (/[?&]uselibpqcompat=true/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}
