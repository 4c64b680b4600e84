import { once } from "node:events";
import { Agent, request as sendRequest, type IncomingMessage } from "node:http";

/** Sends requests to a server, one after the other. */

export type Question = {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly text?: string;
};

export type BenchResponse = {
  readonly status: number;
  /** Without the headers that Node's server adds. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

const keepAlive = new Agent({ keepAlive: true });

export async function ask(
  { url }: { readonly url: string },
  question: Question,
  agent: Agent = keepAlive,
): Promise<BenchResponse> {
  const { method, path, headers, body } = spell(question);
  const sent = sendRequest(url + path, { method, headers, agent });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  response.setEncoding("utf8");
  for await (const chunk of response) text += chunk;
  const { date: _, connection: __, "keep-alive": ___, ...own } = response.headers;
  // Our servers send each header once; Node's type also allows lists.
  return {
    status: response.statusCode ?? 0,
    headers: own as BenchResponse["headers"],
    body: text,
  };
}

export function spell(question: Question) {
  const { method = "GET", path, token, headers, body, text } = question;
  return {
    method,
    path,
    headers: {
      ...headers,
      ...(token !== undefined && { authorization: `Token ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(text !== undefined && { body: text }),
  };
}
