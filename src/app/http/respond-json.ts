import type { ServerResponse } from "node:http";

/** What this server says of itself, and no part of it. */
export function respondJson(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
    .end(JSON.stringify(body));
}
