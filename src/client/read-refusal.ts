import type { Endpoint } from "../contract/endpoint.ts";
import { isJsonObject } from "../contract/json.ts";
import { toSentence, type StatedProblem } from "../contract/problem.ts";
import { humanize } from "../contract/text.ts";
import { showHidden } from "../text/show-hidden.ts";

/** Reads the message of an error response. */

export type ServerRefusal = {
  readonly message: string;
  /** The individual problems, if the server lists them. */
  readonly problems?: readonly StatedProblem[];
};

type RefusedRequest = {
  readonly endpoint: Endpoint;
  readonly body: unknown;
  /** The API key, which is removed from messages, because assistants read them. */
  readonly secret: string | undefined;
};

const messageLength = 4000;
/** The maximum length of a problem's message and field. */
const problemLength = 500;
const mostProblems = 20;

/** Returns undefined if the response contains no readable message. */
export function readRefusal({ endpoint, body, secret }: RefusedRequest): ServerRefusal | undefined {
  const clean = (text: string, most = messageLength) =>
    showHidden(hideSecret(text, secret).slice(0, most)).slice(0, most);
  const problems = listProblems(body).map(({ field, message, ...place }) => ({
    ...(isFieldOf(endpoint, field) && { field: clean(field, problemLength) }),
    ...place,
    message: clean(message, problemLength),
  }));
  const message = clean(findSentence(body) ?? joinProblems(problems));
  if (message.trim() === "") return undefined;
  return { message, ...(problems.length > 0 && { problems }) };
}

/** Unknown names are untrusted text from the server, and are not shown as fields. */
function isFieldOf({ body }: Endpoint, field: string | undefined): field is string {
  return field !== undefined && (field.split(".")[0] ?? "") in (body?.shape ?? {});
}

function findSentence(body: unknown): string | undefined {
  if (typeof body === "string") return isPage(body) ? "" : body.replace(/\s+/g, " ").trim();
  if (!isJsonObject(body)) return undefined;
  const { error, errors, message } = body;
  const inner = isJsonObject(error) ? error["message"] : undefined;
  return [error, inner, errors, message].find((said) => typeof said === "string");
}

/** Whether a text is a page and not a sentence. */
export function isPage(text: string): boolean {
  return /^\s*<[a-z!?]/i.test(text);
}

/** Waypost lists `problems`. Other servers list texts, or texts by field name. */
function listProblems(body: unknown): readonly StatedProblem[] {
  if (!isJsonObject(body)) return [];
  const said = body["problems"] ?? body["errors"] ?? body["error"];
  if (Array.isArray(said)) return said.slice(0, mostProblems).flatMap(readProblem);
  if (!isJsonObject(said) || typeof said["message"] === "string") return [];
  return Object.entries(said)
    .slice(0, mostProblems)
    .flatMap(([field, texts]) =>
      [texts].flat().flatMap((text) => (typeof text === "string" ? writeProblem(field, text) : [])),
    )
    .slice(0, mostProblems);
}

function readProblem(item: unknown): readonly StatedProblem[] {
  if (typeof item === "string") return [{ message: item }];
  if (!isJsonObject(item)) return [];
  const { field, line, column, message } = item;
  if (typeof message !== "string") return [];
  return [
    {
      ...(typeof field === "string" && { field }),
      ...(isWhole(line) && { line }),
      ...(isWhole(column) && { column }),
      message,
    },
  ];
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value);
}

/**
 * A lowercase message such as `is invalid` continues the field's name. Others are whole sentences.
 */
function writeProblem(field: string, text: string): StatedProblem {
  if (field === "base") return { message: text };
  const isClause = /^\p{Ll}/u.test(text) && !text.toLowerCase().startsWith(field);
  return { field, message: isClause ? `${humanize(field)} ${text}` : text };
}

function joinProblems(problems: readonly StatedProblem[]): string {
  const [first, ...more] = problems.map(({ message }) => message);
  if (more.length === 0) return first ?? "";
  return toSentence([first ?? "", ...more].map((text) => text.replace(/\.$/, "")));
}

/** Removes the key, which some servers repeat in messages. */
export function hideSecret(text: string, secret: string | undefined): string {
  return secret === undefined ? text : text.replaceAll(secret, "[the key]");
}
