import type { LinkFields } from "../../contract/links.ts";
import { toSentence } from "../../contract/problem.ts";
import { hasControls, isBlank } from "../../contract/text.ts";
import type { Job } from "../../state/jobs.ts";
import {
  countPlannedWrites,
  type PlanOperation,
  type PlanRequest,
  type PlanRule,
} from "../../state/plans.ts";

/** Describes a job in the words of its request, so that a person recognizes it. */

/** Around the number of its links: "set url on", 17 links. */
export type Words = NonNullable<PlanRequest["words"]>;

type JobFacts = Pick<Job, "operation" | "undoes" | "request" | "planned"> & {
  readonly counts: Pick<Job["counts"], "done">;
};

const longest = 80;
const mostFields = 4;

/** "moved 17 links to new.example.com"; of what is not done, only so many as are. */
export function writeWhat(work: JobFacts): string {
  const { undoes, request, planned, counts } = work;
  const total = countPlannedWrites(planned);
  if (total === 0) return "changed nothing";
  const isWhole = counts.done === total;
  const links = isWhole ? countLinks(total) : `${counts.done} of ${countLinks(total)}`;
  if (undoes !== null) return isWhole ? `undid ${undoes}` : `undid ${undoes} on ${links}`;
  const { before, after } = request.words ?? { before: writeVerb(work) };
  if (request.words === undefined && isWhole) return writeEach(planned);
  return after === undefined ? `${before} ${links}` : `${before} ${links} ${after}`;
}

/** For rows of a file. */
export function wordFile(operation: PlanOperation, file: string): Words {
  const name = shorten(file);
  if (operation === "upsert") return { before: "imported", after: `from ${name}` };
  const before = operation === "delete" ? "deleted" : "changed";
  return { before, after: `listed in ${name}` };
}

/** For changes by filters. */
export function wordChanges(changes: LinkFields, rules: readonly PlanRule[] = []): Words {
  const fields = Object.keys(changes);
  if (rules.length > 0) {
    const host = fields.length === 0 ? findCommonHost(rules) : undefined;
    if (host !== undefined) return { before: "moved", after: `to ${shorten(host)}` };
    const ruled = new Set([...fields, ...rules.map(({ field }) => field)]);
    return { before: `changed ${nameFields([...ruled])} of` };
  }
  const { url } = changes;
  const isPointing = fields.length === 1 && typeof url === "string" && !isBlank(url);
  if (isPointing) {
    return { before: "pointed", after: `to ${shorten(url.replace(/^https?:\/\//i, ""))}` };
  }
  return { before: `set ${nameFields(fields)} on` };
}

/** Where all rules do nothing but move addresses to one host. */
export function findCommonHost(rules: readonly PlanRule[]): string | undefined {
  const [first] = rules;
  const isMove = rules.every(({ kind, to }) => kind === "host" && to === first?.to);
  return isMove ? first?.to : undefined;
}

function nameFields(fields: readonly string[]): string {
  const more = fields.length - mostFields;
  const named = more > 0 ? [...fields.slice(0, mostFields), `${more} more`] : fields;
  return toSentence(named);
}

/** A text of the caller's, as a part of a sentence on one line. */
function shorten(text: string): string {
  const plain = hasControls(text) ? text.replace(/[\p{C}\s]+/gu, " ").trim() : text;
  return plain.length > longest ? `${plain.slice(0, longest).toWellFormed()}…` : plain;
}

const acts = [
  ["create", "created"],
  ["update", "changed"],
  ["delete", "deleted"],
] as const;

/** "created 3 and changed 17 links". */
function writeEach(planned: JobFacts["planned"]): string {
  const done = acts.filter(([action]) => planned[action] > 0);
  const told = done.map(([action, verb], index) => {
    const number = planned[action];
    return index === done.length - 1 ? `${verb} ${countLinks(number)}` : `${verb} ${number}`;
  });
  return toSentence(told);
}

/** A partly done job does not count its rows by kind. */
function writeVerb({ planned }: JobFacts): string {
  const verbs = acts.filter(([action]) => planned[action] > 0).map(([, verb]) => verb);
  return verbs.join(" or ");
}

function countLinks(count: number): string {
  return count === 1 ? "1 link" : `${count} links`;
}
