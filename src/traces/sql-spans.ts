import {
  context,
  SpanKind,
  SpanStatusCode,
  trace,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import type { TraceSql } from "../sql/trace-sql.ts";

/**
 * Statements and transactions that a request waits for. What happens beside, as a look for what
 * other processes have written, has none: it would be a trace of its own many times a second.
 */
export function createSqlSpans(tracer: Tracer): TraceSql {
  return {
    statement: (engine, text, run) => {
      if (!isFollowed()) return run();
      const name = summarize(text);
      const attributes = {
        "db.system.name": systems[engine],
        "db.query.summary": name,
        // All values are parameters, which are not shown.
        "db.query.text": text,
      };
      return follow(tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }), run);
    },
    transaction: (engine, run) => {
      const here = context.active();
      // Whoever shares the transaction runs the work, and it is not theirs.
      if (!isFollowed()) return run((work) => context.bind(here, work));
      const attributes = { "db.system.name": systems[engine] };
      const span = tracer.startSpan("transaction", { attributes });
      const inside = trace.setSpan(here, span);
      return follow(span, () => run((work) => context.bind(inside, work)));
    },
  };
}

const systems = { sqlite: "sqlite", postgres: "postgresql" } as const;

/** A span that has ended has begun something that goes on without it. */
function isFollowed(): boolean {
  return trace.getSpan(context.active())?.isRecording() === true;
}

function follow<Result>(span: Span, run: () => Result): Result {
  let result: Result;
  try {
    result = run();
  } catch (error) {
    end(span, error);
    throw error;
  }
  if (!(result instanceof Promise)) span.end();
  else {
    result.then(
      () => span.end(),
      (error: unknown) => end(span, error),
    );
  }
  return result;
}

/** The message may have values in it, and is for the log. */
function end(span: Span, error: unknown): void {
  span.setAttribute("error.type", nameError(error));
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

function nameError(error: unknown): string {
  if (!(error instanceof Error)) return "_OTHER";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

const firstWord = /\w+/;
const firstTable = /\b(?:from|into|update)\s+"?(\w+)/i;

/** What is done, and to which table: `select links`. */
function summarize(text: string): string {
  const [operation = "sql"] = firstWord.exec(text) ?? [];
  const [, table] = firstTable.exec(text) ?? [];
  return table === undefined ? operation : `${operation} ${table}`;
}
