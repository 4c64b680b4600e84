import { existsSync, readFileSync } from "node:fs";
import type { Mutation } from "./mutation.ts";

/** What is wrong with the list itself: whoever moves code may take a mutation's text away. */

export type ListFault = { readonly id: string; readonly fault: string };

const mostTests = 3;

export function listFaults(mutations: readonly Mutation[]): readonly ListFault[] {
  const ids = new Set<string>();
  return mutations.flatMap((mutation) => {
    const { id } = mutation;
    const isTaken = ids.has(id);
    ids.add(id);
    const faults = [...(isTaken ? ["another one has the same id"] : []), ...findFaults(mutation)];
    return faults.map((fault) => ({ id, fault }));
  });
}

function findFaults({ file, find, replace, tests }: Mutation): readonly string[] {
  const missing = [file, ...tests].filter((path) => !existsSync(path));
  if (missing.length > 0) return missing.map((path) => `there is no ${path}`);
  const faults: string[] = [];
  const count = readFileSync(file, "utf8").split(find).length - 1;
  if (find === "" || count !== 1) faults.push(`its text is ${count} times in ${file}`);
  if (find === replace) faults.push("it changes nothing");
  if (tests.length === 0 || tests.length > mostTests) faults.push("it names no test, or too many");
  return faults;
}
