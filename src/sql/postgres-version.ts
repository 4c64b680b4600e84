import { translatePostgresFault } from "./postgres-faults.ts";
import type { RunStatement } from "./run-statements.ts";
import { shareNext } from "./share-next.ts";

type Watched = {
  readonly run: RunStatement;
  /** Whether machines commit one after the other, and the coordinator before the others. */
  readonly isSpread: boolean;
  readonly now: () => number;
};

/**
 * Where a commit is known on one machine and not yet on the next, who looks at once may read what
 * was there before, and would keep it. So they are sent to look again, so long after the last one.
 */
const again_ms = [100, 1000, 10_000];

/**
 * Whoever asks is answered by a look that begins after the asking, or a change that was committed
 * between would stay unseen. The numbers of all writers are compared as they stand: none of them is
 * ever there twice.
 */
export function createVersionReader({ run, isSpread, now }: Watched) {
  let known = "";
  let version = 0;
  let changedAt = now();
  let looks: readonly number[] = [];

  async function ask(): Promise<number> {
    const { rows } = await run(selectWriters);
    const numbers = JSON.stringify(rows);
    const passed = now() - changedAt;
    const due = looks.filter((after) => after <= passed).length;
    looks = looks.slice(due);
    if (numbers !== known) {
      changedAt = now();
      looks = isSpread ? again_ms : [];
    }
    if (numbers !== known || due > 0) version += 1;
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
