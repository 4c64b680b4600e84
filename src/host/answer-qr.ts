import { writeAddress } from "../contract/rules/link-address.ts";
import { drawPng, drawSvg } from "../qr/draw-qr.ts";
import { answerFile, makeTag } from "./cached-file.ts";
import type { Answer } from "./http-answer.ts";
import { createRecentCache } from "./recent-cache.ts";
import type { Site } from "./sites.ts";

/** Another encoder draws another picture of the same address: counted up, caches ask for it. */
const drawing = 2;

/** A large picture takes 200 kB, and a usual one 5 kB. */
const mostBytes = 8 * 1024 * 1024;

/** The picture of a link's address; undefined where the address is longer than any code. */
type AnswerQr = (
  site: Pick<Site, "origin">,
  path: string,
  query: URLSearchParams,
  ifNoneMatch: string | undefined,
) => Promise<Answer | undefined>;

type Picture = string | Uint8Array;
type Draw = (address: string) => Promise<Picture | undefined>;

/** Whoever asks for a picture costs its drawing, so that the last ones are kept. */
export function createQrAnswers(draws: Readonly<Record<"png" | "svg", Draw>> = drawers): AnswerQr {
  const pictures = createRecentCache<Picture>(mostBytes, ({ length }) => length);

  async function read(name: string, draw: Draw, address: string): Promise<Picture | undefined> {
    const picture = pictures.find(name) ?? (await draw(address));
    if (picture !== undefined) pictures.set(name, picture);
    return picture;
  }

  return ({ origin }, path, query, ifNoneMatch) => {
    const address = writeAddress(origin, path);
    const isPng = query.get("format") === "png";
    const type = isPng ? "image/png" : "image/svg+xml";
    const name = `${drawing} ${type} ${address}`;
    const draw = isPng ? draws.png : draws.svg;
    const file = { type, etag: makeTag(name), read: () => read(name, draw, address) };
    return answerFile(file, ifNoneMatch);
  };
}

const drawers = { png: drawPng, svg: drawSvg } as const;
