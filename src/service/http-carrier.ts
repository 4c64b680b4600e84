import type { AnswerApi, ApiReply } from "../contract/api-message.ts";
import { limits } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import { badRequest, Problem } from "../contract/problem.ts";
import { bodyTooLarge } from "./read-body.ts";

/** The address is the client's, where it is known. */
export type HttpFetch = (request: Request, address?: string) => Promise<Response>;

/** Carries API messages over HTTP: a stranger's request to what answers it, and the reply back. */
export function carryOverHttp(answer: AnswerApi): HttpFetch {
  return async (request, address) => {
    const { url, headers } = request;
    const reply = await answer({
      method: request.method,
      url,
      headers: Object.fromEntries(headers),
      body: () => readText(request),
      address,
      // Its signal is made when it is asked for, which few requests are worth.
      onLeave: (leave) => request.signal.addEventListener("abort", leave, { once: true }),
    });
    return writeResponse(reply);
  };
}

/** Data is never a bare text, so that a text is a page's. */
function writeResponse({ status, headers, body }: ApiReply): Response {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return new Response(body === null ? null : text, { status, headers });
}

async function readText(request: Request): Promise<string> {
  if (Number(request.headers.get("content-length") ?? 0) > limits.body_bytes) throw bodyTooLarge();
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
    if (size > limits.body_bytes) throw bodyTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
