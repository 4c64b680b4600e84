import { Socket } from "node:net";
import { hostname } from "node:os";
import { Kysely, PostgresDialect, type PostgresPool as PoolOfKysely } from "kysely";
import { Pool, type PoolClient, type QueryResult } from "pg";
import { isBroken, isLost } from "./postgres-faults.ts";
import { refuseNul } from "./engine.ts";
import type { PoolMeasures } from "./sql.ts";

/**
 * Provides a limited number of PostgreSQL connections to Kysely. Behind PgBouncer, each transaction
 * may get another connection. So the pool uses no session state and no named statements.
 */
export type PostgresPool = {
  readonly openKysely: <Tables>(limits: StatementLimits) => Kysely<Tables>;
  readonly measure: () => PoolMeasures;
  /** Ends the running statements and closes all connections. */
  readonly close: () => Promise<void>;
};

type StatementLimits = {
  /** The time limit of a statement. A longer statement closes its connection. */
  readonly longest_ms: number;
  /**
   * True if a statement is repeated after its connection broke. Only valid outside of transactions.
   */
  readonly isRepeating?: boolean;
};

const longestConnect_ms = 5_000;
const longestIdle_ms = 30_000;
/** The types bigint and numeric, which the driver would return as text. */
const numberTypes = [20, 1700];

/**
 * The name of this process's connections. With it, `waypost migrate` finds processes that use a
 * database.
 */
export const connectionName = `waypost ${process.pid} ${hostname()}`;

/** Opens the pool. `explain` converts an error of the server or network to one for callers. */
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
    // The statement that uses a broken connection reports the error.
    client.on("error", () => undefined);
  });
  pool.on("error", () => undefined);
  let ended: Promise<void> | undefined;

  return {
    openKysely: <Tables>(limits: StatementLimits) => {
      const connect = () => holdConnection(() => pool.connect(), limits, explain);
      // Kysely's type includes cursors, which need another package.
      const adapted = { connect, end: () => Promise.resolve() } as unknown as PoolOfKysely;
      return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: adapted }) });
    },
    measure: () => {
      const { totalCount: open, idleCount: idle, waitingCount: waiting } = pool;
      return { open, idle, waiting };
    },
    close: () => {
      ended ??= pool.end();
      // The driver forgets connections whose login failed, but they would keep the process alive.
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
  { longest_ms, isRepeating = false }: StatementLimits,
  explain: (error: unknown) => unknown,
): Promise<HeldConnection> {
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
      // The driver's types lack the timeout.
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

/**
 * Renames SSL modes that the driver treats like verify-full, because it warns about them at every
 * start.
 */
function nameSslMode(url: string): string {
  if (/[?&]uselibpqcompat=true/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}
