import { describe, expect, test } from "vitest";
import { createRowCheck, emptyRow, type Row } from "../../../src/bulk/rows/check-rows.ts";
import type { LinkFields } from "../../../src/contract/links.ts";
import { planOperations } from "../../../src/state/plans.ts";
import type { PlanOperation } from "../../../src/state/plans.ts";

/** Tests the rules for rows that are checked without requests. */

const one = "0192f0c0-0000-7000-8000-000000000001";
const two = "0192f0c0-0000-7000-8000-000000000002";

describe("a valid row", () => {
  test("to upsert has a normalized path", () => {
    expect(check("upsert", { fields: { path: "/caf%C3%A9", name: "" } })).toEqual({
      ...emptyRow,
      row: 2,
      path: "café",
      fields: { path: "café", name: "" },
      problems: [],
    });
  });

  test("to upsert may omit the path or leave its cell empty", () => {
    const open = { ...emptyRow, row: 2, fields: { name: "A" } };
    expect(check("upsert", { fields: { name: "A" } })).toEqual(open);
    expect(check("upsert", { fields: { name: "A", path: "" } })).toEqual(open);
  });

  test("to upsert keeps its ID", () => {
    const row = check("upsert", { id: ` ${one.toUpperCase()} `, fields: { path: "a" } });
    expect(row).toMatchObject({ link_id: one, path: "a", problems: [] });
  });

  test("to update by ID may move the link to another path", () => {
    expect(check("update", { id: one, fields: { path: "/b" } })).toEqual({
      ...emptyRow,
      row: 2,
      link_id: one,
      fields: { path: "b" },
      problems: [],
    });
  });

  test("to update by path does not change the path", () => {
    expect(check("update", { fields: { path: "/b", name: "B" } })).toEqual({
      ...emptyRow,
      row: 2,
      path: "b",
      fields: { name: "B" },
      problems: [],
    });
  });

  test("to delete has an ID, a path or both, and no fields", () => {
    const nothing = { ...emptyRow, row: 2 };
    expect(check("delete", { id: one, fields: {} })).toEqual({ ...nothing, link_id: one });
    expect(check("delete", { fields: { path: "/b" } })).toEqual({ ...nothing, path: "b" });
    expect(check("delete", { id: one, fields: { path: "b" } })).toEqual({
      ...nothing,
      link_id: one,
      path: "b",
    });
  });

  test("may contain only the name of a registered app", () => {
    const fields = {
      path: "a",
      ios_app: { bundle_id: "com.example.shop" },
      android_app: { package_name: "com.example.shop" },
    };
    expect(check("upsert", { fields }).problems).toEqual([]);
    expect(
      check("upsert", { fields: { path: "a", ios_app: { id: one }, android_app: null } }).problems,
    ).toEqual([]);
  });
});

describe("an invalid row", () => {
  test.each<[LinkFields, string, string]>([
    [{ url: "ftp://a.example" }, "url", "Url must be an http or https address"],
    [
      { social_image_url: "a.example" },
      "social_image_url",
      "Social image url must be an http or https address",
    ],
    [{ name: "x".repeat(501) }, "name", "Name is too long (maximum is 500 characters)"],
    [{ path: "a/../b" }, "path", "Path can't contain the segments . or .."],
    [{ path: "50%" }, "path", "Path has invalid percent-encoding"],
    [{ path: "robots.txt" }, "path", "Path is reserved"],
    [
      { campaign_token: "spring" },
      "campaign_token",
      "Campaign token must be sent together with provider token",
    ],
    [
      { ios_app: { team_id: "ABCDE12345" } },
      "ios_app",
      "Ios app needs exactly one of id or bundle_id",
    ],
    [
      { ios_app: { id: one, bundle_id: "a.b" } },
      "ios_app",
      "Ios app needs exactly one of id or bundle_id",
    ],
  ])("%j", (fields, field, message) => {
    // Advice follows if the message does not contain it.
    const told = [{ row: 2, field, message: expect.stringContaining(message) }];
    expect(check("upsert", { fields }).problems).toEqual(told);
    expect(check("update", { id: one, fields }).problems).toEqual(told);
  });

  test("lists all its errors, beginning with unreadable cells", () => {
    const { problems } = check("upsert", {
      fields: { path: ".", url: "x", ios_app: {} },
      problems: [{ field: "enable_forced_redirect", message: "It must be true or false" }],
    });
    expect(problems.map(({ field }) => field)).toEqual([
      "enable_forced_redirect",
      "url",
      "path",
      "ios_app",
    ]);
  });

  test("to update a link cannot remove its path", () => {
    expect(check("update", { id: one, fields: { path: "" } }).problems).toEqual([
      { row: 2, field: "path", message: expect.stringMatching(/^Path can't be blank: leave/) },
    ]);
  });
});

describe("a row that identifies no link", () => {
  test.each(["update", "delete"] as const)("is not a valid row to %s", (operation) => {
    const problem = {
      row: 2,
      field: "id",
      message: `The row does not say which link to ${operation}; give its id or path`,
    };
    expect(check(operation, { fields: {} }).problems).toEqual([problem]);
    expect(check(operation, { id: " ", fields: { path: "/" } }).problems).toContainEqual(problem);
  });

  test.each(planOperations)(
    "with an ID that is not a UUID is not a valid row to %s",
    (operation) => {
      expect(check(operation, { id: "42", fields: { path: "a" } }).problems).toEqual([
        { row: 2, field: "id", message: expect.stringMatching(/^Id is not a UUID: copy/) },
      ]);
    },
  );

  test("a row to delete may not have other fields, and its path is validated", () => {
    expect(check("delete", { id: one, fields: { name: "A", url: "x" } }).problems).toEqual([
      {
        row: 2,
        field: "name",
        message: "A row to delete can have only id or path; remove name, url",
      },
    ]);
    expect(check("delete", { fields: { path: "a%b%" } }).problems).toEqual([
      {
        row: 2,
        field: "path",
        message: expect.stringContaining("has invalid percent-encoding"),
      },
    ]);
  });
});

describe("white space at the start or end of a path", () => {
  const message = "Path starts or ends with a space; remove it";

  test.each(planOperations)(
    "is rejected in a row to %s, as lists cannot be searched by it",
    (operation) => {
      for (const path of [" a", "a ", "a\u3000"]) {
        const [problem, ...others] = check(operation, { fields: { path } }).problems;
        expect(problem).toMatchObject({ row: 2, field: "path" });
        expect(problem?.message).toContain(message);
        expect(others).toEqual([]);
      }
    },
  );

  test("is allowed if the row has an ID", () => {
    expect(check("upsert", { id: one, fields: { path: " a" } }).problems).toEqual([]);
    expect(check("update", { id: one, fields: { path: "a " } }).problems).toEqual([]);
  });
});

describe("a short path", () => {
  test("can be requested in a row to upsert but not in a row to update", () => {
    const fields = { path: "a", options: { shorten: true } };
    expect(check("upsert", { fields }).problems).toEqual([]);
    expect(check("update", { fields }).problems).toMatchObject([{ field: "options.shorten" }]);
    const not = { path: "a", options: { shorten: false } };
    expect(check("update", { fields: not }).problems).toEqual([]);
  });
});

describe("two rows for the same link", () => {
  test("are rejected by path in any spelling, and the message names both rows", () => {
    const checkRow = createRowCheck({ operation: "upsert", unit: "line" });
    const first = { fields: { path: "café" }, problems: [] };
    const second = { fields: { path: "/cafe%CC%81" }, problems: [] };
    expect(checkRow(2, first).problems).toEqual([]);
    expect(checkRow(7, second).problems).toEqual([
      {
        row: 7,
        field: "path",
        message: "The same path is in lines 2 and 7; keep one of them",
      },
    ]);
    const other = { fields: { path: "Café" }, problems: [] };
    expect(checkRow(8, other).problems).toEqual([]);
  });

  test("are rejected by ID in upper or lower case", () => {
    const checkRow = createRowCheck({ operation: "delete", unit: "row" });
    const upper = one.replace("f", "F");
    expect(checkRow(1, { id: upper, fields: {}, problems: [] }).problems).toEqual([]);
    expect(checkRow(2, { id: two, fields: {}, problems: [] }).problems).toEqual([]);
    expect(checkRow(3, { id: one, fields: {}, problems: [] }).problems).toEqual([
      { row: 3, field: "id", message: "The same id is in rows 1 and 3; keep one of them" },
    ]);
  });

  test("are rejected if one would move to the path of the other", () => {
    const checkRow = createRowCheck({ operation: "update", unit: "row" });
    checkRow(1, { fields: { path: "a", name: "A" }, problems: [] });
    const moved = { id: one, fields: { path: "/a" }, problems: [] };
    expect(checkRow(2, moved).problems).toMatchObject([{ row: 2, field: "path" }]);
  });

  test("are not assumed when neither row has a path", () => {
    const checkRow = createRowCheck({ operation: "upsert", unit: "row" });
    checkRow(1, { fields: { name: "A" }, problems: [] });
    expect(checkRow(2, { fields: { name: "A" }, problems: [] }).problems).toEqual([]);
  });
});

type Given = Partial<Parameters<ReturnType<typeof createRowCheck>>[1]>;

function check(operation: PlanOperation, given: Given): Row {
  return createRowCheck({ operation, unit: "line" })(2, { fields: {}, problems: [], ...given });
}
