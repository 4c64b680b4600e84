import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  exportColumns,
  readCells,
  readHeader,
  writeLink,
} from "../../../src/bulk/files/columns.ts";
import { escapeFormula, unescapeFormula } from "../../../src/bulk/files/csv.ts";
import { link } from "../../contract/sample-link.ts";

/** The columns of a CSV file of links, written and read, and rows in JSON. */

describe("an export of links", () => {
  test("has a column for every field that the API returns for a link", () => {
    expect(exportColumns.toSorted()).toEqual(Object.keys(link).toSorted());
    expect(exportColumns.slice(0, 3)).toEqual(["id", "name", "path"]);
  });

  test("contains no cell that a spreadsheet would run as a formula", () => {
    const sign = fc.constantFrom(...Array.from("=+-@\t\r\n＝＋－＠'a "));
    const text = fc.array(sign, { minLength: 1, maxLength: 6 }).map((signs) => signs.join(""));
    fc.assert(
      fc.property(text, (name) => {
        expect(
          writeLink({ ...link, name }).filter((cell) => /^[=+\-@\t\r\n＝＋－＠]/.test(cell)),
        ).toEqual([]);
      }),
    );
  });
});

describe("escaping formulas with an apostrophe", () => {
  test.each([
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["\t=1", "'\t=1"],
    ["\r=1", "'\r=1"],
    ["＝1", "'＝1"],
    ["＠x", "'＠x"],
    ["'=1", "''=1"],
    ["''=1", "'''=1"],
    ["'tis the season", "'tis the season"],
    ["''quoted''", "''quoted''"],
    ["it's", "it's"],
    ["a=b", "a=b"],
    ["", ""],
  ])("writes %j as %j and reads it back unchanged", (text, cell) => {
    expect(escapeFormula(text)).toBe(cell);
    expect(unescapeFormula(cell)).toBe(text);
  });

  test("can be reversed exactly for any text", () => {
    const text = fc.array(fc.constantFrom("'", "=", "-", "a", "\t")).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, (given) => {
        expect(unescapeFormula(escapeFormula(given))).toBe(given);
      }),
    );
  });

  test("is optional in imported files, where unescaped text is read unchanged", () => {
    expect(unescapeFormula("-5 % on all")).toBe("-5 % on all");
  });
});

describe("parsing a CSV row", () => {
  test("returns an empty value for an empty cell and omits fields without a column", () => {
    expect(read({ path: "spring", name: "", url: "https://a.example" })).toEqual({
      fields: { path: "spring", name: "", url: "https://a.example" },
      problems: [],
    });
    expect(read({ enable_forced_redirect: "" }).fields).toEqual({ enable_forced_redirect: null });
  });

  test.each([
    ["true", true],
    ["TRUE", true],
    [" yes ", true],
    ["1", true],
    ["false", false],
    ["No", false],
    ["0", false],
  ])("reads the boolean %j as %j", (cell, flag) => {
    expect(read({ enable_forced_redirect: cell })).toEqual({
      fields: { enable_forced_redirect: flag },
      problems: [],
    });
  });

  test.each(["maybe", "2", "truee", "on\nand off"])(
    "rejects the boolean %j with an error for its column",
    (cell) => {
      expect(read({ ios_deferred_deep_linking_enabled: cell })).toEqual({
        fields: {},
        problems: [
          {
            field: "ios_deferred_deep_linking_enabled",
            message: expect.stringMatching(/must be true or false \(or 1, 0, yes, no\), not ".+"$/),
          },
        ],
      });
    },
  );

  test("combines an app's columns into one object and splits the fingerprints into a list", () => {
    expect(
      read({
        "ios_app.bundle_id": "com.example.shop",
        "ios_app.team_id": "ABCDE12345",
        "ios_app.app_store_id": "",
        "android_app.package_name": "com.example.shop",
        "android_app.fingerprints": " AA:BB  CC:DD\n",
        "options.shorten": "yes",
      }),
    ).toEqual({
      fields: {
        ios_app: { bundle_id: "com.example.shop", team_id: "ABCDE12345" },
        android_app: { package_name: "com.example.shop", fingerprints: ["AA:BB", "CC:DD"] },
        options: { shorten: true },
      },
      problems: [],
    });
  });

  test("removes a link's app when all cells that identify the app are empty", () => {
    expect(read({ ios_app_id: "", "android_app.package_name": "" }).fields).toEqual({
      ios_app: null,
      android_app: null,
    });
    expect(read({ "ios_app.team_id": "", name: "x" }).fields).toEqual({ name: "x" });
  });

  test("returns the link ID separately and drops read-only fields", () => {
    expect(read({ id: " 0c ", clicks: "12", shortened_path: "s" })).toEqual({
      id: "0c",
      fields: {},
      problems: [],
    });
  });
});

describe("a CSV header", () => {
  test.each([
    ["urll", "url"],
    ["URL", "url"],
    ["ulr", "url"],
    ["nmae", "name"],
    ["iosFallbackUrl", "ios_fallback_url"],
    ["bundle_id", "ios_app.bundle_id"],
    ["fingerprints", "android_app.fingerprints"],
  ])("with the unknown column %s is rejected, and the error suggests %s", (name, nearest) => {
    const { columns, problems } = readHeader(["path", name]);
    expect(problems).toEqual([
      { field: name, message: `Unknown column "${name}"; did you mean ${nearest}?` },
    ]);
    expect(columns.map((column) => column?.name)).toEqual(["path", undefined]);
  });

  test("can have spaces around column names", () => {
    expect(readHeader([" path", "url "]).problems).toEqual([]);
  });
});

function read(cells: Readonly<Record<string, string>>) {
  const { columns, problems } = readHeader(Object.keys(cells));
  expect(problems).toEqual([]);
  return readCells(columns, Object.values(cells));
}
