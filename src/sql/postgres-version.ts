import { translatePostgresFault } from "./postgres-faults.ts";
import type { RunStatement } from "./run-statements.ts";

type Watched = {
  readonly run: RunStatement;
  readonly countCommits: () => number;
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
 * All that want to know at one moment ask once; but who has written since then asks anew. The
 * numbers of all writers are compared as they stand: none of them is ever there twice.
 */
export function createVersionReader({ run, countCommits, isSpread, now }: Watched) {
  let known = "";
  let version = 0;
  let changedAt = now();
  let looks: readonly number[] = [];
  let asked: { readonly commits: number; readonly answer: Promise<number> } | undefined;

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

  return (): Promise<number> => {
    const commits = countCommits();
    if (asked?.commits === commits) return asked.answer;
    const answer = ask()
      .catch((error: unknown) => {
        throw translatePostgresFault(error);
      })
      .finally(() => {
        if (asked?.answer === answer) asked = undefined;
      });
    asked = { commits, answer };
    return answer;
  };
}

const selectWriters = {
  sql: "select string_agg(id || ' ' || number, ',' order by id) from waypost_writers",
  parameters: [],
};
