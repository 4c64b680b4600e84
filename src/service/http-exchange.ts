import type { ApiReply, ApiRequest } from "../contract/api-message.ts";
import { messages } from "../contract/messages.ts";
import { limits } from "../contract/policy.ts";
import { badRequest, Problem } from "../contract/problem.ts";

/** A request that came over HTTP, and the reply that goes back, as the service knows them. */

export type Incoming = {
  readonly method: string;
  readonly url: string;
  readonly header: (name: string) => string | null;
  /** Called when the body is looked at, and not before: a stranger's is never read. */
  readonly readText: () => Promise<string>;
};

export function receiveRequest(request: Request): Incoming {
  return {
    method: request.method,
    url: request.url,
    header: (name) => request.headers.get(name),
    readText: () => readText(request),
  };
}

export function receiveData({ method, url, headers, body = "" }: ApiRequest): Incoming {
  return {
    method,
    url,
    header: (name) => headers[name] ?? null,
    readText: () => {
      const isTooLarge = Buffer.byteLength(body) > limits.body_bytes;
      return isTooLarge ? Promise.reject(tooLarge()) : Promise.resolve(body);
    },
  };
}

/** HEAD is GET without its body. */
export function toResponse({ status, headers, body }: ApiReply, method: string): Response {
  const text = body === null || method === "HEAD" ? null : writeBody(body);
  return new Response(text, { status, headers });
}

/** Data is never a bare text, so that a text is a page's. */
function writeBody(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

async function readText(request: Request): Promise<string> {
  if (Number(request.headers.get("content-length") ?? 0) > limits.body_bytes) throw tooLarge();
  try {
    const bytes = await readBytes(request);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw error instanceof Problem ? error : badRequest(messages.body_invalid);
  }
}

/** Counts what arrives: a declared length may lie, and there may be none. */
async function readBytes(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > limits.body_bytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(): Problem {
  return new Problem(413, messages.body_too_large);
}
