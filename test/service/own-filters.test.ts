import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createIndex } from "../../src/store/trigram-index.ts";
import {
  selectIds,
  type Kinds,
  type Pair,
  type Row,
  plantLinks,
  type Seed,
} from "../support/planting.ts";
import { openForAll } from "../support/open-for.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests the filters that only Waypost has: `f[field_condition]` and `f[search]`. */

const kinds: Kinds = {
  created_at: "time",
  url: "text",
  ios_fallback_url: "text",
  android_fallback_url: "text",
  referrer: "text",
  ios_app_name: "text",
  android_app_name: "text",
};
const conditions = "eq not_eq cont cont start in gt gteq lt lteq null present empty".split(" ");

const urls = [
  "https://old.example.com/Spring?a=1",
  "https://OLD.example.com/spring",
  "https://new.example.com/été",
  "https://new.example.com/ΟΔΟΣ/50%25_off",
];
const words = ["old.example", "HTTPS://", "spring", "ÉTÉ", "οδος", "e", "%25_", "'", '"', "com/s"];
const names = ["Acme Shop", "acme shop", "Ärger"];
const texts = fc.constantFrom(...urls, ...words, ...names, "com.named", "com.Bare", "acme");

const seed: fc.Arbitrary<Omit<Seed, "path">> = fc.record({
  name: fc.constant(null),
  ios_app_bundle_id: fc.constantFrom(null, "com.named", "com.Bare"),
  android_app_package_name: fc.constantFrom(null, "com.named", "com.bare.b"),
  more: fc.record({
    url: fc.constantFrom(null, ...urls),
    ios_fallback_url: fc.constantFrom(null, null, ...urls),
    android_fallback_url: fc.constantFrom(null, ...urls),
    referrer: fc.constantFrom(null, "utm_source=Spring", "a%25b", "Ärger"),
  }),
});

const pair: fc.Arbitrary<Pair[]> = fc
  .tuple(
    fc.constantFrom(...Object.keys(kinds).slice(1)),
    fc.constantFrom(...conditions),
    fc.boolean(),
  )
  .chain(([field, condition, isList]) => {
    const isFlag = ["null", "present", "empty"].includes(condition);
    const value = isFlag ? fc.constantFrom("true", "0", "T", "false") : texts;
    const many = condition === "in" && isList;
    const name = `f[${field}_${condition}]${many ? "[]" : ""}`;
    return fc
      .array(value, { minLength: 1, maxLength: many ? 3 : 1 })
      .map((all) => all.map((text): Pair => [name, text]));
  });
const question = fc
  .tuple(
    fc.uniqueArray(pair, {
      minLength: 1,
      maxLength: 3,
      selector: ([one]) => one && toModel(one)[0],
    }),
    fc.constantFrom<Pair[]>([], [["q[s]", "created_at asc"]]),
    fc.constantFrom(100, 3),
    fc.constantFrom(1, 2),
  )
  .map(([pairs, sort, limit, page]) => ({ query: [...pairs.flat(), ...sort], limit, page }));

describe.each(["no trigram index", "a trigram index"])(
  "Waypost's own filters (with %s)",
  (state) => {
    test("return the same links as a reference model for every field and condition", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(seed, { maxLength: 12 }),
          fc.array(question, { minLength: 25, maxLength: 25 }),
          async (seeds, questions) => {
            await using world = await createWorld();
            const rows = await plant(world, seeds);
            if (state === "a trigram index") await buildIndex(world);
            for (const asked of questions) await compare(world, rows, asked);
          },
        ),
        { numRuns: 10 },
      );
    });
  },
);

/** Creates links. Only the first app of each kind has a name. */
async function plant(world: World, seeds: readonly Omit<Seed, "path">[]): Promise<Row[]> {
  const { call } = world;
  const ios = { name: "Acme Shop", bundle_id: "com.named", team_id: "TEAM000001" };
  await call("POST", "/ios_apps", { body: { ios_app: ios } });
  const android = { name: "Ärger", package_name: "com.named", fingerprints: ["AA:BB"] };
  await call("POST", "/android_apps", { body: { android_app: android } });
  const numbered = seeds.map((one, index) => ({ ...one, path: `link-${index}` }));
  const rows = await plantLinks(world, numbered);
  return rows.map((row) => ({
    ...row,
    ios_app_name: row["ios_app_bundle_id"] && called(row["ios_app_bundle_id"], "Acme Shop"),
    android_app_name:
      row["android_app_package_name"] && called(row["android_app_package_name"], "Ärger"),
  })) as Row[];
}

function called(id: unknown, name: string): string {
  return id === "com.named" ? name : String(id);
}

type ListRequest = {
  readonly query: readonly Pair[];
  readonly limit: number;
  readonly page: number;
};

async function compare(world: World, rows: readonly Row[], asked: ListRequest): Promise<void> {
  const { query, limit, page } = asked;
  const ids = selectIds(rows, kinds, query.map(toModel)) ?? [];
  const { status, body } = await ask(world, [
    ...query,
    ["limit", String(limit)],
    ["page", String(page)],
  ]);
  const told = { status, ids: body.links?.map(({ id }: Row) => id), count: body.meta?.count };
  const expected = ids.slice((page - 1) * limit, page * limit);
  expect({ query, ...told }).toEqual({ query, status: 200, ids: expected, count: ids.length });
}

/** Translates `empty`, which is the opposite of `present`. The model knows all other conditions. */
function toModel([name, value]: Pair): Pair {
  const spelled = name.replace(/^f/, "q");
  if (!spelled.includes("_empty]")) return [spelled, value];
  return [spelled.replace("_empty]", "_present]"), /^[1tT]/.test(value) ? "false" : "true"];
}

function ask(world: World, pairs: readonly Pair[]) {
  const query = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value]));
  return world.call("GET", "/links", { query: query.toString() });
}

async function buildIndex(world: World): Promise<void> {
  const { store, project } = world;
  await store.write((db) => createIndex({ db, projectId: project.id }));
  await store.finishTasks();
}

describe("Waypost's own filters in GET /links", () => {
  let world: World;
  openForAll(createWorld, async (opened) => {
    world = opened;
    const shop = { name: "Spring Sale", path: "spring/sale", isShortened: true };
    await plantLinks(world, [
      { ...shop, more: { url: "https://shop.example/Summer?x=1", social_title: "Blütezeit" } },
      { name: "Winter", path: "café", more: { url: "https://shop.example/winter" } },
      { name: null, path: "loop", more: { url: "http://default.localhost:8787/spring/sale" } },
    ]);
  });

  const fields = Object.keys(kinds).slice(1).join(", ");
  const known = "eq, not_eq, in, gt, gteq, lt, lteq, null, present, cont, start, empty";
  const unknown = `does not exist. Use search, or one of ${fields}, then _ and one of ${known}`;

  test.each([
    ["f[colour_eq]=x", "colour_eq", unknown],
    ["f[name_eq]=x", "name_eq", unknown],
    ["f[url]=x", "url", unknown],
    ["f[url_or_referrer_eq]=x", "url_or_referrer_eq", unknown],
    ["f[url_matches]=x", "url_matches", unknown],
    ["f[]=x", "", unknown],
    ["f[url_eq][a]=x", "url_eq][a", unknown],
    ["f[url_eq]=%20", "url_eq", "needs a value"],
    ["f[url_in][]=x&f[url_in][]=", "url_in", "needs a value"],
    ["f[url_eq][]=x&f[url_eq][]=y", "url_eq", "takes one value"],
    ["f[url_empty]=maybe", "url_empty", "takes true or false"],
    ["f[url_cont]=a%00b", "url_cont", "contains characters that cannot be stored"],
    ["f[search]=", "search", "must not be empty"],
    ["f[search]=a%00b", "search", "contains characters that cannot be stored"],
    [`f[search]=${"a+".repeat(11)}`, "search", "takes at most 10 words"],
    ["f[search][]=a&f[search][]=b", "search", "takes one value"],
  ])("are rejected with 422 and a reason: %s", async (query, name, fault) => {
    const reply = await world.call("GET", "/links", { query });
    const error = `The filter f[${name}] ${fault}.`;
    expect([reply.status, reply.body]).toEqual([422, { error }]);
  });

  test("are rejected in lists of apps", async () => {
    for (const path of ["/ios_apps", "/android_apps"]) {
      const reply = await world.call("GET", path, { query: "f[search]=x" });
      const error = "The filter f[search] does not exist: this list has no filters.";
      expect([reply.status, reply.body]).toEqual([422, { error }]);
    }
  });

  test("are listed in meta.applied, which is omitted if none of them is used", async () => {
    const query = "f[url_cont]=shop&f[search]=spring&q[name_cont]=s&f=1";
    const reply = await world.call("GET", "/links", { query });
    expect(reply.body.meta.applied).toEqual(["url_cont", "search"]);
    expect(reply.headers.get("warning")).toBeNull();
    const plain = await world.call("GET", "/links", { query: "q[url_cont]=shop" });
    expect(plain.body.meta).not.toHaveProperty("applied");
    expect(plain.headers.get("warning")).toBe('299 waypost "Ignored filters: url_cont."');
  });

  test.each<[sentence: string, text: string, paths: readonly string[]]>([
    ["a name in any case", "SPRING", ["spring/sale", "loop"]],
    ["several words in any place", "sale shop", ["spring/sale"]],
    ["a title", "blüte", ["spring/sale"]],
    ["a destination", "https://shop.example/summer", ["spring/sale"]],
    ["part of a path with its slash", "/spring", ["spring/sale", "loop"]],
    ["a percent-encoded path", "caf%C3%A9", ["café"]],
    ["a full URL and the link that redirects to it", "ORIGIN/spring/sale", ["spring/sale", "loop"]],
    ["a full URL with a query and a fragment", "ORIGIN/spring/sale?utm=1#top", ["spring/sale"]],
    ["a full URL without its scheme", "HOST/spring/sale/", ["spring/sale"]],
    ["a percent-encoded full URL", "https://HOST/caf%C3%A9", ["café"]],
    ["a full URL that ends with a slash", "ORIGIN/loop/", ["loop"]],
    ["a full short URL", "ORIGIN/SHORT", ["spring/sale"]],
    ["the full URL of a short link with its own query", "SHORTER", ["spring/sale"]],
    ["no link for the same path on another host", "https://other.example/spring/sale", []],
    ["no link for an unknown word", "autumn", []],
    ["no link for full-text search operators", `"spring" OR name:*`, []],
  ])("include search, which finds %s", async (_, text, paths) => {
    for (const stage of ["without an index", "with an index"]) {
      if (stage === "with an index") await buildIndex(world);
      const given = await fillIn(text);
      const { body } = await ask(world, [
        ["f[search]", given],
        ["q[s]", "created_at asc"],
      ]);
      const found = body.links?.map(({ path }: { path: string }) => path);
      expect([stage, given, found]).toEqual([stage, given, paths]);
    }
  });

  async function fillIn(text: string): Promise<string> {
    const host = `${world.project.subdomain}.localhost:8787`;
    const { body } = await ask(world, [["q[path_eq]", "spring/sale"]]);
    const [{ shortened_path }] = body.links;
    const filled = text
      .replace("ORIGIN", `http://${host}`)
      .replace("HOST", host)
      .replace("SHORT", text === "SHORTER" ? "SHORT" : shortened_path);
    if (text !== "SHORTER") return filled;
    const url = `http://${host}/spring/sale?utm_source=mail`;
    const short = await world.call("POST", "/short_links", { body: { url } });
    expect(short.body.shortened_path).not.toBe(shortened_path);
    return `http://${host}/${short.body.shortened_path}`;
  }
});

test("filters match only the current values of a link, and never a deleted link", async () => {
  await using world = await createWorld();
  await buildIndex(world);
  const [row] = await plantLinks(world, [
    { name: null, path: "one", more: { url: "https://first.example", referrer: "Ä" } },
  ]);
  const count = async (name: string, value: string) =>
    (await ask(world, [[`f[${name}]`, value]])).body.meta.count;
  await world.call("PATCH", `/links/${row?.id}`, { body: { url: "https://Second.example" } });
  expect(await count("url_cont", "FIRST")).toBe(0);
  expect(await count("url_cont", "SECOND")).toBe(1);
  await world.call("DELETE", `/links/${row?.id}`);
  expect(await count("search", "second")).toBe(0);
  await world.call("POST", `/links/${row?.id}/restore`);
  expect(await count("search", "second")).toBe(1);
  expect(await count("referrer_start", "ä")).toBe(1);
});
