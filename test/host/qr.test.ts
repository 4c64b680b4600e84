import QRCode from "qrcode";
import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { updateProject } from "../../src/store/projects.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";

/** Pictures of links' addresses, for whoever wants to print one. */

const url = "https://shop.example/";
const border = 4;

let host: LinkHost;
beforeAll(async () => {
  host = await openLinkHost();
  await host.add("link", { path: "spring", url });
  await host.add("link", { path: "frühling/größe 1", url });
  await host.add("link", { path: `long/${"x".repeat(1900)}`, url });
  await host.add("link", { path: "é".repeat(900), url });
});
afterAll(() => host[Symbol.asyncDispose]());

const paths = ["spring", encodeURI("frühling/größe 1"), `long/${"x".repeat(1900)}`];

describe.each(paths)("the picture of %s", (path) => {
  test("is an SVG of its address", async () => {
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
    expectModules(isDark, path);
  });

  test("is a PNG of its address where that is asked for", async () => {
    const { status, headers, bytes } = await host.visit(`/${path}.qr?format=png`);
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("image/png");
    const { width, height, readPixel } = decodePng(bytes);
    expect(width).toBe(height);
    const size = readModules(path).size + 2 * border;
    const scale = width / size;
    expect(scale).toBe(10);
    expectModules((row, column) => readPixel(row * scale + 3, column * scale + 7) === 0, path);
  });
});

test("a picture is kept for an hour, and asked for again by its tag", async () => {
  const { headers } = await host.visit("/spring.qr");
  expect(headers["cache-control"]).toBe("public, max-age=3600");
  const png = await host.visit("/spring.qr?format=png");
  expect(png.headers.etag).not.toBe(headers.etag);
  const known = { headers: { "if-none-match": String(headers.etag) } };
  expect(await host.visit("/spring.qr", known)).toMatchObject({ status: 304, text: "" });
  expect((await host.visit("/spring.qr?format=png", known)).status).toBe(200);
});

test("there is none of what is no link, or of what no code can hold", async () => {
  for (const path of ["/nothing.qr", "/.qr", "/spring.qr.qr", "/spring.qr/", "//spring.qr"]) {
    expect((await host.visit(path)).status).toBe(404);
  }
  const path = encodeURIComponent("é".repeat(900));
  expect((await host.visit(`/${path}`)).status).toBe(302);
  expect((await host.visit(`/${path}.qr`)).status).toBe(404);
});

test("a picture shows the project's own domain, under whichever name it is asked for", async () => {
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

test("a shortened path has its own, which is smaller", async () => {
  const link = await host.add("link", {
    path: "a/rather/long/path/for/a/picture",
    url,
    options: { shorten: true },
  });
  const short = await host.visit(`/${link.shortened_path}.qr`);
  expect(short.text).toContain(`0 0 ${readModules(link.shortened_path).size + 2 * border} `);
  const long = await host.visit(`/${link.path}.qr`);
  expect(long.text.length).toBeGreaterThan(short.text.length);
});

function readModules(path: string) {
  return QRCode.create(`${host.origin}/${path}`, { errorCorrectionLevel: "M" }).modules;
}

function expectModules(isDark: (row: number, column: number) => boolean, path: string): void {
  const modules = readModules(path);
  const side = modules.size + 2 * border;
  const seen: string[] = [];
  const wanted: string[] = [];
  for (let row = 0; row < side; row += 1) {
    const columns = Array.from({ length: side }, (_, column) => column);
    seen.push(columns.map((column) => (isDark(row, column) ? "#" : ".")).join(""));
    wanted.push(columns.map((column) => (readWanted(row, column) ? "#" : ".")).join(""));
  }
  expect(seen).toEqual(wanted);

  function readWanted(row: number, column: number): boolean {
    const [y, x] = [row - border, column - border];
    const isInside = Math.min(x, y) >= 0 && Math.max(x, y) < modules.size;
    return isInside && modules.get(y, x) === 1;
  }
}

/** As much of a reader as our own pictures need: one bit of grey, no filter. */
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
