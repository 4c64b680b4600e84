import {
  Problem,
  validationFailed,
  type FieldProblem,
  type PlacedProblem,
  type StatedProblem,
} from "../contract/problem.ts";
import { isStoreToken } from "../contract/rules/link-rules.ts";
import type { Awaitable } from "../contract/awaitable.ts";
import type { Services } from "./handler.ts";

/**
 * The rules that a request breaks besides its fields of a wrong type. Its handler runs on the other
 * fields, and nothing that it does is kept.
 */
export async function findFurtherFaults(
  faults: readonly FieldProblem[],
  services: Services,
  run: (services: Services) => Awaitable<unknown>,
): Promise<readonly PlacedProblem[]> {
  try {
    await run({ ...services, store: discardWrites(services.store), noteVisit: undefined });
    return [];
  } catch (error) {
    const found = error instanceof Problem ? (error.faults ?? error.problems ?? []) : [];
    return found.filter(hasField).filter((one) => !faults.some((known) => isSpoiled(one, known)));
  }
}

function hasField(problem: StatedProblem): problem is PlacedProblem {
  return problem.field !== undefined;
}

/** Whether a rule was broken only because a field of a wrong type was left out. */
function isSpoiled({ field }: FieldProblem, known: FieldProblem): boolean {
  const isPair = isStoreToken(field) && isStoreToken(known.field);
  return isPair || known.field.split(".").includes(field);
}

function discardWrites(store: Services["store"]): Services["store"] {
  return {
    ...store,
    write: (work, options) =>
      store.write(async (db) => {
        await work(db);
        throw validationFailed([]);
      }, options),
  };
}
