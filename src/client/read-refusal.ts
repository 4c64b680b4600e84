import type { Endpoint } from "../contract/endpoint.ts";
import { isNestedTooDeep, isJsonObject } from "../contract/json.ts";
import { toSentence, type StatedProblem } from "../contract/problem.ts";
import { showHidden } from "../text/show-hidden.ts";
import { listProblems } from "./refusal-problems.ts";

/**
 * What a deployment says when it refuses. The API's own form is `{"error": "…"}` (api-spec.md,
 * "Errors"); others say it in one of the ways that are usual for an API, and each is understood.
 */

export type Refusal = {
  readonly message: string;
  /** Its parts, where the deployment tells them apart. */
  readonly problems?: readonly StatedProblem[];
};

type Answered = {
  readonly endpoint: Endpoint;
  readonly body: unknown;
  /** The key: a deployment may repeat it in its words, and the assistant reads those. */
  readonly secret: string | undefined;
};

const wordsLength = 4000;
const fieldLength = 200;
const problemLength = 500;
/** Of all problems together: they are told twice, and a model reads both. */
const problemsLength = 8000;

/** Where a sentence stands, the likeliest first; a code is better than nothing. */
const sentenceNames: readonly string[] = [
  "error",
  "errors",
  "message",
  "detail",
  "title",
  "error_description",
  "error_message",
  "description",
  "reason",
  "msg",
  "code",
];

/** Undefined where it says nothing. */
export async function readRefusal(answered: Answered): Promise<Refusal | undefined> {
  const { endpoint, body, secret } = answered;
  const clean = (text: string, most = wordsLength) =>
    showHidden(hideSecret(text, secret).slice(0, most)).slice(0, most);
  const problems = listProblems(body, endpoint.wrapper).map(({ field, message, ...place }) => ({
    ...(isFieldOf(endpoint, field) && { field: clean(field, fieldLength) }),
    ...place,
    message: clean(message, problemLength),
  }));
  const said =
    typeof body === "string"
      ? await listTextSentences(hideSecret(body, secret))
      : listSentences(body);
  const texts = said.filter((text) => text.trim() !== "");
  const sentence = texts.find(isSaying) ?? joinProblems(problems);
  const message = clean(sentence ?? texts[0] ?? writeOut(body));
  if (message === "") return undefined;
  const told = fitProblems(problems);
  return { message, ...(told.length > 0 && { problems: told }) };
}

/** Another name is the remote server's own text, and `field` is not quoted as such. */
function isFieldOf({ body }: Endpoint, field: string | undefined): field is string {
  return field !== undefined && (field.split(".")[0] ?? "") in (body?.shape ?? {});
}

function fitProblems(problems: readonly StatedProblem[]): readonly StatedProblem[] {
  let left = problemsLength;
  return problems.filter(({ field = "", message }) => {
    left -= field.length + message.length;
    return left >= 0;
  });
}

/** Whether a text is a page for people, and not a sentence. */
export function isPage(text: string): boolean {
  return /^\s*<[a-z!?]/i.test(text);
}

/** Everything that may be the sentence of a body that is no data, the likeliest first. */
async function listTextSentences(body: string): Promise<readonly string[]> {
  if (!isPage(body)) return [body.replace(/\s+/g, " ").trim()];
  // The parser of pages is heavy, and no start waits for what hardly any session meets.
  const { readPageTexts } = await import("../text/page-texts.ts");
  const { title, heading, text } = readPageTexts(body);
  return [title, heading, text];
}

/** The same for data; an error may be an object with a sentence of its own. */
function listSentences(body: unknown): readonly string[] {
  if (!isJsonObject(body)) return [];
  const inner = [body["error"], body["errors"]].filter(isJsonObject);
  return [body, ...inner].flatMap((said) =>
    sentenceNames.map((name) => said[name]).filter((text) => typeof text === "string"),
  );
}

/** What some servers say for a status instead of what is wrong, where it is of several words. */
const statusNames =
  /^(\d{3}\W*)?(bad request|not found|unprocessable \w+|precondition failed)\W*$/i;

/** Whether it says more than a status or a code does. */
function isSaying(text: string): boolean {
  return /\S\s+\S/.test(text) && !statusNames.test(text);
}

function joinProblems(problems: readonly StatedProblem[]): string | undefined {
  if (problems.length === 0) return undefined;
  const clauses = problems.map(({ message }) => message);
  return clauses.length === 1
    ? clauses[0]
    : toSentence(clauses.map((text) => text.replace(/\.$/, "")));
}

/** What is of no known form is better read as it came than not at all. */
function writeOut(body: unknown): string {
  if (!isJsonObject(body)) return "";
  const said = body["error"] ?? body["errors"] ?? "";
  return said === "" || isNestedTooDeep(said) ? "" : JSON.stringify(said);
}

/** A deployment may repeat the key in its words. */
export function hideSecret(text: string, secret: string | undefined): string {
  return secret === undefined ? text : text.replaceAll(secret, "[the key]");
}
