import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { memoryFolder } from "./memory-folder.ts";

/** A real SDK, preloaded into the command as an operator does it, and what it was given. */
export type Spans = {
  readonly env: Readonly<Record<string, string>>;
  readonly read: () => readonly Span[];
  /** All that was written of them. */
  readonly readText: () => string;
  readonly [Symbol.dispose]: () => void;
};

export type Span = {
  readonly name: string;
  readonly kind: number;
  readonly trace: string;
  readonly id: string;
  readonly parent?: string;
  readonly state?: string;
  readonly links: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code: number; readonly message?: string };
  readonly events: number;
};

/** As OpenTelemetry numbers them. */
export const kinds = { internal: 0, server: 1, client: 2 } as const;
export const failed = 2;

const preloaded = pathToFileURL(join(import.meta.dirname, "../tools/collect-spans.js")).href;

export function collectSpans(): Spans {
  const folder = mkdtempSync(join(memoryFolder, "waypost-spans-"));
  const file = join(folder, "spans");
  const readText = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
  return {
    env: { NODE_OPTIONS: `--import ${preloaded}`, SPANS_FILE: file },
    readText,
    read: () => {
      const lines = readText().split("\n").slice(0, -1);
      return lines.map((line): Span => JSON.parse(line));
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What led to a span, the outermost first, each by its name. */
export function listPath(spans: readonly Span[], span: Span): readonly string[] {
  const above = spans.find(({ id }) => id === span.parent);
  return [...(above === undefined ? [] : listPath(spans, above)), span.name];
}
