import { once } from "node:events";
import { connect } from "node:net";
import { spell, type Question } from "./ask.ts";

/** A raw connection for prepared requests: any client library is slower than a fast server. */
export type Connection = {
  readonly ask: (request: string) => Promise<number>;
  readonly close: () => void;
};

/** A connection without a response must not block the bench forever. */
const longest_ms = 60_000;

export async function openConnection(url: string): Promise<Connection> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  let text = "";
  let waiting: PendingRequest | undefined;
  const fail = (error: Error) => waiting?.reject(error);
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
    if (!isWhole(text)) return;
    const answered = waiting;
    const status = Number(text.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length));
    [text, waiting] = ["", undefined];
    answered?.resolve(status);
  });
  socket.on("error", fail);
  socket.on("close", () => fail(new Error("the server closed a connection")));
  socket.setTimeout(longest_ms, () => socket.destroy(new Error("there was no answer")));
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(request, "utf8");
      }),
    close: () => socket.destroy(),
  };
}

type PendingRequest = {
  readonly resolve: (status: number) => void;
  readonly reject: (error: Error) => void;
};

export function writeRequest(question: Question, url: string): string {
  const { method, path, headers, body } = spell(question);
  const all = {
    host: new URL(url).host,
    ...headers,
    ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path} HTTP/1.1`, ...lines, "", body ?? ""].join("\r\n");
}

function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const head = text.slice(0, end);
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
  if (length !== undefined) return text.length >= end + 4 + Number(length);
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return text.endsWith("\r\n0\r\n\r\n");
  // A response with neither header has no body, or ends with its connection, which ours never do.
  return true;
}
