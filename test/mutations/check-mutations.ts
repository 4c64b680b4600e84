import { existsSync, readFileSync } from "node:fs";
import type { Mutation } from "./mutation.ts";

/** What is wrong with the list itself: moving or renaming code may take a mutation's text away. */

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
  const text = readFileSync(file, "utf8");
  const count = text.split(find).length - 1;
  if (find === "" || count !== 1) faults.push(`its text is ${count} times in ${file}`);
  if (find === replace) faults.push("it changes nothing");
  for (const name of findStrangeNames(text, find, replace)) {
    faults.push(`${file} would not know ${name}: any test fails by that, and not by the mistake`);
  }
  if (tests.length === 0 || tests.length > mostTests) faults.push("it names no test, or too many");
  return faults;
}

/** Words of the language and of SQL that a replacement may bring into a file. */
const known = new Set(["abs", "await", "false", "null", "return", "true", "undefined"]);

/** Names that a replacement uses and its file has not, or that it takes away and its file uses. */
function findStrangeNames(text: string, find: string, replace: string): readonly string[] {
  const used = replace.replaceAll(/"[^"]*"/g, "").matchAll(/(?<![.\w])[A-Za-z_]\w*/g);
  const brought = Array.from(used, ([name]) => name).filter((name) => !has(text, name));
  const declared = Array.from(
    find.matchAll(/(?:const|let|function) (\w+)/g),
    ([, name = ""]) => name,
  );
  const rest = text.replace(find, () => replace);
  const lost = declared.filter((name) => !has(replace, name) && has(rest, name));
  return [...brought.filter((name) => !known.has(name)), ...lost];
}

function has(text: string, name: string): boolean {
  return new RegExp(`\\b${name}\\b`).test(text);
}
