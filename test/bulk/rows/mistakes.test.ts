import { expect, test } from "vitest";
import { FaultyPlan } from "../../../src/bulk/bulk-errors.ts";
import { writeRecord } from "../../../src/bulk/files/csv.ts";
import { openForEach } from "../../support/open-for.ts";
import { openPlanner, type Planner } from "../planner.ts";

/** Tests that every mistake in a file is reported and nothing is written. */

let planner: Planner;

openForEach(openPlanner, (opened) => (planner = opened));

const one = "0192f0c0-0000-7000-8000-000000000001";
const two = "0192f0c0-0000-7000-8000-000000000002";

const columns = [
  "id",
  "path",
  "name",
  "url",
  "social_image_url",
  "enable_forced_redirect",
  "provider_token",
  "campaign_token",
  "ios_app.id",
  "ios_app.bundle_id",
  "ios_app.team_id",
  "android_app.id",
  "android_app.package_name",
  "android_app.fingerprints",
  "options.shorten",
];

type Mistake = {
  readonly cells: Readonly<Record<string, string>>;
  readonly field: string;
  readonly message: string;
};

const mistake = (field: string, message: string, cells: Mistake["cells"]): Mistake => ({
  // Without an ID or path, the row gets a path of its own.
  cells: "id" in cells || "path" in cells ? cells : { path: `${field} ${message}`, ...cells },
  field,
  message,
});

/** The rules of each field have tests in test/service. Here is an example of each check. */
const mistakes: readonly Mistake[] = [
  mistake("url", "Url must be an http or https address", { url: "shop.example" }),
  mistake("name", "Name is too long (maximum is 500 characters)", { name: "x".repeat(501) }),
  mistake("path", "Path has invalid percent-encoding", { path: "100%" }),
  mistake("path", "Path starts or ends with a space; remove it, or name the link by its ID", {
    path: "spring ",
  }),
  mistake("path", "Path can't be blank", { id: one, path: "" }),
  mistake("id", "The row does not say which link to update; give its id or path", {
    path: "",
    name: "A",
  }),
  mistake("id", "Id is not a UUID", { id: "42", path: "b" }),
  mistake(
    "enable_forced_redirect",
    'Enable forced redirect must be true or false (or 1, 0, yes, no), not "maybe"',
    { enable_forced_redirect: "maybe" },
  ),
  mistake("provider_token", "Provider token must be sent together with campaign token", {
    provider_token: "117",
  }),
  mistake("ios_app", "Ios app needs exactly one of id or bundle_id", {
    "ios_app.id": one,
    "ios_app.bundle_id": "com.example.shop",
  }),
  mistake("ios_app.team_id", "Team is the wrong length (should be 10 characters)", {
    "ios_app.bundle_id": "com.example.shop",
    "ios_app.team_id": "ABC",
  }),
  mistake("android_app.fingerprints", "Fingerprints is invalid", {
    "android_app.package_name": "com.example.shop",
    "android_app.fingerprints": "ABCD",
  }),
  mistake("android_app.id", "The id of android_app is not a UUID", { "android_app.id": "shop" }),
  mistake(
    "options.shorten",
    "A link can get a short path only when it is created; remove options.shorten",
    { "options.shorten": "yes" },
  ),
];

/** Lines that are invalid CSV. Nothing is read after the last one. */
const broken: readonly (readonly [text: string, message: string])[] = [
  ["a,b", `The line has 2 cells instead of ${columns.length}`],
  [
    `${",".repeat(columns.length)}x`,
    `The line has ${columns.length + 1} cells instead of ${columns.length}; ` +
      "put a cell that contains a comma in quotes",
  ],
  [`,e,"never closed${",".repeat(12)}`, "A quoted cell has no closing quote"],
];

test("a plan reports each mistake with its line number and changes no links", async () => {
  await planner.make({ path: "good", url: "https://shop.example/" });
  const before = await planner.listLinks();
  const write = (cells: Mistake["cells"]) => writeRecord(columns.map((name) => cells[name] ?? ""));
  const expected: object[] = [];
  let file = writeRecord(columns);
  /** Adds a record and returns its first line number. */
  const add = (text: string, problem?: (line: number) => object) => {
    const line = file.split("\n").length;
    file += text;
    if (problem !== undefined) expected.push({ row: line, ...problem(line) });
    return line;
  };
  for (const { cells, field, message } of mistakes) add(write(cells), () => ({ field, message }));
  const path = add(write({ path: "good", name: "Once" }));
  add(write({ path: "/good", name: "Again" }), (line) => ({
    field: "path",
    message: `The same path is in lines ${path} and ${line}; keep one of them`,
  }));
  const id = add(write({ id: two, path: "elsewhere" }));
  add(write({ id: two.toUpperCase(), path: "else" }), (line) => ({
    field: "id",
    message: `The same id is in lines ${id} and ${line}; keep one of them`,
  }));
  for (const [text, message] of broken) add(`${text}\r\n`, () => ({ message }));

  const { plan, rows } = await planner.plan({ operation: "update", source: { csv: file } });
  expect(plan.problems).toEqual(expected);
  expect(plan.counts).toEqual({
    create: 0,
    update: 1,
    unchanged: 0,
    delete: 0,
    conflict: 1,
    // The quote that is never closed ends the file and is not a row.
    invalid: expected.length - 1,
  });
  expect(rows.filter(({ action }) => action === "invalid").map(({ row }) => row)).toEqual(
    plan.problems.slice(0, -1).map(({ row }) => row),
  );
  await expect(planner.bulk.apply(plan, planner.owner)).rejects.toThrow(FaultyPlan);
  expect(await planner.listLinks()).toEqual(before);
  expect((await planner.bulk.listJobs(planner.owner, 1)).jobs).toEqual([]);
});

test("a plan lists only the first thousand mistakes but counts all invalid rows", async () => {
  const csv = `path,url\n${"a,b\n".repeat(1500)}`;
  const { plan } = await planner.plan({ operation: "upsert", source: { csv } });
  expect(plan.problems).toHaveLength(1000);
  expect(plan.counts.invalid).toBe(1500);
});

test("a plan with a line of invalid CSV cannot be applied, even with skip_invalid", async () => {
  const csv = 'path,name\na,A\nb,12" pipe\nc,C\n';
  const wanted = { operation: "upsert", source: { csv }, skipsInvalid: true } as const;
  const { plan } = await planner.plan(wanted);
  const message = expect.stringContaining("A cell contains a quote");
  expect(plan.problems).toEqual([{ row: 3, message }]);
  await expect(planner.bulk.apply(plan, planner.owner)).rejects.toThrow(FaultyPlan);
});

test("a plan reports mistakes in the CSV header together with mistakes in the rows", async () => {
  const csv =
    "path,urll,url,url,ios_app_id,ios_app.id,,Name\na,x,https://a.example/,,,,,\nb,,ftp,,,,,\n";
  const { plan } = await planner.plan({ operation: "upsert", source: { csv } });
  expect(plan.problems.map(({ row, message }) => [row, message])).toEqual([
    [1, 'Unknown column "urll"; did you mean url?'],
    [1, "The column url appears twice"],
    [1, "The columns ios_app_id and ios_app.id mean the same thing; keep only one"],
    [1, "Column 7 has no name"],
    [1, 'Unknown column "Name"; did you mean name?'],
    [3, "Url must be an http or https address"],
  ]);
  await expect(planner.bulk.apply(plan, planner.owner)).rejects.toThrow(FaultyPlan);
});

test("a plan from JSON rows reports the same mistakes as a plan from CSV", async () => {
  const told = mistakes.filter(({ field }) => field !== "enable_forced_redirect");
  const rows = [
    ...told.map(({ cells }) => readCells(cells)),
    { path: "a", nmae: "A" },
    { path: "half-read", name: 5 },
    { path: "c", enable_forced_redirect: "yes" },
    { path: "d", ios_app: { bundel_id: "com.example.shop" } },
    { path: "e", ios_app: null, ios_app_id: one },
    { path: "f", android_app: { package_name: "com.example.shop", fingerprints: "AB:CD" } },
    "path",
  ];
  const { plan } = await planner.plan({ operation: "update", source: { rows } });
  expect(plan.problems).toEqual(
    [
      ...told.map(({ field, message }) => ({ field, message })),
      { field: "nmae", message: 'Unknown field "nmae"; did you mean name?' },
      { field: "name", message: "name must be text" },
      { field: "enable_forced_redirect", message: "enable_forced_redirect must be true or false" },
      {
        field: "ios_app.bundel_id",
        message: 'Unknown field "ios_app.bundel_id"; did you mean ios_app.bundle_id?',
      },
      { field: "ios_app", message: "ios_app and ios_app_id mean the same thing; keep only one" },
      {
        field: "android_app.fingerprints",
        message: "android_app.fingerprints must be a list",
      },
      { message: "The row must be an object of link fields" },
    ].map((problem, index) => ({ row: index + 1, ...problem })),
  );
  expect(plan.counts.invalid).toBe(rows.length);
  await expect(planner.bulk.apply(plan, planner.owner)).rejects.toThrow(FaultyPlan);
});

test("a plan reports all mistakes of a JSON row at once", async () => {
  const rows = [
    {
      path: "https://bit.ly/abc",
      url: "nope",
      nmae: "x",
      enable_forced_redirect: "ja",
      ios_app: { bundle_id: 5 },
      ios_fallback_url: "ftp://x",
    },
    { id: 5, path: "b", url: "nope", ios_app: null, ios_app_id: one },
  ];
  const { plan } = await planner.plan({ operation: "upsert", source: { rows } });
  const found = plan.problems.map(({ row, field }) => `${row} ${field}`);
  expect(found.toSorted()).toEqual([
    "1 enable_forced_redirect",
    "1 ios_app.bundle_id",
    "1 ios_fallback_url",
    "1 nmae",
    "1 path",
    "1 url",
    "2 id",
    "2 ios_app",
    "2 url",
  ]);
});

test("a path that is a URL is reported as a mistake, both in JSON rows and in CSV", async () => {
  const { id } = await planner.make({ path: "a" });
  const path = "https://bit.ly/abc";
  const message = "Path is a whole address; pass only the part after the host, such as spring";
  const csv = `id,path\n${id},${path}\n`;
  for (const wanted of [
    { operation: "upsert", source: { rows: [{ path }] } },
    { operation: "update", source: { rows: [{ id, path }] } },
    { operation: "update", source: { csv } },
  ] as const) {
    const { plan } = await planner.plan(wanted);
    expect(plan.problems).toMatchObject([{ field: "path", message }]);
  }
});

test("a plan from CSV without a header reports only one mistake, in the first line", async () => {
  for (const csv of ["/home/me/links.csv", "spring,,https://shop.example/\nsummer,,x\n"]) {
    const { plan } = await planner.plan({ operation: "upsert", source: { csv } });
    const message =
      "The first line must be a header of field names, such as path,name,url; " +
      "pass the CSV text itself, not the path of a file";
    expect(plan.problems).toEqual([{ row: 1, message }]);
    await expect(planner.bulk.apply(plan, planner.owner)).rejects.toThrow(FaultyPlan);
  }
});

function readCells(cells: Mistake["cells"]): object {
  const row: Record<string, unknown> = {};
  for (const [name, cell] of Object.entries(cells)) {
    const [field = "", member] = name.split(".");
    const value = name.endsWith("fingerprints") ? [cell] : cell === "yes" ? true : cell;
    row[field] = member === undefined ? value : { ...(row[field] as object), [member]: value };
  }
  return row;
}

test("a deletion list with fields other than id and path is rejected", async () => {
  const link = await planner.make({ path: "a" });
  const csv = `id,path,name\n${link.id},a,A\n`;
  const table = await planner.plan({ operation: "delete", source: { csv } });
  expect(table.plan.problems).toEqual([
    {
      row: 1,
      field: "name",
      message: "A deletion list can have only the column id or path; remove name",
    },
  ]);
  const rows = [{ id: link.id, url: null, name: "A" }];
  const list = await planner.plan({ operation: "delete", source: { rows } });
  expect(list.plan.problems).toEqual([
    {
      row: 1,
      field: "url",
      message: "A row to delete can have only id or path; remove url, name",
    },
  ]);
  for (const { plan } of [table, list]) {
    await expect(planner.bulk.apply(plan, planner.owner)).rejects.toThrow(FaultyPlan);
  }
  expect(await planner.listLinks()).toHaveLength(1);
});

test.each(["update", "delete"] as const)(
  "two rows that %s the same link, one by ID and one by path, are rejected",
  async (operation) => {
    const { id } = await planner.make({ path: "a" });
    const name = operation === "update" ? { name: "A" } : {};
    const rows = [
      { id, ...name },
      { path: "a", ...name },
    ];
    const { plan, rows: planned } = await planner.plan({ operation, source: { rows } });
    expect(planned.map(({ action, message }) => [action, message])).toEqual([
      [operation, null],
      ["invalid", "This is the same link as in row 1; keep one of them"],
    ]);
    await expect(planner.bulk.apply(plan, planner.owner)).rejects.toThrow(FaultyPlan);
  },
);
