import type { IncomingMessage } from "node:http";

/** Whether a request only reads. HEAD is GET without the body. */
export function isRead({ method }: Pick<IncomingMessage, "method">): boolean {
  return method === "GET" || method === "HEAD";
}
