import * as fc from "fast-check";
import { expect, test } from "vitest";
import { encodePath } from "../../src/contract/rules/link-path.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForAll } from "../support/open-for.ts";

/** Every path of a link redirects to that link, and no other path does. */

let host: LinkHost;
openForAll(openLinkHost, (opened) => (host = opened));

const pieces = fc.constantFrom(
  "a",
  "A",
  "é",
  "e\u0301",
  "Ω",
  "ß",
  "/",
  ".",
  "..",
  "-",
  " ",
  "+",
  "?",
  "#",
);
const others = fc.constantFrom(
  "&",
  "=",
  ";",
  ":",
  "@",
  "'",
  '"',
  "<",
  "~",
  "日本",
  "😀",
  "%20",
  ".qr",
);
const path = fc
  .array(fc.oneof({ weight: 3, arbitrary: pieces }, others, fc.string({ unit: "grapheme" })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => parts.join(""));

test("every allowed path redirects only to the destination of its own link", async () => {
  const targets = new Map<string, string>();
  await fc.assert(
    fc.asyncProperty(path, async (wanted) => {
      host.world.advance(1000);
      const url = `https://shop.example/${targets.size}`;
      const { status, body } = await host.world.call("POST", "/links", {
        body: { path: wanted, url, options: { shorten: true } },
      });
      if (status !== 201) {
        // Refused, or taken by an earlier link, which did not change.
        expect(status).toBe(422);
        return;
      }
      expect([...targets.keys()]).not.toContain(body.path);
      targets.set(body.path, url);
      targets.set(body.shortened_path, url);
      for (const address of [body.path, body.shortened_path]) {
        expect((await host.visit(`/${encodePath(address)}`)).headers.location).toBe(url);
      }
    }),
    { numRuns: 100 },
  );
  expect(targets.size).toBeGreaterThan(40);
  // Once all links exist, each still redirects to its own address.
  for (const [address, url] of targets) {
    expect((await host.visit(`/${encodePath(address)}`)).headers.location).toBe(url);
  }
});

test("a path that differs only slightly from a link's path does not redirect", async () => {
  const url = "https://shop.example/";
  await host.add("link", { path: "Spring/Größe 1", url });
  const exact = "/Spring/Gr%C3%B6%C3%9Fe%201";
  const [composed, encoded] = ["/Spring/Gro%CC%88%C3%9Fe%201", "/%53pring%2FGr%c3%b6%c3%9fe%201"];
  for (const same of [exact, composed, encoded, `${exact}//`]) {
    expect((await host.visit(same)).headers.location).toBe(url);
  }
  expect((await host.visit(`${exact}?x=1&path=o`)).headers.location).toBe(`${url}?x=1&path=o`);
  expect((await host.visit(`${exact}?/other`)).headers.location).toBe(`${url}?/other`);
  const others = [
    "/spring/Gr%C3%B6%C3%9Fe%201",
    `/${exact}`,
    `${exact}%00`,
    `${exact}%0d%0a`,
    "/Spring/Gr%F6%DFe%201",
    "/Spring/Größe+1".replace(/[öß]/g, "o"),
    "/Spring/../Spring/Gr%C3%B6%C3%9Fe%201",
    "/./Spring/Gr%C3%B6%C3%9Fe%201",
    "/Spring%252FGr%C3%B6%C3%9Fe%201",
    "/Spring//Gr%C3%B6%C3%9Fe%201",
    "/Spring\\Gr%C3%B6%C3%9Fe%201",
    "/Spring/Gr%C3%B6%C3%9Fe%201%20",
    "/Spring/Gr%C3%B6SSe%201",
  ];
  for (const other of others) {
    expect([other, (await host.visit(other)).status]).toEqual([other, 404]);
  }
});

test("a cached redirect is not used for a path that only resembles the cached path", async () => {
  const url = "https://shop.example/";
  await host.add("link", { path: "seen-Größe", url });
  await host.add("link", { path: "http://seen", url });
  await host.add("link", { path: "seen", url: `${url}a` });
  const readLocation = async (path: string) => {
    const sent = `GET ${path} HTTP/1.1\r\nhost: default.localhost\r\nconnection: close\r\n\r\n`;
    return /\r\nlocation: (.*)\r\n/i.exec(await host.sendRaw(sent))?.[1];
  };
  // In the second round, each redirect is cached.
  for (let turn = 0; turn < 2; turn += 1) {
    expect(await readLocation("/seen-Gr%C3%B6%C3%9Fe")).toBe(url);
    expect(await readLocation("/seen-Größe")).toBeUndefined();
    expect(await readLocation("/http://seen")).toBe(url);
    expect(await readLocation("http://seen")).toBeUndefined();
    expect(await readLocation("/seen?b")).toBe(`${url}a?b`);
    expect(await readLocation("/seen#b")).toBe(`${url}a`);
  }
});
