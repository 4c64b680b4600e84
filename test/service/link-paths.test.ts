import { randomBytes, randomInt } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createService } from "../support/api-description.ts";
import { createWorld, readLinkOrigin, origin, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests the stored form of paths, and the namespace of paths and shortened paths. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const generated = /^[2-9a-kmnp-zA-HJ-NP-Z]{8}$/;

async function writePath(world: World, path: unknown) {
  return world.call("POST", "/links", { body: { path } });
}

const normalForms = [
  ["spring", "spring"],
  ["/spring", "spring"],
  ["spring/", "spring"],
  ["spring%2F", "spring"],
  ["/spring///", "spring"],
  ["/a/b//c", "a/b//c"],
  ["caf%C3%A9", "café"],
  ["cafe\u0301", "café"],
  ["cafe%CC%81", "café"],
  ["a%20b", "a b"],
  ["a b", "a b"],
  ["a+b", "a+b"],
  ["a%2Fb", "a/b"],
  ["CamelCase", "CamelCase"],
  ["漢字/🎉", "漢字/🎉"],
  ["robots.txt2", "robots.txt2"],
  ["a/robots.txt", "a/robots.txt"],
  ["a/.well-known", "a/.well-known"],
  ["qr", "qr"],
  ["a.b/..c/d..", "a.b/..c/d.."],
  ["p".repeat(2000), "p".repeat(2000)],
] as const;

test("a link's path is stored in normalized form", async () => {
  for (const [given, kept] of normalForms) {
    const { status, body: link } = await writePath(world, given);
    expect([given, status, link.path]).toEqual([given, 201, kept]);
    const changed = await world.call("PATCH", `/links/${link.id}`, { body: { path: given } });
    expect([changed.status, changed.body]).toEqual([200, link]);
    await world.call("DELETE", `/links/${link.id}`);
  }
});

const query = "Path can't contain a question mark or a hash sign: ";
const fixSuggestion = "add parameters to the link's address";
const refusals = [
  ["a%3Fb%23c", query + fixSuggestion],
  ["a?b=c", query + fixSuggestion],
  ["a#b", query + fixSuggestion],
  ["?", query + fixSuggestion],
  [".well-known", "Path is reserved"],
  ["/.well-known/assetlinks.json", "Path is reserved"],
  ["%2Ewell-known/x", "Path is reserved"],
  [".Well-Known/x", "Path is reserved"],
  ["robots.txt", "Path is reserved"],
  ["/ROBOTS.TXT", "Path is reserved"],
  ["favicon.ico", "Path is reserved"],
  ["apple-app-site-association", "Path is reserved"],
  ["spring.qr", "Path is reserved"],
  ["spring.QR", "Path is reserved"],
  ["//evil.example", "Path can't begin with more than one slash"],
  ["%2Fevil", "Path can't begin with more than one slash"],
  ["robots.txt/", "Path is reserved"],
  ["100%", "Path has invalid percent-encoding"],
  ["a%zz", "Path has invalid percent-encoding"],
  ["%E0%A4", "Path has invalid percent-encoding"],
  ["a%252Fb", "Path can't contain a percent sign"],
  ["a\\b", "Path can't contain a backslash"],
  ["a%5Cb", "Path can't contain a backslash"],
  ["..", "Path can't contain the segments . or .."],
  ["a/../b", "Path can't contain the segments . or .."],
  ["a/%2E%2E/b", "Path can't contain the segments . or .."],
  ["./a", "Path can't contain the segments . or .."],
  ["a\nb", "Path contains control characters"],
  ["a%0D%0AX: y", "Path contains control characters"],
  ["a%00", "Path contains control characters"],
  ["sale\u202egnp.exe", "Path contains control characters"],
  ["a%E2%81%A6b", "Path contains control characters"],
  ["a\ud83c", "Path contains control characters"],
  ["p".repeat(2001), "Path is too long (maximum is 2000 bytes)"],
  ["é".repeat(1001), "Path is too long (maximum is 2000 bytes)"],
] as const;

test("every endpoint that writes a link rejects an invalid path", async () => {
  const { id } = (await writePath(world, "here")).body;
  for (const [path, error] of refusals) {
    for (const [method, target] of [
      ["POST", "/links"],
      ["POST", "/links/upsert"],
      ["PATCH", `/links/${id}`],
      ["PUT", `/links/${id}`],
    ] as const) {
      const reply = await world.call(method, target, { body: { path } });
      const wanted = [path, method, target, 422, { error }];
      expect([path, method, target, reply.status, reply.body]).toEqual(wanted);
    }
  }
  expect((await world.call("GET", "/links")).body.links).toMatchObject([{ path: "here" }]);
});

test("a link created with an empty path gets a generated path", async () => {
  for (const path of [undefined, null, "", "/", "  ", "//", "%2F", "///"]) {
    const { status, body } = await writePath(world, path);
    expect([path, status, body.path]).toEqual([path, 201, expect.stringMatching(generated)]);
  }
});

test("200 generated paths are unique and contain no ambiguous characters", async () => {
  const paths = new Set<string>();
  for (let made = 0; made < 200; made += 1) paths.add((await writePath(world, "")).body.path);
  expect(paths.size).toBe(200);
  for (const path of paths) expect(path).toMatch(generated);
});

test("generated paths are always unused and get longer after several collisions", async () => {
  let stuck = 0;
  const bytes = (count: number) => {
    // Only generated paths use eight or nine bytes. IDs must stay different.
    if (count > 9 || stuck === 0) return randomBytes(count);
    stuck -= 1;
    return new Uint8Array(count);
  };
  const service = createService({
    store: world.store,
    setAlarm: world.setAlarm,
    clock: { now: () => 0, monotonic: () => 0 },
    random: { bytes },
    readLinkOrigin,
    report: String,
  });
  const draw = async (stuckFor: number): Promise<string> => {
    stuck = stuckFor;
    const headers = { authorization: `Token ${world.key}`, "content-type": "application/json" };
    const url = `${origin}/api/v1/links`;
    const reply = await service.answer({ method: "POST", url, headers, body: "{}" });
    expect(reply.status).toBe(201);
    return (reply.body as { path: string }).path;
  };
  expect(await draw(1)).toBe("22222222");
  const again = await draw(3);
  expect(again).toMatch(generated);
  expect(again).not.toBe("22222222");
  expect(await draw(6)).toBe("222222222");
});

test("PATCH rejects an empty path", async () => {
  const link = (await writePath(world, "here")).body;
  for (const path of ["", "  ", "/", null]) {
    const reply = await world.call("PATCH", `/links/${link.id}`, { body: { path } });
    expect([path, reply.status, reply.body]).toEqual([path, 422, { error: "Path can't be blank" }]);
  }
});

test("changing a link's path makes the old path available again", async () => {
  const link = (await writePath(world, "old")).body;
  const moved = await world.call("PATCH", `/links/${link.id}`, { body: { path: "new" } });
  expect(moved.body).toEqual({ ...link, path: "new" });
  expect((await writePath(world, "old")).status).toBe(201);
  expect((await writePath(world, "new")).status).toBe(422);
});

test("a path cannot be the same as another link's shortened path", async () => {
  const body = { path: "a", options: { shorten: true } };
  const link = (await world.call("POST", "/links", { body })).body;
  const other = (await writePath(world, "b")).body;
  for (const path of ["a", "/a", "%61", link.shortened_path]) {
    for (const [method, target] of [
      ["POST", "/links"],
      ["PATCH", `/links/${other.id}`],
    ] as const) {
      const reply = await world.call(method, target, { body: { path } });
      const wanted = [path, method, 422, { error: "Path has already been taken" }];
      expect([path, method, reply.status, reply.body]).toEqual(wanted);
    }
  }
  const upserted = await world.call("POST", "/links/upsert", {
    body: { path: link.shortened_path, name: "taken over" },
  });
  expect(upserted.status).toBe(422);
  expect(upserted.body).toEqual({ error: "Path has already been taken" });
  expect((await world.call("GET", `/links/${link.id}`)).body).toEqual(link);
});

test("paths that differ only in case belong to different links in every endpoint", async () => {
  const lower = (await writePath(world, "straße/é")).body;
  const upper = (await writePath(world, "Straße/É")).body;
  for (const link of [lower, upper]) {
    const eq = await world.call("GET", "/links", {
      query: `q[path_eq]=${encodeURIComponent(link.path)}`,
    });
    expect(eq.body.links).toEqual([link]);
    const url = `http://default.localhost:8787/${encodeURI(link.path)}`;
    expect((await world.call("POST", "/short_links/resolve", { body: { url } })).body).toEqual(
      link,
    );
    const body = { path: link.path };
    expect((await world.call("POST", "/links/upsert", { body })).body).toEqual(link);
  }
});

test("trailing slashes in a path are ignored", async () => {
  const shoe = (await writePath(world, "shoe")).body;
  const hat = { path: "hat", options: { shorten: true } };
  const { shortened_path } = (await world.call("POST", "/links", { body: hat })).body;
  const taken = [422, { error: "Path has already been taken" }];
  for (const taker of ["shoe/", "shoe%2F", "shoe//", `${shortened_path}/`]) {
    const created = await writePath(world, taker);
    expect([taker, created.status, created.body]).toEqual([taker, ...taken]);
    const other = (await writePath(world, "")).body;
    const body = { path: taker };
    const moved = await world.call("PATCH", `/links/${other.id}`, { body });
    expect([taker, moved.status, moved.body]).toEqual([taker, ...taken]);
  }
  const upserted = await world.call("POST", "/links/upsert", {
    body: { path: "shoe/", name: "A" },
  });
  expect([upserted.status, upserted.body.id]).toEqual([200, shoe.id]);
  for (const query of ["q[path_eq]=shoe/", "q[path_in][]=shoe/", "q[path_start]=sho"]) {
    expect([query, (await world.call("GET", "/links", { query })).body.meta.count]).toEqual([
      query,
      1,
    ]);
  }
  const start = await world.call("GET", "/links", { query: "q[path_start]=shoe/" });
  expect(start.body.meta.count).toBe(0);
});

test("a link with any valid path can be resolved and saved again with that path", async () => {
  await using world = await createWorld();
  const piece = fc.constantFrom("%20", "%2F", "%25", "/", ".", "..", " ", "\u00a0", "%C3%A9");
  const letter = fc.oneof(piece, fc.string({ unit: "grapheme", maxLength: 3 }));
  const path = fc.array(letter, { maxLength: 6 }).map((letters) => letters.join(""));
  const run = async (given: string) => {
    world.advance(60_000);
    const made = await writePath(world, given);
    if (made.status === 422) return;
    const link = made.body;
    const body = { path: link.path };
    const patched = await world.call("PATCH", `/links/${link.id}`, { body });
    expect([patched.status, patched.body]).toEqual([200, link]);
    const upserted = await world.call("POST", "/links/upsert", { body });
    expect([upserted.status, upserted.body]).toEqual([200, link]);
    const address = link.path.split("/").map(encodeURIComponent).join("/");
    const url = `http://default.localhost:8787/${address}`;
    const resolved = await world.call("POST", "/short_links/resolve", { body: { url } });
    expect([resolved.status, resolved.body]).toEqual([200, link]);
    await world.call("DELETE", `/links/${link.id}`);
  };
  const examples: [string][] = [["%20"], ["/ "], ["%C2%A0"], ["a%20"], ["/%2e%2e"]];
  await fc.assert(fc.asyncProperty(path, run), { numRuns: 150, examples });
  expect(world.reported).toEqual([]);
});

/** Letters that become longer in lower case or in Unicode normalization form C. */
const growing = { path: ["Ⱥ", "Ⱦ", "İ"], name: listRange(0x0958, 0x095f, 0xfb2a, 0xfb36) };
const others = { path: listRange(0x0400, 0x052f), name: listRange(0x4e00, 0x9fff) };

test.each([0, 6, 10])(
  "paths and names of maximum length are stored even if normalizing makes %i of 10 letters longer",
  async (share) => {
    await using world = await createWorld();
    const draw = (field: "path" | "name", length: number) => {
      const letters = Array.from({ length }, () => {
        const pool = (randomInt(10) < share ? growing : others)[field];
        return pool[randomInt(pool.length)];
      });
      return letters.join("");
    };
    const body = { path: draw("path", 1000), name: draw("name", 500) };
    const made = await world.call("POST", "/links", { body });
    expect([made.status, made.body.path]).toEqual([201, body.path.normalize("NFC")]);
    const query = new URLSearchParams({ "q[name_eq]": body.name }).toString();
    expect((await world.call("GET", "/links", { query })).body.links).toHaveLength(1);
    expect(world.reported).toEqual([]);
  },
);

function listRange(...ends: readonly number[]): readonly string[] {
  const [first = 0, last = 0, ...more] = ends;
  const letters = Array.from({ length: last - first + 1 }, (_, at) =>
    String.fromCodePoint(first + at),
  );
  return more.length === 0 ? letters : [...letters, ...listRange(...more)];
}
