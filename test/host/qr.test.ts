import jsQr from "jsqr";
import { encode } from "uqr";
import { inflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { updateProject } from "../../src/store/projects.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForAll } from "../support/open-for.ts";
import { addApps } from "./add-apps.ts";

import agents from "./user-agents.json" with { type: "json" };

/** QR codes of links' addresses, for printing. */

const url = "https://shop.example/";
const border = 4;
/** Pixels of a PNG for each module, as documented. */
const scale = 10;

const computer = agents.desktop["Chrome on Windows"];

let host: LinkHost;
openForAll(openLinkHost, async (opened) => {
  host = opened;
  await host.add("link", { path: "spring", url });
  await host.add("link", { path: "frühling/größe 1", url });
  await host.add("link", { path: `long/${"x".repeat(1900)}`, url });
  await host.add("link", { path: "é".repeat(900), url });
});

const paths = ["spring", encodeURI("frühling/größe 1"), `long/${"x".repeat(1900)}`];

describe.each(paths)("the QR code of %s", (path) => {
  test("is an SVG image that encodes the link's URL by default", async () => {
    const { status, headers, text } = await host.visit(`/${path}.qr`);
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("image/svg+xml");
    expect(text).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 (\d+) \1"/);
    expect(text).not.toMatch(/script|href|style/);
    const strokes = Array.from(text.matchAll(/M(\d+) (\d+)\.5h(\d+)/g), ([, x, y, width]) => ({
      x: Number(x),
      y: Number(y),
      width: Number(width),
    }));
    const isDark = (row: number, column: number) =>
      strokes.some(({ x, y, width }) => y === row && column >= x && column < x + width);
    const side = Number(/viewBox="0 0 (\d+) /.exec(text)?.[1]);
    expect(scan(side, isDark)).toBe(`${host.origin}/${path}?wp=qr`);
    expectModules(side, isDark, path);
  });

  test("is a PNG image that encodes the link's URL if format=png is sent", async () => {
    const { status, headers, bytes } = await host.visit(`/${path}.qr?format=png`);
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("image/png");
    const { width, height, readPixel } = decodePng(bytes);
    expect(width).toBe(height);
    const isDark = (row: number, column: number) =>
      readPixel(row * scale + 3, column * scale + 7) === 0;
    expect(scan(width / scale, isDark)).toBe(`${host.origin}/${path}?wp=qr`);
    expectModules(width / scale, isDark, path);
  });
});

test("a QR code can be cached for an hour and revalidated with its ETag", async () => {
  const { headers } = await host.visit("/spring.qr");
  expect(headers["cache-control"]).toBe("public, max-age=3600");
  const png = await host.visit("/spring.qr?format=png");
  expect(png.headers.etag).not.toBe(headers.etag);
  const known = { headers: { "if-none-match": String(headers.etag) } };
  expect(await host.visit("/spring.qr", known)).toMatchObject({ status: 304, text: "" });
  expect((await host.visit("/spring.qr?format=png", known)).status).toBe(200);
});

test("a missing link and a link whose URL is too long have no QR code", async () => {
  for (const path of ["/nothing.qr", "/.qr", "/spring.qr.qr", "/spring.qr/", "//spring.qr"]) {
    expect((await host.visit(path)).status).toBe(404);
  }
  const path = encodeURIComponent("é".repeat(900));
  expect((await host.visit(`/${path}`)).status).toBe(302);
  expect((await host.visit(`/${path}.qr`)).status).toBe(404);
});

test("a QR code contains the verified custom domain, whichever host name serves it", async () => {
  const { world } = host;
  const custom_domain = "a-rather-long-name-for-a-shop.example";
  const other = await world.addProject({ subdomain: "o", custom_domain });
  const key = await world.addKey({ project: other });
  await world.call("POST", "/links", { key, body: { path: "spring", url } });
  const draw = async (name: string) => (await host.visit("/spring.qr", { host: name })).text;
  const before = await draw("o.localhost");
  const changes = { custom_domain_verified: true };
  await world.store.write((db) => updateProject(db, other.id, changes, 0));
  const after = await draw("o.localhost");
  expect(after).not.toBe(before);
  expect(await draw(custom_domain)).toBe(after);
});

test("clients behind a trusted proxy can each request ten new QR codes per second", async () => {
  const trustedProxies = { networks: [{ address: "127.0.0.1", prefix: 32 }] };
  await using proxied = await openLinkHost({ trustedProxies });
  const apps = await addApps(proxied, { ios: "Shop", android: "Shop" });
  await proxied.add("link", { path: "spring", ...apps });
  const ask = (target: string, from: string) =>
    proxied.visit(target, { agent: computer, headers: { "x-forwarded-for": from } });
  for (let turn = 0; turn < 10; turn += 1) {
    expect((await ask(`/spring.qr?id=${turn}`, "203.0.113.1")).status).toBe(200);
  }
  expect((await ask("/spring.qr?id=10", "203.0.113.1")).status).toBe(503);
  // A page then shows the code of the bare address.
  const readCode = async (from: string) =>
    /<svg[^]*?<\/svg>/.exec((await ask("/spring?id=11", from)).text)?.[0];
  const code = await readCode("203.0.113.1");
  expect(code).toBe((await ask("/spring.qr", "203.0.113.1")).text);
  expect((await ask("/spring.qr?id=10", "203.0.113.2")).status).toBe(200);
  expect(await readCode("203.0.113.2")).not.toBe(code);
});

test("a shortened path has its own, smaller QR code", async () => {
  const link = await host.add("link", {
    path: "a/rather/long/path/for/a/picture",
    url,
    options: { shorten: true },
  });
  const short = await host.visit(`/${link.shortened_path}.qr`);
  const { length } = encode(`${host.origin}/${link.shortened_path}?wp=qr`, {
    ecc: "M",
    border: 0,
  }).data;
  expect(short.text).toContain(`0 0 ${length + 2 * border} `);
  const long = await host.visit(`/${link.path}.qr`);
  expect(long.text.length).toBeGreaterThan(short.text.length);
});

type IsDark = (row: number, column: number) => boolean;

function scan(side: number, isDark: IsDark): string | undefined {
  const width = side * 3;
  const places = Array.from({ length: side }, (_, place) => place);
  const dark = places.map((row) => places.map((column) => isDark(row, column)));
  const pixels = new Uint8ClampedArray(width * width * 4).fill(255);
  for (let pixel = 0; pixel < width * width; pixel += 1) {
    const [row, column] = [Math.floor(pixel / width / 3), Math.floor((pixel % width) / 3)];
    if (dark[row]?.[column] === true) pixels.fill(0, pixel * 4, pixel * 4 + 3);
  }
  return jsQr.default(pixels, width, width)?.data;
}

/** Compares every module and the white border, because scanners correct errors. */
function expectModules(side: number, isDark: IsDark, path: string): void {
  const places = Array.from({ length: side }, (_, place) => place);
  const seen = places.map((row) => places.map((column) => (isDark(row, column) ? "#" : ".")));
  // Level M, which tolerates dirt and folds.
  const { data } = encode(`${host.origin}/${path}?wp=qr`, { ecc: "M", border: 0 });
  const wanted = places.map((row) =>
    places.map((column) => (data[row - border]?.[column - border] === true ? "#" : ".")),
  );
  expect(side).toBe(data.length + 2 * border);
  expect(seen.map((row) => row.join(""))).toEqual(wanted.map((row) => row.join("")));
}

/** Decodes only what our own pictures need: one bit of grey, no filter. */
function decodePng(bytes: Buffer) {
  expect(bytes.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
  const width = bytes.readUInt32BE(16);
  const height = bytes.readUInt32BE(20);
  expect([...bytes.subarray(24, 29)]).toEqual([1, 0, 0, 0, 0]);
  const start = bytes.indexOf("IDAT");
  const length = bytes.readUInt32BE(start - 4);
  const pixels = inflateSync(bytes.subarray(start + 4, start + 4 + length));
  const stride = 1 + Math.ceil(width / 8);
  expect(pixels.length).toBe(stride * height);
  const readPixel = (row: number, column: number) =>
    ((pixels[row * stride + 1 + (column >> 3)] ?? 0) >> (7 - (column & 7))) & 1;
  return { width, height, readPixel };
}
