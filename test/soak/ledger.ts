import { messages } from "../../src/contract/messages.ts";
import type { Answer, Question } from "../bench/load/ask.ts";
import { createRing } from "../bench/ring.ts";
import { modernCall } from "../support/mcp-http.ts";
import { none, note, type Check } from "./check.ts";
import { describeAnswer } from "./keep-asking.ts";

/** What was asked for under names of its own, and what was said to each, held against the store. */
export type Ledger = {
  /** A new link by the API. */
  readonly nextWrite: () => Question;
  /** A new link by an assistant's tool. */
  readonly nextCall: () => Question;
  readonly hear: (question: Question, answer: Answer | Error) => void;
  /** How many writes were acknowledged so far. */
  readonly readAcknowledged: () => number;
  readonly check: (links: readonly { readonly name: string | null }[]) => readonly Check[];
};

type Allowed = {
  /** A server was killed, or a way to it cut: what it was asked then has no answer. */
  readonly noAnswer?: boolean;
  /** Refusals that are meant, beside 503. */
  readonly messages?: readonly string[];
  /** And codes of tools. */
  readonly codes?: readonly string[];
};

/** What a client takes an answer for. */
type Told = "done" | "refused" | "unknown" | "unanswered" | "strange";

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
    // Where the server makes the path, a write that is done twice leaves two links.
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

function readOutcome(answer: Answer | Error, allowed: Allowed): Told {
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

/** Undefined where it is no failure of a tool. */
function readToolError(body: string): ToolError | undefined {
  if (!body.includes('"isError":true')) return undefined;
  const { result } = JSON.parse(body) as {
    readonly result: { readonly structuredContent: { readonly error: ToolError } };
  };
  return result.structuredContent.error;
}
