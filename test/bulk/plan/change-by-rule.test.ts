import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyRules, listRuledFields } from "../../../src/bulk/plan/change-by-rule.ts";
import type { ReadLink } from "../../../src/contract/links.ts";
import {
  findRuleFaults,
  listRules,
  type Replacement,
  type RuleArguments,
} from "../../../src/mcp/tools/bulk/rule-arguments.ts";

/** Tests rules that change the fields of links. */

const link = (fields: object): ReadLink => ({ id: "1", ...fields });

const apply = (fields: object, rules: RuleArguments) =>
  applyRules(link(fields), listRules(rules)).fields;

const move = (from: string, to = "new.example.com"): RuleArguments => ({
  replace: [{ field: "url", from, to, match: "host" }],
});

const replaceIn = (field: string, from: string, to: string): RuleArguments => ({
  replace: [{ field, from, to, match: "text" }],
});

const step = (from: string, to: string): Replacement => ({
  field: "name",
  from,
  to,
  match: "text",
});

const add = (values: Record<string, string>): RuleArguments => ({
  add_query: { field: "url", values },
});

const put = (path_prefix: string): RuleArguments => ({ path_prefix });

type Parameter = readonly [name: string, value: string];
const order = ([one]: Parameter, [other]: Parameter) => (one < other ? -1 : 1);

describe("a rule that replaces a host", () => {
  test.each([
    ["https://old.example.com", "https://new.example.com"],
    ["https://OLD.example.COM/A?b=%20#c", "https://new.example.com/A?b=%20#c"],
    ["http://old.example.com:80/a", "http://new.example.com/a"],
    ["https://old.example.com./a", "https://new.example.com/a"],
    [
      "https://old.example.com?x=https://old.example.com/",
      "https://new.example.com?x=https://old.example.com/",
    ],
    ["https://old.example.com#/old.example.com", "https://new.example.com#/old.example.com"],
    ["https://me@old.example.com/a", "https://me@new.example.com/a"],
  ])("keeps the rest of %s unchanged", (url, moved) => {
    expect(apply({ url }, move("old.example.com"))).toEqual({ url: moved });
  });

  test.each([
    "https://www.old.example.com/",
    "https://old.example.com.evil.example/",
    "https://old.example.com:8443/",
    "http://old.example.com:443/",
    "https://x.example/old.example.com",
    "https://old.example.com@x.example/",
    "market://old.example.com",
    "no address",
    "",
  ])("matches only the whole host and leaves %s unchanged", (url) => {
    expect(apply({ url }, move("old.example.com"))).toEqual({});
  });

  test("matches the host in Unicode or punycode and compares the port", () => {
    const url = "https://xn--mnchen-3ya.example/a";
    expect(apply({ url }, move("MÜNCHEN.example"))).toEqual({ url: "https://new.example.com/a" });
    const written = { url: "https://münchen.example/a" };
    expect(apply(written, move("xn--mnchen-3ya.example", "b.example:8443"))).toEqual({
      url: "https://b.example:8443/a",
    });
    const onPort = { url: "https://old.example.com:8443/a" };
    expect(apply(onPort, move("old.example.com:8443"))).toEqual({
      url: "https://new.example.com/a",
    });
  });

  const hosts = fc.domain();
  const tails = fc.oneof(
    fc.constant(""),
    fc
      .tuple(fc.constantFrom("/", "?", "#"), fc.string({ unit: "grapheme" }))
      .map((part) => part.join("")),
  );

  test("keeps everything after the host and changes nothing when applied again", () => {
    fc.assert(
      fc.property(hosts, hosts, tails, (from, to, tail) => {
        fc.pre(from.toLowerCase() !== to.toLowerCase());
        const { url } = apply({ url: `https://${from}${tail}` }, move(from, to));
        expect(url).toBe(`https://${to}${tail}`);
        expect(apply({ url }, move(from, to))).toEqual({});
      }),
    );
  });

  test("does not change a URL with a different host", () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
        expect(apply({ url }, move("old.example.com"))).toEqual({});
      }),
    );
  });
});

describe("a rule that replaces text", () => {
  test("replaces every occurrence of the exact text", () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ minLength: 1 }), fc.string(), (name, from, to) => {
        const expected = name.split(from).join(to);
        expect(apply({ name }, replaceIn("name", from, to))).toEqual(
          expected === name ? {} : { name: expected },
        );
      }),
    );
    expect(apply({ name: "a.c abc" }, replaceIn("name", "a.c", "$&"))).toEqual({ name: "$& abc" });
    expect(apply({ name: "Spring" }, replaceIn("name", "spring", "x"))).toEqual({});
  });

  test("can remove text and leaves empty fields unchanged", () => {
    expect(apply({ name: "x" }, replaceIn("name", "x", ""))).toEqual({ name: "" });
    expect(apply({ name: null }, replaceIn("name", "x", "y"))).toEqual({});
    expect(apply({}, replaceIn("name", "x", "y"))).toEqual({});
  });

  test("reports a field whose new value would be too long to send", () => {
    const rules = replaceIn("social_description", "a", "b".repeat(10_000));
    const { fields, problems } = applyRules(
      link({ social_description: "a".repeat(8000) }),
      listRules(rules),
    );
    expect(fields).toEqual({});
    expect(problems).toMatchObject([{ field: "social_description" }]);
  });

  test("includes both App Store tokens in the update even if only one of them changes", () => {
    const tokens = { provider_token: "12", campaign_token: "spring" };
    expect(apply(tokens, replaceIn("campaign_token", "spring", "fall"))).toEqual({
      provider_token: "12",
      campaign_token: "fall",
    });
    expect(listRuledFields(listRules(replaceIn("campaign_token", "a", "b")))).toEqual(
      new Set(["provider_token", "campaign_token"]),
    );
  });

  test("applies to the result of the previous rule", () => {
    expect(apply({ name: "a" }, { replace: [step("a", "b"), step("b", "c")] })).toEqual({
      name: "c",
    });
    expect(apply({ name: "a" }, { replace: [step("a", "b"), step("b", "a")] })).toEqual({});
  });
});

describe("a rule that adds query parameters", () => {
  test.each([
    ["https://x.example", "https://x.example?utm=a%20b"],
    ["https://x.example/?", "https://x.example/?utm=a%20b"],
    ["https://x.example/#top", "https://x.example/?utm=a%20b#top"],
    ["https://x.example/#/?utm=c", "https://x.example/?utm=a%20b#/?utm=c"],
    ["https://x.example/?q=%C3%BC&&r", "https://x.example/?q=%C3%BC&&r&utm=a%20b"],
    ["https://x.example/?utm=c&q=1&utm=d", "https://x.example/?utm=a%20b&q=1"],
    ["https://x.example/?utm=a+b", undefined],
    ["https://x.example/?%75tm=c", "https://x.example/?utm=a%20b"],
    ["https://x.example/??utm=c", "https://x.example/??utm=c&utm=a%20b"],
    ["market://details?id=a", "market://details?id=a&utm=a%20b"],
  ])("adds or replaces parameters before the fragment: %s", (url, expected) => {
    expect(apply({ url }, add({ utm: "a b" }))).toEqual(
      expected === undefined ? {} : { url: expected },
    );
  });

  test("sets each parameter exactly once and keeps all other parameters", () => {
    const names = fc.string({ unit: "grapheme", minLength: 1, maxLength: 4 });
    const values = fc.dictionary(names, fc.string({ unit: "grapheme" }), { minKeys: 1 });
    const query = fc.array(fc.tuple(names, fc.string({ unit: "grapheme" })));
    fc.assert(
      fc.property(values, query, (wanted, held) => {
        const url = `https://x.example/a?${new URLSearchParams(held).toString()}#top`;
        const { url: made = url } = apply({ url }, add(wanted));
        const found = [...new URL(made ?? "").searchParams];
        const own = (name: string) => Object.hasOwn(wanted, name);
        expect(found.filter(([name]) => !own(name))).toEqual(held.filter(([name]) => !own(name)));
        const set = found.filter(([name]) => own(name));
        expect(set.toSorted(order)).toEqual(Object.entries(wanted).toSorted(order));
        expect(new URL(made ?? "").hash).toBe("#top");
        expect(apply({ url: made }, add(wanted))).toEqual({});
      }),
    );
  });
});

test("a rule that adds a path prefix skips paths that already start with the prefix", () => {
  expect(apply({ path: "spring" }, put("promo/"))).toEqual({ path: "promo/spring" });
  expect(apply({ path: "spring" }, put("/promo%2F"))).toEqual({ path: "promo/spring" });
  expect(apply({ path: "promo/spring" }, put("promo/"))).toEqual({});
});

test.each<[RuleArguments, string]>([
  [move("https://old.example.com"), "replace.0.from is a whole address; give only its host"],
  [move("old.example.com/a"), "replace.0.from is not a host"],
  [move("*.example.com"), "replace.0.from is not a host"],
  [move("me@old.example.com"), "replace.0.from is not a host"],
  [move("old example"), "replace.0.from is not a host"],
  [move("a.example:99999"), "replace.0.from is not a host name"],
  [move("a.example", ""), "replace.0.to is not a host name"],
  [move(""), "replace.0.from is empty"],
  [{ replace: [] }, "replace must not be empty"],
  [
    { replace: [{ field: "name", from: "a", to: "b", match: "host" }] },
    'replace.0.match cannot be "host"',
  ],
  [{ add_query: { field: "path", values: { a: "b" } } }, 'add_query.field cannot be "path"'],
  [{ add_query: { field: "url", values: {} } }, "add_query.values needs"],
  [{ add_query: { field: "url", values: { "": "b" } } }, "add_query.values needs"],
  [{ add_query: { field: "url", values: { a: "\ud800" } } }, "add_query.values contains"],
  [{ path_prefix: "" }, "path_prefix must be a valid path"],
  [{ path_prefix: "/" }, "path_prefix must be a valid path"],
  [{ path_prefix: "a?" }, "path_prefix can't contain a question mark"],
  [{ path_prefix: "../" }, "path_prefix can't contain the segments"],
  [{ path_prefix: "100%" }, "path_prefix must be a valid path"],
])("invalid rules are rejected: %j", (rules, message) => {
  expect(findRuleFaults(rules).map((fault) => fault.message)).toEqual([
    expect.stringContaining(message),
  ]);
});

test("rules with a port, an empty replacement or an empty query value are accepted", () => {
  const rules = {
    replace: [
      { field: "url", from: "old.example.com:8443", to: "[::1]:80", match: "host" },
      { field: "path", from: "a", to: "", match: "text" },
    ],
    add_query: { field: "ios_fallback_url", values: { utm: "" } },
    path_prefix: "promo-",
  } as const;
  expect(findRuleFaults(rules)).toEqual([]);
});
