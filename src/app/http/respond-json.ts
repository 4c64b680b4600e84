import type { ServerResponse } from "node:http";

/** Sends a response of the HTTP server itself, not of the API or another part. */
export function respondJson(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
    .end(JSON.stringify(body));
}
