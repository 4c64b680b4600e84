import { createHash } from "node:crypto";
import type { Arguments } from "../tool.ts";

/** What a person is asked to approve: this tool, with these arguments, on this target as it is. */
export type Act = {
  readonly tool: string;
  readonly args: Arguments;
  /** The target's UUID. */
  readonly target: string;
  /** The target as it is now, but for what changes by itself. */
  readonly state: unknown;
  readonly preview: Preview;
};

export type Preview = {
  /** One sentence: what will happen, to what. */
  readonly title: string;
  /** What changes, what the target is, and what else is touched. */
  readonly facts: readonly Fact[];
};

export type Fact = { readonly name: string; readonly text: string };

/** Two acts with the same digest are the same act of the same key. */
export function digestAct({ tool, args, target, state }: Act, keyPrint: string): string {
  return createHash("sha256")
    .update(canonize([keyPrint, tool, args, target, state]))
    .digest("base64url");
}

export function writePreview({ title, facts }: Preview): string {
  return [title, ...facts.map(({ name, text }) => `- ${name}: ${text}`)].join("\n");
}

/** JSON in one form only: the order in which a client sends members means nothing. */
export function canonize(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonize).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonize(member)}`);
  return `{${members.join(",")}}`;
}
