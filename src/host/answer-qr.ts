import type { Clock } from "../contract/clock.ts";
import { dropParameter } from "../contract/rules/address-query.ts";
import { writeAddress } from "../contract/rules/link-address.ts";
import { addScanMark } from "../contract/rules/scan-mark.ts";
import { drawPng, drawSvg } from "../qr/draw-qr.ts";
import { createCache } from "../store/cache.ts";
import { answerFile, makeTag } from "./cached-file.ts";
import { makeAnswer, type Answer } from "./http-answer.ts";
import { createClientLimit } from "./limit-clients.ts";
import type { Site } from "./sites.ts";

/** Another encoder draws another picture of the same address: counted up, caches ask for it. */
const drawing = 3;

/** A large picture takes 200 kB, and a usual one 5 kB. */
const mostBytes = 8 * 1024 * 1024;

/**
 * A stranger can make up any number of queries, and a picture takes as long as hundreds of visits:
 * so long they are, and so many are drawn in a second for one client address.
 */
const mostQuery_characters = 500;
const drawn = { window_ms: 1000, findMost: () => 10 } as const;

/** What a picture shows, and who asks for it. */
type Pictured = {
  readonly site: Pick<Site, "origin">;
  readonly path: string;
  readonly query: string;
  /** The client's address. */
  readonly client: string;
};

/** Pictures of links' addresses; undefined where the address is longer than any code. */
export type QrPictures = {
  /** With the query that was asked for beside the picture's format. */
  readonly answer: (
    pictured: Pictured,
    ifNoneMatch: string | undefined,
  ) => Promise<Answer | undefined>;
  /** An SVG to stand in a page, with the visit's query where there is time for it. */
  readonly drawForPage: DrawForPage;
};

export type DrawForPage = (pictured: Pictured) => Promise<string | undefined>;

type Picture = string | Uint8Array;
type Draw<Drawn = Picture> = (address: string) => Promise<Drawn | undefined>;

const tooMany = makeAnswer(503, { "cache-control": "no-store", "retry-after": "1" });

/** Whoever asks for a picture costs its drawing, so that the last ones are kept. */
export function createQrPictures(
  clock: Pick<Clock, "monotonic">,
  draws: Readonly<{ png: Draw; svg: Draw<string> }> = drawers,
): QrPictures {
  const pictures = createCache<Picture>(mostBytes, ({ length }) => length);
  const limit = createClientLimit(clock, drawn);

  async function read(name: string, draw: Draw, address: string): Promise<Picture | undefined> {
    const picture = pictures.find(name) ?? (await draw(address));
    if (picture !== undefined) pictures.set(name, picture);
    return picture;
  }

  async function answer(
    { site: { origin }, path, query, client }: Pictured,
    ifNoneMatch: string | undefined,
  ): Promise<Answer | undefined> {
    const own = dropParameter(query, "format");
    if (own.length > mostQuery_characters) return undefined;
    const address = addScanMark(writeAddress(origin, path) + (own === "" ? "" : `?${own}`));
    const isPng = new URLSearchParams(query).get("format") === "png";
    const type = isPng ? "image/png" : "image/svg+xml";
    const name = nameDrawing(type, address);
    if (own !== "" && pictures.find(name) === undefined && !limit.takes(client)) return tooMany;
    const draw = isPng ? draws.png : draws.svg;
    const file = { type, etag: makeTag(name), read: () => read(name, draw, address) };
    return answerFile(file, ifNoneMatch);
  }

  async function drawForPage({
    site: { origin },
    path,
    query,
    client,
  }: Pictured): Promise<string | undefined> {
    const bare = writeAddress(origin, path);
    const plain = addScanMark(bare);
    const whole = query === "" ? plain : addScanMark(`${bare}?${query}`);
    const isKnown = pictures.find(nameDrawing("image/svg+xml", whole)) !== undefined;
    const isOwn =
      query === "" || isKnown || (query.length <= mostQuery_characters && limit.takes(client));
    const address = isOwn ? whole : plain;
    const picture = await read(nameDrawing("image/svg+xml", address), draws.svg, address);
    return typeof picture === "string" ? picture : undefined;
  }

  return { answer, drawForPage };
}

function nameDrawing(type: string, address: string): string {
  return `${drawing} ${type} ${address}`;
}

const drawers = { png: drawPng, svg: drawSvg } as const;
