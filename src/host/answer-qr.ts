import { writeAddress } from "../contract/rules/link-address.ts";
import { drawPng, drawSvg } from "../qr/draw-qr.ts";
import { answerFile, makeTag } from "./cached-file.ts";
import type { Answer } from "./http-answer.ts";
import type { Site } from "./sites.ts";

/** Another encoder draws another picture of the same address: counted up, caches ask for it. */
const drawing = 2;

/** The picture of a link's address; undefined where the address is longer than any code. */
export function answerQr(
  { origin }: Site,
  path: string,
  query: URLSearchParams,
  ifNoneMatch: string | undefined,
): Promise<Answer | undefined> {
  const address = writeAddress(origin, path);
  const isPng = query.get("format") === "png";
  const type = isPng ? "image/png" : "image/svg+xml";
  const read = () => (isPng ? drawPng(address) : drawSvg(address));
  return answerFile({ type, etag: makeTag(`${drawing} ${type} ${address}`), read }, ifNoneMatch);
}
