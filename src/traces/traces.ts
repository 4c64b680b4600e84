import {
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Link,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import { apiPrefix } from "../contract/index.ts";
import type {
  Watched,
  WatchCall,
  WatchHttp,
  WatchRequest,
  WatchRow,
  WatchSend,
} from "../contract/watch.ts";
import type { TraceSql } from "../sql/trace-sql.ts";
import { requestIdHeader } from "../text/request-id.ts";
import { readTrace, suppressFurther, writeTrace } from "./propagated.ts";
import { createSqlSpans } from "./sql-spans.ts";

/**
 * Spans for the operator's own OpenTelemetry, by its conventions. None has a text that a stranger
 * or an assistant chose: no path, no query, no arguments, and nobody's address.
 */
export type Traces = {
  readonly watchRequest: WatchRequest;
  readonly watchCall: WatchCall;
  readonly watchVisit: WatchHttp;
  readonly watchMcp: WatchHttp;
  readonly watchSend: WatchSend;
  readonly watchRow: WatchRow;
  readonly traceSql: TraceSql;
};

export function createTraces(version: string): Traces {
  const tracer = trace.getTracer("waypost", version);
  return {
    watchRequest: (endpoint, { method, headers, address, requestId }) => {
      const route = endpoint && apiPrefix + endpoint.path;
      // What comes from a tool was not carried by HTTP, and is a part of its call.
      const isCarried = address !== undefined;
      const kind = isCarried ? SpanKind.SERVER : SpanKind.INTERNAL;
      const attributes = { ...describeHttp(method, route), ...nameRequest(requestId) };
      const parent = isCarried ? readParent(headers) : context.active();
      const span = tracer.startSpan(nameHttp(method, route), { kind, attributes }, parent);
      return watch(span, parent, endAnswered);
    },
    watchCall: (tool, { meta, requestId } = {}) => {
      const { parent, links } = readCaller(meta);
      const attributes = { ...describeCall(tool), ...nameRequest(requestId) };
      const name = tool === undefined ? callMethod : `${callMethod} ${tool}`;
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes, links }, parent);
      return watch(span, parent, endCall);
    },
    watchVisit: createHttpWatch(tracer, "/{path}", () => undefined),
    // What came there was given an id, or had one that may be written down.
    watchMcp: createHttpWatch(tracer, "/mcp", (headers) => headers[requestIdHeader]?.toString()),
    watchSend: ({ method, url, requestId }) => {
      const { hostname, port } = new URL(url);
      const place = { "server.address": hostname, ...(port && { "server.port": Number(port) }) };
      const attributes = { ...describeHttp(method), ...place, ...nameRequest(requestId) };
      const parent = context.active();
      const span = tracer.startSpan(method, { kind: SpanKind.CLIENT, attributes }, parent);
      const headers = writeTrace(trace.setSpan(parent, span));
      return { ...watch(span, suppressFurther(parent), endSent), headers };
    },
    watchRow: (job, row) => {
      // A job may have many thousands: in one trace they would be more than anybody can look at.
      const attributes = { "waypost.job.id": job, "waypost.job.row": row };
      const options = { attributes, links: linkTo(context.active()) };
      const span = tracer.startSpan("job row", options, ROOT_CONTEXT);
      return watch(span, ROOT_CONTEXT, endRow);
    },
    traceSql: createSqlSpans(tracer),
  };
}

/** Whether this API finds the preloaded one, and not an older one that it cannot use. */
export function canUse(preloaded: unknown): boolean {
  return trace.getTracerProvider() === preloaded;
}

const callMethod = "tools/call";

function createHttpWatch(
  tracer: Tracer,
  route: string,
  readId: (headers: Parameters<WatchHttp>[0]["headers"]) => string | undefined,
): WatchHttp {
  return ({ method = "", headers }) => {
    const attributes = { ...describeHttp(method, route), ...nameRequest(readId(headers)) };
    const parent = readParent(headers);
    const options = { kind: SpanKind.SERVER, attributes };
    const span = tracer.startSpan(nameHttp(method, route), options, parent);
    return watch(span, parent, endAnswered);
  };
}

function watch<Outcome>(
  span: Span,
  parent: Context,
  note: (span: Span, outcome: Outcome) => void,
): Watched<Outcome> {
  const inside = trace.setSpan(parent, span);
  return {
    run: (work) => context.with(inside, work),
    end: (outcome) => {
      note(span, outcome);
      span.end();
    },
  };
}

/** Where the operator's own instrumentation has a span for the request, ours is within it. */
function readParent(headers: Readonly<Record<string, unknown>>): Context {
  const here = context.active();
  return trace.getSpan(here) === undefined ? readTrace(here, headers) : here;
}

/** A call is a part of what its client does, whatever carried it here: that is only linked. */
function readCaller(meta: Readonly<Record<string, unknown>> | undefined): {
  readonly parent: Context;
  readonly links: Link[];
} {
  const here = context.active();
  if (meta === undefined) return { parent: here, links: [] };
  const told = readTrace(trace.deleteSpan(here), meta);
  if (trace.getSpanContext(told) === undefined) return { parent: here, links: [] };
  return { parent: told, links: linkTo(here) };
}

function linkTo(other: Context): Link[] {
  const known = trace.getSpanContext(other);
  return known === undefined ? [] : [{ context: known }];
}

function nameHttp(method: string, route: string | undefined): string {
  return route === undefined ? method : `${method} ${route}`;
}

function describeHttp(method: string, route?: string): Attributes {
  return { "http.request.method": method, ...(route !== undefined && { "http.route": route }) };
}

function describeCall(tool: string | undefined): Attributes {
  return {
    "mcp.method.name": callMethod,
    "gen_ai.operation.name": "execute_tool",
    ...(tool !== undefined && { "gen_ai.tool.name": tool }),
  };
}

/** As the log has it. */
function nameRequest(requestId: string | undefined): Attributes {
  return requestId === undefined ? {} : { "waypost.request.id": requestId };
}

/** That a client asked for what it should not is no error of who answers. */
function endAnswered(span: Span, status: number): void {
  span.setAttribute("http.response.status_code", status);
  if (status >= 500) fail(span, String(status));
}

function endSent(span: Span, outcome: number | string): void {
  if (typeof outcome === "number") span.setAttribute("http.response.status_code", outcome);
  if (typeof outcome === "string" || outcome >= 400) fail(span, String(outcome));
}

/** `asked` is no error: a person is, and the call begins anew with the answer. */
function endCall(span: Span, outcome: string): void {
  span.setAttribute("waypost.outcome", outcome);
  if (outcome !== "ok" && outcome !== "asked") fail(span, "tool_error", outcome);
}

function endRow(span: Span, outcome: string): void {
  span.setAttribute("waypost.outcome", outcome);
  if (outcome !== "done") fail(span, outcome);
}

function fail(span: Span, type: string, message?: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
}
