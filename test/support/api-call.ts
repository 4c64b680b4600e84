import { requestIdHeader } from "../../src/text/request-id.ts";

/** A call of the API as a test words it, over whichever way to a server. */
export type Call = (method: string, path: string, given?: Given) => Promise<Reply>;

export type Given = {
  /** A token, or null for a call without a key; the owner's by default. */
  readonly key?: string | null;
  /** An object travels as JSON, a text as it is. */
  readonly body?: unknown;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Tests read replies as freely as a client in any language would.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
};

/** Calls of the API at this address, with this key unless a call names another. */
export function createCall(
  api: string,
  key: string,
  send: (request: Request) => Promise<Response>,
): Call {
  return async (method, path, given = {}) =>
    readReply(await send(buildRequest(api + path, method, { key, ...given })));
}

function buildRequest(address: string, method: string, given: Given): Request {
  const { key, body, query, headers = {} } = given;
  const request = new Request(query === undefined ? address : `${address}?${query}`, {
    method,
    headers: {
      ...(key !== null && key !== undefined && { authorization: `Token ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  // A test may write their names in any case.
  for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
  return request;
}

async function readReply(response: Response): Promise<Reply> {
  const text = await response.text();
  const isPage = response.headers.get("content-type")?.startsWith("text/html") === true;
  const body = text === "" ? null : isPage ? text : JSON.parse(text);
  const headers = new Headers(response.headers);
  // Each request has one of its own; answers that are the same are so but for it.
  headers.delete(requestIdHeader);
  return { status: response.status, headers, text, body };
}
