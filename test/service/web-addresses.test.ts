import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests every field with an address for visitors, in every way to write a link. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const fields = {
  url: "Url",
  social_image_url: "Social image url",
  ios_fallback_url: "Ios fallback url",
  android_fallback_url: "Android fallback url",
} as const;

const notWeb = "must be an http or https address";
const control = "contains control characters";
const credentials = "can't contain a user name or password";

const hostile = [
  ["javascript:alert(1)", notWeb],
  ["JaVaScRiPt:alert(1)", notWeb],
  ["java\nscript:alert(1)", control],
  ["\u0001javascript:alert(1)", control],
  ["https://example.com/\u202egnp.exe", control],
  [" javascript:alert(1)", notWeb],
  ["javascript://example.com/%0Aalert(1)", notWeb],
  ["data:text/html,<script>alert(1)</script>", notWeb],
  ["vbscript:msgbox(1)", notWeb],
  ["blob:https://example.com/1", notWeb],
  ["file:///etc/passwd", notWeb],
  ["ftp://example.com/", notWeb],
  ["intent://example#Intent;end", notWeb],
  ["myapp://open", notWeb],
  ["view-source:https://example.com/", notWeb],
  ["//example.com/", notWeb],
  ["/relative", notWeb],
  ["example.com", notWeb],
  ["http:", notWeb],
  ["http://", notWeb],
  ["http:example.com", notWeb],
  ["https:/example.com", notWeb],
  ["https:///example.com", notWeb],
  ["https:\\\\example.com", notWeb],
  ["https://\\example.com", notWeb],
  [" https://example.com/", notWeb],
  ["https://exa mple.com/", notWeb],
  ["https://[::1", notWeb],
  ["https://example.com:99999/", notWeb],
  ["   ", notWeb],
  ["https://user@example.com/", credentials],
  ["https://@example.com/", credentials],
  ["https://:@example.com/", credentials],
  ["https://user:secret@example.com/", credentials],
  ["https://:secret@example.com/", credentials],
  ["https://paypal.com%2F@evil.example/", credentials],
  ["https://example.com/\r\nSet-Cookie: a=b", control],
  ["https://example.com/\t", control],
  ["https://example.com/\u0000", control],
  ["https://example.com/\u007f", control],
  ["https://example.com/\u0085", control],
  ["https://example.com/\ud83c", control],
  [`https://example.com/${"a".repeat(8192)}`, "is too long (maximum is 8192 characters)"],
] as const;

test.each(Object.entries(fields))(
  "dangerous and malformed URLs are rejected in the link field %s",
  async (field, label) => {
    const kept = { path: "kept", [field]: "https://example.com/kept" };
    const link = (await world.call("POST", "/links", { body: kept })).body;
    const ways = [
      ["POST", "/links", {}],
      ["POST", "/links/upsert", { path: "new" }],
      ["POST", "/links/upsert", { path: "kept" }],
      ["PATCH", `/links/${link.id}`, {}],
      ["PUT", `/links/${link.id}`, {}],
    ] as const;
    for (const [address, fault] of hostile) {
      for (const [method, path, rest] of ways) {
        const body = { ...rest, [field]: address };
        const reply = await world.call(method, path, { body });
        const wanted = [method, path, address, 422, { error: `${label} ${fault}` }];
        expect([method, path, address, reply.status, reply.body]).toEqual(wanted);
      }
    }
    expect((await world.call("GET", "/links")).body.links).toEqual([link]);
  },
);

test("dangerous and malformed URLs are rejected by POST /short_links", async () => {
  for (const [url, fault] of hostile) {
    const { status, body } = await world.call("POST", "/short_links", { body: { url } });
    if (url.trim() === "") expect(status).toBe(400);
    else expect([url, status, body]).toEqual([url, 422, { errors: `Url ${fault}` }]);
  }
  expect((await world.call("GET", "/links")).body.links).toEqual([]);
});

test("the 422 for a link lists all four URLs if each of them is invalid", async () => {
  const body = Object.fromEntries(Object.keys(fields).map((field) => [field, "javascript:1"]));
  const reply = await world.call("POST", "/links", { body });
  const clauses = Object.values(fields).map((label) => `${label} ${notWeb}`);
  const error = `${clauses.slice(0, 3).join(", ")}, and ${clauses[3]}`;
  expect([reply.status, reply.body]).toEqual([422, { error }]);
});

const harmless = [
  "http://example.com",
  "HTTPS://Example.COM/",
  "https://example.com:8443/a?b=c&d=%20#e",
  "https://xn--bcher-kva.example/",
  "https://bücher.example/é",
  "http://192.0.2.1/",
  "http://[2001:db8::1]/",
  "https://example.com/@user",
  "https://example.com/?next=javascript:alert(1)",
  `https://example.com/${"a".repeat(8172)}`,
];

test("a safe URL is stored unchanged", async () => {
  for (const address of harmless) {
    const body = Object.fromEntries(Object.keys(fields).map((field) => [field, address]));
    const made = await world.call("POST", "/links", { body });
    expect(made.status, made.text).toBe(201);
    expect(made.body).toMatchObject(body);
  }
});

test("every accepted URL uses http or https and contains no user name or password", async () => {
  const scheme = fc.constantFrom("http://", "https://", "HTTP:", "javascript:", "//", "\t", "");
  const rest = fc.string({ unit: "binary", maxLength: 12 });
  const address = fc.oneof(
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc.tuple(scheme, fc.constantFrom("", "example.com", "a@", "a:b@"), rest).map((p) => p.join("")),
  );
  const property = fc.asyncProperty(address, async (url) => {
    world.advance(60_000);
    const { status, body } = await world.call("POST", "/links", { body: { url } });
    if (status === 422) return;
    expect([status, body.url]).toEqual([201, url === "" ? null : url]);
    if (url === "") return;
    const { protocol, username, password } = new URL(url);
    expect(["http:", "https:"]).toContain(protocol);
    expect([username, password]).toEqual(["", ""]);
  });
  await fc.assert(property, { numRuns: 150 });
});
