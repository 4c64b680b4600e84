import type { Endpoint } from "../contract/endpoint.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { toSentence, type StatedProblem } from "../contract/problem.ts";
import { humanize } from "../contract/text.ts";
import { showHidden } from "../text/show-hidden.ts";

/** What a deployment says when it refuses (api-spec.md, "Errors"). */

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
const mostProblems = 100;

/** Undefined where it says nothing. */
export function readRefusal({ endpoint, body, secret }: Answered): Refusal | undefined {
  const clean = (text: string, most = wordsLength) =>
    showHidden(hideSecret(text, secret).slice(0, most)).slice(0, most);
  const problems = listProblems(body).map(({ field, message, ...place }) => ({
    ...(isFieldOf(endpoint, field) && { field: clean(field, fieldLength) }),
    ...place,
    message: clean(message, problemLength),
  }));
  const message = clean(findSentence(body) ?? joinProblems(problems));
  if (message.trim() === "") return undefined;
  const told = fitProblems(problems);
  return { message, ...(told.length > 0 && { problems: told }) };
}

/** Another name is the remote server's own text, and `field` is not quoted as such. */
function isFieldOf({ body }: Endpoint, field: string | undefined): field is string {
  return field !== undefined && (field.split(".")[0] ?? "") in (body?.shape ?? {});
}

function findSentence(body: unknown): string | undefined {
  if (typeof body === "string") return isPage(body) ? "" : body.replace(/\s+/g, " ").trim();
  if (!isJsonObject(body)) return undefined;
  return [body["error"], body["errors"], body["message"]].find(isText);
}

/** Whether a text is a page for people, and not a sentence. */
export function isPage(text: string): boolean {
  return /^\s*<[a-z!?]/i.test(text);
}

/** Our own service lists `problems`; others list texts, with their field or under it. */
function listProblems(body: unknown): readonly StatedProblem[] {
  if (!isJsonObject(body)) return [];
  const { problems, errors, error } = body;
  if (Array.isArray(problems)) return problems.slice(0, mostProblems).flatMap(readProblem);
  return listTexts(errors ?? error).slice(0, mostProblems);
}

function readProblem(item: unknown): readonly StatedProblem[] {
  if (!isJsonObject(item)) return [];
  const { field, line, column, message } = item;
  if (!isText(message)) return [];
  return [
    {
      ...(isText(field) && { field }),
      ...(isWhole(line) && { line }),
      ...(isWhole(column) && { column }),
      message,
    },
  ];
}

function listTexts(said: unknown): readonly StatedProblem[] {
  if (Array.isArray(said)) {
    return said.flatMap((item) => (isText(item) ? [{ message: item }] : readProblem(item)));
  }
  return isJsonObject(said) ? listFields(said) : [];
}

function listFields(fields: JsonObject): readonly StatedProblem[] {
  return Object.entries(fields).flatMap(([field, said]) => {
    const texts = [said].flat().filter(isText);
    if (field === "base") return texts.map((message) => ({ message }));
    return texts.map((text) => ({ field, message: writeClause(field, text) }));
  });
}

/** `is invalid` goes on from the field's name; what begins by itself is a sentence already. */
function writeClause(field: string, text: string): string {
  const isSentence = !/^\p{Ll}/u.test(text) || text.toLowerCase().startsWith(field);
  return isSentence ? text : `${humanize(field)} ${text}`;
}

function joinProblems(problems: readonly StatedProblem[]): string {
  const clauses = problems.map(({ message }) => message);
  return clauses.length > 1
    ? toSentence(clauses.map((text) => text.replace(/\.$/, "")))
    : clauses.join("");
}

function fitProblems(problems: readonly StatedProblem[]): readonly StatedProblem[] {
  let left = problemsLength;
  return problems.filter(({ field = "", message }) => {
    left -= field.length + message.length;
    return left >= 0;
  });
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value);
}

/** A deployment may repeat the key in its words. */
export function hideSecret(text: string, secret: string | undefined): string {
  return secret === undefined ? text : text.replaceAll(secret, "[the key]");
}
