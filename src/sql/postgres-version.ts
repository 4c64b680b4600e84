import { translatePostgresFault } from "./postgres-faults.ts";
import type { RunStatement } from "./run-statements.ts";
import { shareNext } from "./share-next.ts";

/**
 * Whoever asks is answered by a look that begins after the asking, or a change that was committed
 * between would stay unseen. The numbers of all writers are compared as they stand: none of them is
 * ever there twice.
 */
export function createVersionReader(run: RunStatement) {
  let known = "";
  let version = 0;

  async function ask(): Promise<number> {
    const { rows } = await run(selectWriters);
    const numbers = JSON.stringify(rows);
    if (numbers !== known) version += 1;
    known = numbers;
    return version;
  }

  return shareNext(() =>
    ask().catch((error: unknown) => {
      throw translatePostgresFault(error);
    }),
  );
}

const selectWriters = {
  sql: "select string_agg(id || ' ' || number, ',' order by id) from waypost_writers",
  parameters: [],
};
