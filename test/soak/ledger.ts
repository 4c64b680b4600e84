import { messages } from "../../src/contract/messages.ts";
import type { Answer, Question } from "../bench/load/ask.ts";
import { createRing } from "../bench/ring.ts";
import { modernCall } from "../support/mcp-http.ts";
import { none, note, type Check } from "./check.ts";
import { describeAnswer } from "./keep-asking.ts";

/**
 * Records what was requested under unique names and what was returned, and compares it with the
 * store.
 */
export type Ledger = {
  /** A request that creates a link through the API. */
  readonly nextWrite: () => Question;
  /** A request that creates a link with an assistant's tool. */
  readonly nextCall: () => Question;
  readonly hear: (question: Question, answer: Answer | Error) => void;
  /** How many writes have been acknowledged so far. */
  readonly readAcknowledged: () => number;
  readonly check: (links: readonly { readonly name: string | null }[]) => readonly Check[];
};

type Allowed = {
  /** Whether requests may get no response, because a server is killed or its connection is cut. */
  readonly noAnswer?: boolean;
  /** Expected error messages, in addition to 503. */
  readonly messages?: readonly string[];
  /** Expected error codes of tools. */
  readonly codes?: readonly string[];
};

/** How a client understands a response. */
type Outcome = "done" | "refused" | "unknown" | "unanswered" | "strange";

export function createLedger(keys: readonly string[], allowed: Allowed = {}): Ledger {
  const nextKey = createRing(keys);
  const names = new WeakMap<Question, string>();
  const told = { done: 0, refused: 0, unknown: 0, unanswered: 0, strange: 0 };
  const acknowledged: string[] = [];
  const refused: string[] = [];
  const strange: string[] = [];
  let turn = 0;

  const name = (write: (name: string, fields: object) => Question) => () => {
    turn += 1;
    const name = `soak ${turn}`;
    // When the server chooses the path, a write that is done twice creates two links.
    const path = turn % 2 === 0 ? {} : { path: `soak/${turn}` };
    const question = write(name, { name, url: "https://example.com/", ...path });
    names.set(question, name);
    return question;
  };

  return {
    nextWrite: name((_, body) => {
      return { method: "POST", path: "/api/v1/links", token: nextKey(), body };
    }),
    nextCall: name((id, body) => {
      const { headers, body: text } = modernCall(nextKey(), id, "create_link", body);
      return { method: "POST", path: "/mcp", headers, text };
    }),
    hear: (question, answer) => {
      const outcome = readOutcome(answer, allowed);
      const name = names.get(question);
      told[outcome] += 1;
      if (outcome === "strange") strange.push(describeAnswer(answer));
      else if (outcome === "done" && name !== undefined) acknowledged.push(name);
      else if (outcome === "refused" && name !== undefined) refused.push(name);
    },
    readAcknowledged: () => acknowledged.length,
    check: (links) => {
      const counts = new Map<string, number>();
      for (const { name } of links) counts.set(name ?? "", (counts.get(name ?? "") ?? 0) + 1);
      const twice = [...counts].filter(([name, count]) => name !== "" && count > 1);
      return [
        note("writes acknowledged", acknowledged.length),
        note("refused", told.refused),
        note("of unknown outcome", told.unknown),
        note("without an answer", told.unanswered),
        none(
          "acknowledged and lost",
          acknowledged.filter((name) => !counts.has(name)),
        ),
        none(
          "refused and written all the same",
          refused.filter((name) => counts.has(name)),
        ),
        none(
          "written twice",
          twice.map(([name]) => name),
        ),
        none("other answers", strange),
      ];
    },
  };
}

const well = new Set([200, 201, 302]);

function readOutcome(answer: Answer | Error, allowed: Allowed): Outcome {
  if (answer instanceof Error) return allowed.noAnswer === true ? "unanswered" : "strange";
  const { status, body } = answer;
  const error = readToolError(body);
  if (error !== undefined) {
    const { code, message, effect } = error;
    const isMeant =
      code === "overloaded" ||
      allowed.codes?.includes(code) === true ||
      allowed.messages?.includes(message) === true;
    if (effect === "done") return "done";
    if (code === "outcome_unknown" || (isMeant && effect === "unknown")) return "unknown";
    return isMeant ? "refused" : "strange";
  }
  if (well.has(status)) return "done";
  if (body.includes(messages.outcome_unknown)) return "unknown";
  const isMeant = status === 503 || allowed.messages?.some((text) => body.includes(text)) === true;
  return isMeant ? "refused" : "strange";
}

type ToolError = { readonly code: string; readonly message: string; readonly effect: string };

/** Undefined if no tool has failed. */
function readToolError(body: string): ToolError | undefined {
  if (!body.includes('"isError":true')) return undefined;
  const { result } = JSON.parse(body) as {
    readonly result: { readonly structuredContent: { readonly error: ToolError } };
  };
  return result.structuredContent.error;
}
