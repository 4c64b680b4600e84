import { listWarnings } from "../../client/warnings.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { quote } from "../../text/show-hidden.ts";
import type { CallProblem } from "./call-problem.ts";

/** What the deployment warned of while one tool was called. */
export type Warned = Set<string>;

const mostTold = 5;
const mostCharacters = 500;

export function noteWarned(warned: Warned, body: unknown): void {
  for (const text of listWarnings(body)) warned.add(text);
}

/** A success with what it leaves out: a field or a filter that was ignored, say. */
export function tellWarnings(result: JsonObject, warned: Warned): JsonObject {
  const known = listProblems(result);
  const isKnown = (text: string) =>
    known.some((problem) => isJsonObject(problem) && problem["message"] === text);
  const news = [...warned].filter((text) => !isKnown(text));
  const told = news.slice(0, mostTold).map((text): CallProblem => {
    return { message: `The server warned: ${quote(text, mostCharacters)}` };
  });
  return tellProblems(result, told);
}

/** A success, and what is to be known besides, if anything. */
export function tellProblems(result: JsonObject, told: readonly CallProblem[]): JsonObject {
  if (told.length === 0) return result;
  return { ...result, problems: [...listProblems(result), ...told] };
}

function listProblems({ problems }: JsonObject): readonly unknown[] {
  return Array.isArray(problems) ? problems : [];
}
