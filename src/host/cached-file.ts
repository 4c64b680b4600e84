import { createHash } from "node:crypto";
import { makeAnswer, type HostAnswer } from "./http-answer.ts";

/**
 * Files that browsers may cache for an hour and then revalidate: association files and QR codes.
 */

export type CachedFile = {
  readonly type: string;
  /** The ETag header, which changes with the content. */
  readonly etag: string;
  /** Undefined if the file does not exist. */
  readonly read: () => Promise<string | Uint8Array | undefined>;
};

export function makeTag(content: string): string {
  return `"${createHash("sha256").update(content).digest("base64url")}"`;
}

/** A client that already has the file gets a 304, and nothing is read. */
export async function answerFile(
  { type, etag, read }: CachedFile,
  ifNoneMatch: string | undefined,
): Promise<HostAnswer | undefined> {
  const headers = { "cache-control": "public, max-age=3600", etag };
  if (matchesTag(ifNoneMatch, etag)) return makeAnswer(304, headers);
  const body = await read();
  if (body === undefined) return undefined;
  return makeAnswer(200, { "content-type": type, ...headers, ...safetyHeaders }, body);
}

const safetyHeaders = {
  // Browsers need inline styles to show a picture in its own tab.
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
  "x-content-type-options": "nosniff",
  "x-robots-tag": "noindex",
};

function matchesTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.some((tag) => tag === etag || tag === "*");
}
