import * as z from "zod";
import type { Endpoint } from "../../contract/endpoint.ts";
import { humanize } from "../../contract/text.ts";
import { unwrap } from "../../contract/unwrap-schema.ts";

/** One thing that is wrong with a call, and where (design.md, "Results"). */
export const problemSchema = z.object({
  field: z.string().optional(),
  line: z.int().optional(),
  column: z.int().optional(),
  message: z.string(),
  fix: z.string().optional(),
});
export type CallProblem = z.output<typeof problemSchema>;

/** What is told without its field is looked through for the names of the endpoint's fields. */
export function placeProblem(
  endpoint: Endpoint | undefined,
  problem: CallProblem,
): readonly CallProblem[] {
  if (problem.field !== undefined) return [problem];
  return splitSentence(endpoint, problem.message).map((part) => ({ ...problem, ...part }));
}

/**
 * The parts of a 422's one sentence, each with its field. A part begins where the name of one of
 * the endpoint's fields follows a comma or an "and"; other sentences stay whole.
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

/** What is wrong with a parameter of a query is told of one alone, and begins with its name. */
function findParameter(endpoint: Endpoint | undefined, sentence: string): string | undefined {
  const names = Object.keys(endpoint?.query?.shape ?? {});
  return names.find((name) => sentence.startsWith(`${name} `));
}

/**
 * The fields of an endpoint by the names that sentences give them. An app's own fields are known
 * by their own names too, for a link that is about to create the app.
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

/** `ios_app` is "Ios app" by the rule and "iOS app" to people; so it is with "url". */
function nameField(field: string): ReadonlySet<string> {
  const label = humanize(field);
  return new Set([label, label.replace(/^Ios\b/, "iOS").replace(/\burl\b/i, "URL")]);
}
