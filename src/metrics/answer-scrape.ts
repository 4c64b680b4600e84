import type { IncomingMessage, ServerResponse } from "node:http";
import { isRead } from "../network/read-request.ts";
import { readBearer, isSameSecret } from "../text/secrets.ts";

/** Serves the metrics only with a token, because they reveal how busy the server is. */
export type AnswerScrape = (request: IncomingMessage, response: ServerResponse) => void;

type ScrapeOptions = {
  readonly token: string;
  readonly contentType: string;
  readonly write: () => Promise<string>;
  readonly report: (error: unknown) => unknown;
};

const asText = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };

export function createScrapeAnswers({
  token,
  contentType,
  write,
  report,
}: ScrapeOptions): AnswerScrape {
  return (request, response) => {
    if (!isRead(request)) {
      response.writeHead(405, { ...asText, allow: "GET, HEAD" }).end("Method not allowed\n");
      return;
    }
    const given = readBearer(request.headers.authorization);
    if (given === undefined || !isSameSecret(given, token)) {
      response
        .writeHead(401, { ...asText, "www-authenticate": "Bearer" })
        .end("Send the token of WAYPOST_METRICS_TOKEN in Authorization: Bearer <token>.\n");
      return;
    }
    write().then(
      (text) => response.writeHead(200, { ...asText, "content-type": contentType }).end(text),
      (error: unknown) => {
        report(error);
        response.writeHead(500, asText).end("The metrics cannot be read right now.\n");
      },
    );
  };
}
