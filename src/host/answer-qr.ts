import type { Clock } from "../contract/clock.ts";
import { dropParameter, addScanMark } from "../contract/rules/address-query.ts";
import { writeAddress } from "../contract/rules/link-path.ts";
import { drawPng, drawSvg } from "../qr/draw-qr.ts";
import { createCache } from "../store/cache.ts";
import { answerFile, makeTag } from "./cached-file.ts";
import { makeAnswer, type HostAnswer } from "./http-answer.ts";
import { createClientLimit } from "./limit-clients.ts";
import type { Site } from "./sites.ts";

/** Draws, limits and caches the QR codes of links. */

/**
 * Increase this number when the encoder's output changes. It is part of the ETag and cache keys.
 */
const drawingVersion = 3;

/** The size of the cache. A large QR code takes 200 kB, a usual one 5 kB. */
const mostBytes = 8 * 1024 * 1024;

/**
 * Limits for QR codes of URLs with a query. Anyone can request any number of such QR codes, and
 * drawing one takes as long as hundreds of visits.
 */
const mostQuery_characters = 500;
const drawLimit = { window_ms: 1000, findMost: () => 10 } as const;

type QrRequest = {
  readonly site: Pick<Site, "origin">;
  readonly path: string;
  readonly query: string;
  /** The client's IP address. */
  readonly client: string;
};

/** Draws QR codes for links. The result is undefined if the URL is too long for a QR code. */
export type QrPictures = {
  /** Answers a request for a QR code. The encoded URL contains the query, except `format`. */
  readonly answer: (
    request: QrRequest,
    ifNoneMatch: string | undefined,
  ) => Promise<HostAnswer | undefined>;
  /** Draws an SVG for a page. Omits the visit's query if the client has reached its limit. */
  readonly drawForPage: DrawForPage;
};

export type DrawForPage = (request: QrRequest) => Promise<string | undefined>;

type QrPicture = string | Uint8Array;
type DrawQr<Drawn = QrPicture> = (address: string) => Promise<Drawn | undefined>;

const tooMany = makeAnswer(503, { "cache-control": "no-store", "retry-after": "1" });

export function createQrPictures(
  clock: Pick<Clock, "monotonic">,
  draws: Readonly<{ png: DrawQr; svg: DrawQr<string> }> = drawers,
): QrPictures {
  const pictures = createCache<QrPicture>(mostBytes, ({ length }) => length);
  const limit = createClientLimit(clock, drawLimit);

  async function read(name: string, draw: DrawQr, address: string): Promise<QrPicture | undefined> {
    const picture = pictures.find(name) ?? (await draw(address));
    if (picture !== undefined) pictures.set(name, picture);
    return picture;
  }

  async function answer(
    { site: { origin }, path, query, client }: QrRequest,
    ifNoneMatch: string | undefined,
  ): Promise<HostAnswer | undefined> {
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
  }: QrRequest): Promise<string | undefined> {
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
  return `${drawingVersion} ${type} ${address}`;
}

const drawers = { png: drawPng, svg: drawSvg } as const;
