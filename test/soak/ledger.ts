import { expect } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import type { BenchResponse, Question } from "../bench/load/ask.ts";
import { createRing } from "../bench/ring.ts";
import { modernCall } from "../support/mcp-http.ts";
import { describeAnswer } from "./keep-asking.ts";

/** Records what was requested and returned under unique names, to compare with the store. */
export type Ledger = {
  readonly nextWrite: () => Question;
  /** A request that creates a link with an assistant's tool. */
  readonly nextCall: () => Question;
  readonly hear: (question: Question, answer: BenchResponse | Error) => void;
  readonly readAcknowledged: () => number;
  /** Acknowledged writes exist once, refused ones do not, and no response was unexpected. */
  readonly expectTrue: (links: readonly { readonly name: string | null }[]) => void;
};

type Allowed = {
  /** Expected error messages, in addition to 503. */
  readonly messages?: readonly string[];
  readonly codes?: readonly string[];
};

type Outcome = "done" | "refused" | "unknown" | "strange";

export function createLedger(keys: readonly string[], allowed: Allowed = {}): Ledger {
  const nextKey = createRing(keys);
  const names = new WeakMap<Question, string>();
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
      if (outcome === "strange") strange.push(describeAnswer(answer));
      else if (outcome === "done" && name !== undefined) acknowledged.push(name);
      else if (outcome === "refused" && name !== undefined) refused.push(name);
    },
    readAcknowledged: () => acknowledged.length,
    expectTrue: (links) => {
      const written = links.flatMap(({ name }) => name ?? []);
      const found = new Set(written);
      expect(strange).toEqual([]);
      expect(acknowledged.filter((name) => !found.has(name))).toEqual([]);
      expect(refused.filter((name) => found.has(name))).toEqual([]);
      expect(written).toHaveLength(found.size);
    },
  };
}

const well = new Set([200, 201, 302]);

function readOutcome(answer: BenchResponse | Error, allowed: Allowed): Outcome {
  if (answer instanceof Error) return "strange";
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
