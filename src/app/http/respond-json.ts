import type { ServerResponse } from "node:http";

/** Sends a JSON response from the HTTP server itself, for example while it starts. */
export function respondJson(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
    .end(JSON.stringify(body));
}
