import { createHash } from "node:crypto";
import { makeAnswer, type Answer } from "./answer.ts";

/** What may be kept for an hour and then asked for again: association files and QR pictures. */

type CachedFile = {
  readonly type: string;
  /** Another one whenever the content is. */
  readonly etag: string;
  /** Undefined where there turns out to be nothing. */
  readonly read: () => Promise<string | Uint8Array | undefined>;
};

export function makeTag(content: string): string {
  return `"${createHash("sha256").update(content).digest("base64url")}"`;
}

/** Nothing is read for whoever has it already. */
export async function answerFile(
  { type, etag, read }: CachedFile,
  ifNoneMatch: string | undefined,
): Promise<Answer | undefined> {
  const headers = { "cache-control": "public, max-age=3600", etag };
  if (isKnown(ifNoneMatch, etag)) return makeAnswer(304, headers);
  const body = await read();
  if (body === undefined) return undefined;
  const safely = {
    // The style is what browsers put around a picture that is opened by itself.
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
    "x-robots-tag": "noindex",
  };
  return makeAnswer(200, { "content-type": type, ...headers, ...safely }, body);
}

function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.some((tag) => tag === etag || tag === "*");
}
