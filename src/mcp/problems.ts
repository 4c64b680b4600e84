import type { Endpoint } from "../contract/endpoint.ts";
import { humanize } from "../contract/text.ts";

/** One thing that is wrong with a call, and where (design.md, "Results"). */
export type CallProblem = {
  readonly field?: string;
  readonly message: string;
  readonly fix?: string;
};

/**
 * The parts of a 422's one sentence, each with its field. A part begins where the name of one of
 * the endpoint's fields follows a joint of the sentence; whatever else a deployment says stays
 * together as it is.
 */
export function splitSentence(endpoint: Endpoint, sentence: string): readonly CallProblem[] {
  const labels = listLabels(endpoint);
  const names = [...labels.keys()].toSorted((one, other) => other.length - one.length);
  if (names.length === 0) return [{ message: sentence }];
  const joint = new RegExp(`(?:, and |, | and )(?=(?:${names.join("|")}) )`, "g");
  return sentence.split(joint).map((message) => {
    const label = names.find((name) => message.startsWith(`${name} `));
    const field = label === undefined ? undefined : labels.get(label);
    return field === undefined ? { message } : { field, message };
  });
}

/** The fields of an endpoint by the names that sentences give them. */
function listLabels({ body }: Endpoint): ReadonlyMap<string, string> {
  const fields = Object.keys(body?.shape ?? {});
  return new Map(fields.map((field) => [humanize(field), field]));
}
