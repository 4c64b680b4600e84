import { createHash } from "node:crypto";
import { makeAnswer, type HostAnswer } from "./http-answer.ts";

/** Serves association files and QR codes, which browsers may cache for an hour. */

export type CachedFile = {
  readonly type: string;
  readonly etag: string;
  /** Returns undefined if the file does not exist. */
  readonly read: () => Promise<string | Uint8Array | undefined>;
};

export function makeTag(content: string): string {
  return `"${createHash("sha256").update(content).digest("base64url")}"`;
}

/** Responds with a 304, without reading the file, if the client has it already. */
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
  // To show an image in its own tab, browsers need inline styles.
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
  "x-content-type-options": "nosniff",
  "x-robots-tag": "noindex",
};

function matchesTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.some((tag) => tag === etag || tag === "*");
}
