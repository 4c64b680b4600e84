import { Socket } from "node:net";
import { Pool, Query as Statement, type PoolClient, type QueryResult } from "pg";
import { cancelStatement } from "./postgres-cancel.ts";
import { ConnectionLost, isBroken, isLost } from "./postgres-faults.ts";
import type { PoolMeasures } from "./sql.ts";
import {
  refuseNul,
  type Query,
  type Ran,
  type RunEach,
  type RunStatement,
} from "./run-statements.ts";

/**
 * A bounded number of connections to PostgreSQL. Nothing is kept in a session, and no statement has
 * a name: behind PgBouncer every transaction may have another server connection.
 */
export type PostgresPool = {
  /** Runs a statement by itself, on whichever connection is free. */
  readonly run: RunStatement;
  readonly take: () => Promise<PostgresConnection>;
  readonly measure: () => PoolMeasures;
  readonly close: () => Promise<void>;
};

/** A connection that nobody else uses until it is given back. */
export type PostgresConnection = {
  readonly run: (query: Query, longest_ms?: number) => Promise<Ran>;
  readonly each: (...given: [...Parameters<RunEach>, longest_ms: number]) => Promise<void>;
  /** Several statements in one message, without parameters. Answers what the last one found. */
  readonly runAll: (statements: readonly string[]) => Promise<Ran>;
  /** Ends the transaction; false where the server took it back instead. */
  readonly commit: () => Promise<boolean>;
  /** Asks the server to end the statement that is under way. */
  readonly cancel: () => void;
  /** With the error that its last statement met, where there was one. */
  readonly giveBack: (error?: unknown) => void;
};

const longestConnect_ms = 5_000;
const longestIdle_ms = 30_000;
/** A statement that takes longer is ended; the server does so itself where it was told. */
export const longestStatement_ms = 10_000;
/** So much later the way to the server is taken for broken. */
const patience_ms = 2_000;
/** Types of the server that come as text, though our numbers fit: bigint, and a sum of them. */
const numberTypes = [20, 1700];

export function openPostgresPool(url: string, mostConnections: number): PostgresPool {
  const sockets = new Set<Socket>();
  const pool = new Pool({
    connectionString: nameSslMode(url),
    max: mostConnections,
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
    // Whoever waits for a connection that breaks is told by its own statement.
    client.on("error", () => undefined);
  });
  // An idle one broke, and the pool has let go of it.
  pool.on("error", () => undefined);
  let closed: Promise<void> | undefined;
  const take = async () => holdClient(await pool.connect());

  async function runAlone(query: Query): Promise<Ran> {
    const connection = await take();
    try {
      const ran = await connection.run(query);
      connection.giveBack();
      return ran;
    } catch (error) {
      connection.giveBack(error);
      throw error;
    }
  }

  return {
    take,
    // A connection that was idle while the server started anew tells so when it is used.
    run: (query) =>
      runAlone(query).catch((error: unknown) => {
        if (!isBroken(error)) throw error;
        return runAlone(query);
      }),
    measure: () => {
      const { totalCount: open, idleCount: idle, waitingCount: waiting } = pool;
      return { open, idle, waiting };
    },
    close: () =>
      (closed ??= pool.end().finally(() => {
        // The driver forgets one over which no password was given, and it held the process up.
        for (const socket of sockets) socket.destroy();
      })),
  };
}

function holdClient(client: PoolClient): PostgresConnection {
  let isUsable = true;

  /** Rejects where no answer comes: the server was told to end it, and did not. */
  function watch<Answer>(running: Promise<Answer>, longest_ms: number): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      let timer = setTimeout(() => {
        cancelStatement(client);
        timer = setTimeout(() => {
          isUsable = false;
          reject(new ConnectionLost("Connection: no answer came in time"));
        }, patience_ms);
      }, longest_ms);
      running.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  return {
    run: async ({ sql, parameters }, longest_ms = longestStatement_ms) => {
      refuseNul(parameters);
      return readResult(await watch(client.query(sql, [...parameters]), longest_ms));
    },
    each: (query, take, longest_ms) => watch(takeEach(client, query, take), longest_ms),
    runAll: async (statements) => {
      const results = await watch(client.query(statements.join("; ")), longestStatement_ms);
      // The driver types one result, but answers a list where there were several statements.
      const last = [results].flat().at(-1);
      if (last === undefined) throw new Error("no statement was answered");
      return readResult(last);
    },
    commit: async () => {
      const { command } = await watch(client.query("commit"), longestStatement_ms);
      return command === "COMMIT";
    },
    cancel: () => cancelStatement(client),
    giveBack: (error) => client.release(!isUsable || isLost(error)),
  };
}

function takeEach(client: PoolClient, ...[query, take]: Parameters<RunEach>): Promise<void> {
  refuseNul(query.parameters);
  const statement = new Statement<Ran["rows"][number]>(query.sql, [...query.parameters]);
  return new Promise((resolve, reject) => {
    let isGivenUp = false;
    statement.on("row", (row) => {
      if (isGivenUp) return;
      try {
        take(row);
      } catch (error) {
        // The driver would not know what to do with it. What still comes belongs to nobody.
        isGivenUp = true;
        cancelStatement(client);
        reject(error);
      }
    });
    statement.on("error", reject);
    statement.on("end", () => resolve());
    client.query(statement);
  });
}

const changing = new Set(["INSERT", "UPDATE", "DELETE"]);

function readResult({ rows, rowCount, command }: QueryResult): Ran {
  if (!changing.has(command)) return { rows };
  return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
}

/** The driver takes these for what they become here, and warns of that on every start. */
function nameSslMode(url: string): string {
  if (/[?&]uselibpqcompat=true/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}
