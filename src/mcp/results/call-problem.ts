import * as z from "zod";
import type { Endpoint } from "../../contract/endpoint.ts";
import { humanize } from "../../contract/text.ts";
import { unwrap } from "../../contract/fields.ts";

/** Describes the problems of a failed call, each with the parameter that caused it. */

/** A problem that a tool reports, with its position and a fix if they are known. */
export const problemSchema = z.object({
  field: z.string().optional(),
  line: z.int().optional(),
  column: z.int().optional(),
  message: z.string(),
  fix: z.string().optional(),
});
export type CallProblem = z.output<typeof problemSchema>;

/**
 * If a problem names no field, finds the fields in its message. May split the problem into several.
 */
export function placeProblem(
  endpoint: Endpoint | undefined,
  problem: CallProblem,
): readonly CallProblem[] {
  if (problem.field !== undefined) return [problem];
  return splitSentence(endpoint, problem.message).map((part) => ({ ...problem, ...part }));
}

/**
 * Splits the message of a 422 into problems. A new problem starts where a field name follows a
 * comma or "and". A message without field names is not split.
 */
function splitSentence(endpoint: Endpoint | undefined, sentence: string): CallProblem[] {
  const parameter = findParameter(endpoint, sentence);
  if (parameter !== undefined) return [{ field: parameter, message: sentence }];
  const labels = listLabels(endpoint);
  const names = [...labels.keys()];
  if (names.length === 0) return [{ message: sentence }];
  const separator = new RegExp(`(?:, and |, | and )(?=(?:${names.join("|")}) )`);
  return sentence.split(separator).map((message) => {
    const label = names.find((name) => message.startsWith(`${name} `));
    const field = label === undefined ? undefined : labels.get(label);
    return field === undefined ? { message } : { field, message };
  });
}

/**
 * Returns the query parameter at the start of the message. A message that starts with a parameter
 * describes only one problem.
 */
function findParameter(endpoint: Endpoint | undefined, sentence: string): string | undefined {
  const names = Object.keys(endpoint?.query?.shape ?? {});
  return names.find((name) => sentence.startsWith(`${name} `));
}

/**
 * Maps field names, as spelled in messages, to fields. Includes the fields of apps, because
 * creating a link can also register an app.
 */
function listLabels(endpoint: Endpoint | undefined): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  const add = (shape: z.ZodObject["shape"] = {}, path = "") => {
    for (const name of Object.keys(shape)) {
      for (const label of nameField(name)) {
        if (!labels.has(label)) labels.set(label, path + name);
      }
    }
    for (const [name, field] of Object.entries(shape)) {
      const inside = unwrap(field);
      if (inside instanceof z.ZodObject) add(inside.shape, `${name}.`);
    }
  };
  add(endpoint?.body?.shape);
  return labels;
}

/** Returns the spellings of a field in messages: `ios_app` is "Ios app" or "iOS app". */
function nameField(field: string): ReadonlySet<string> {
  const label = humanize(field);
  return new Set([label, label.replace(/^Ios\b/, "iOS").replace(/\burl\b/i, "URL")]);
}
