import type { PostgresConnection, PostgresPool } from "./postgres-pool.ts";
import type { Reader } from "./reader.ts";
import type { RunEach } from "./run-statements.ts";

export type PostgresReader = Reader & { readonly each: RunEach };

const longestStatement_ms = 60_000;

const begin = [
  "begin isolation level repeatable read read only",
  `set local statement_timeout = ${longestStatement_ms}`,
];

/** A connection held while something long is read: in one transaction, and so of one moment. */
export function openPostgresReader(pool: PostgresPool): PostgresReader {
  let held: Promise<PostgresConnection> | undefined;
  let given: Promise<void> = Promise.resolve();

  async function hold(): Promise<PostgresConnection> {
    const connection = await pool.take();
    try {
      await connection.runAll(begin);
      return connection;
    } catch (error) {
      connection.giveBack(error);
      throw error;
    }
  }

  function letGo(): void {
    const holding = held;
    held = undefined;
    // Whoever could not have one has been told.
    given = holding?.then(giveBack, () => undefined) ?? given;
  }

  return {
    run: async (query) => {
      held ??= hold();
      return (await held).run(query, longestStatement_ms);
    },
    each: async (query, take) => {
      held ??= hold();
      await (await held).each(query, take, longestStatement_ms);
    },
    interrupt: () =>
      void held?.then(
        ({ cancel }) => cancel(),
        () => undefined,
      ),
    letGo,
    close: () => {
      letGo();
      return given;
    },
  };
}

async function giveBack(connection: PostgresConnection): Promise<void> {
  try {
    await connection.commit();
    connection.giveBack();
  } catch (error) {
    connection.giveBack(error);
  }
}
