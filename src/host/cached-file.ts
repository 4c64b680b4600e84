import { createHash } from "node:crypto";
import { makeAnswer, type Answer } from "./http-answer.ts";

/** Association files and QR pictures, which browsers may cache for an hour and then revalidate. */

export type CachedFile = {
  readonly type: string;
  /** Changes with the content. */
  readonly etag: string;
  /** Undefined where there is no such file. */
  readonly read: () => Promise<string | Uint8Array | undefined>;
};

export function makeTag(content: string): string {
  return `"${createHash("sha256").update(content).digest("base64url")}"`;
}

/** A client that has the file already gets 304, and nothing is read for it. */
export async function answerFile(
  { type, etag, read }: CachedFile,
  ifNoneMatch: string | undefined,
): Promise<Answer | undefined> {
  const headers = { "cache-control": "public, max-age=3600", etag };
  if (matchesTag(ifNoneMatch, etag)) return makeAnswer(304, headers);
  const body = await read();
  if (body === undefined) return undefined;
  return makeAnswer(200, { "content-type": type, ...headers, ...safetyHeaders }, body);
}

const safetyHeaders = {
  // The style is what browsers put around a picture that is opened by itself.
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
  "x-content-type-options": "nosniff",
  "x-robots-tag": "noindex",
};

function matchesTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.some((tag) => tag === etag || tag === "*");
}
