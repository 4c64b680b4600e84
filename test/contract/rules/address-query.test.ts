import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addQuery, dropParameter, readQuery } from "../../../src/contract/rules/address-query.ts";

/** Parameters are copied from one address to another exactly as written. */

test.each([
  ["https://a.example/?a=1&b=%20+%2B#c?d", "a=1&b=%20+%2B"],
  ["/spring?a=1?b=2", "a=1?b=2"],
  ["https://a.example/#?a=1", ""],
  ["https://a.example/?", ""],
  ["https://a.example/?größe=ü&a='", "gr%C3%B6%C3%9Fe=%C3%BC&a=%27"],
  ["größe?ü", ""],
])("readQuery(%j) returns %j", (address, query) => {
  expect(readQuery(address)).toBe(query);
});

const base = "https://shop.example/p";

describe("addQuery", () => {
  test.each([
    [base, "id=1", `${base}?id=1`],
    [base, "", base],
    [`${base}?`, "", `${base}?`],
    [`${base}?`, "id=1", `${base}?id=1`],
    [`${base}#top`, "id=1", `${base}?id=1#top`],
    [`${base}?a=1#top#x?y`, "id=1&a=2", `${base}?a=1&id=1#top#x?y`],
    [`${base}?a=1&&`, "id=1", `${base}?a=1&id=1`],
    [`${base}?%69d=own`, "id=1&i%64=2&+=3", `${base}?%69d=own&+=3`],
    [`${base}?a%20b=1`, "a+b=2", `${base}?a%20b=1`],
    [`${base}?id`, "id=1", `${base}?id`],
    [`${base}?ID=1`, "id=1", `${base}?ID=1&id=1`],
    [`${base}?a[]=1`, "b[]=1&b[]=2&a[]=3", `${base}?a[]=1&b[]=1&b[]=2`],
    [`${base}?%zz=1`, "%zz=2&%E0=3", `${base}?%zz=1&%E0=3`],
    [base, "&&a=%2520&b=a%26c=d;e", `${base}?a=%2520&b=a%26c=d;e`],
    [base, "http://evil.example/?x=y", `${base}?http://evil.example/?x=y`],
  ])("combines %s and %s into %s", (address, query, whole) => {
    expect(addQuery(address, query)).toBe(whole);
  });

  test("omits a query that would make the URL too long", () => {
    const most = 8192 - base.length - 1;
    expect(addQuery(base, "x".repeat(most))).toHaveLength(8192);
    expect(addQuery(base, "x".repeat(most + 1))).toBe(base);
  });

  test("changes neither the rest of a URL nor the URL's own parameters", () => {
    const query = fc.string({ unit: fc.constantFrom("a", "b", "=", "&", "%61", "+", "?", "/") });
    fc.assert(
      fc.property(query, query, (own, more) => {
        const whole = new URL(addQuery(`${base}?${own}#end`, more));
        expect([whole.origin + whole.pathname, whole.hash]).toEqual([base, "#end"]);
        const { searchParams: before } = new URL(`${base}?${own}`);
        for (const name of before.keys()) {
          expect(whole.searchParams.getAll(name)).toEqual(before.getAll(name));
        }
      }),
    );
  });
});

test("dropParameter removes a parameter in any position and with any encoding", () => {
  expect(dropParameter("format=png&a=1&f%6Frmat=x&formats=2&b", "format")).toBe("a=1&formats=2&b");
});
