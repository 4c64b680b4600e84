import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  exportFormats,
  writePages,
  type ExportFormat,
} from "../../../src/bulk/files/write-links.ts";
import type { RowSource } from "../../../src/bulk/rows/read-rows.ts";
import { collectList } from "../../../src/lists/read-list.ts";
import { selectParts } from "../../../src/lists/select-links.ts";
import type { ReadLink, LinkFields } from "../../../src/contract/links.ts";
import { findPathFault } from "../../../src/contract/rules/link-path.ts";
import { checkLink } from "../../../src/contract/rules/link-rules.ts";
import { showHidden } from "../../../src/text/show-hidden.ts";
import { createTimedClient } from "../../client/clients.ts";
import { sha256 } from "../../contract/sample-link.ts";
import { openForAll } from "../../support/open-for.ts";
import { openPlanner, type Planner } from "../planner.ts";

/** Importing an export changes nothing, whatever the links contain. */

let planner: Planner;

openForAll(openPlanner, (opened) => (planner = opened));

const signs = ["'", "''", "=", "+", "-", "@", "\t", "\r", "\n", "\r\n", '"', '""', ",", ";", "|"];
const letters = ["a", "Z", "é", "e\u0301", "ß", "İ", "ς", "😀", "👩‍👧", " ", "0", "007", "1e5"];
const hidden = ["\u200b", "\u202e", "\u2066", "\ufeff", "\u00a0"];
const words = ["＝", "＋", "＠", "=HYPERLINK(1)", "true", "null", "{", "[", "#"];
/** Text that looks like an escaped hidden character. */
const escapes = ["\\", "\\u{202e}", "\\u{5c}", "\\u{5c}u{202e}", "\\u{61}", "u{202e}"];
const pieces = [...signs, ...letters, ...hidden, ...words, ...escapes];
const text = fc.array(fc.constantFrom(...pieces), { maxLength: 7 }).map((parts) => parts.join(""));
const address = text
  .map((tail) => `https://shop.example/${tail}`)
  .filter((url) => checkLink({ url }, "create").problems.length === 0);
const path = text.filter((given) => {
  const { values, problems } = checkLink({ path: given }, "create");
  return problems.length === 0 && findPathFault(values.path ?? "") === undefined;
});
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const tokens = fc.option(
  fc.tuple(text, text).filter(([one, other]) => one.trim() !== "" && other.trim() !== ""),
);

const made: fc.Arbitrary<LinkFields> = fc
  .record({
    name: maybe(text),
    path: maybe(path),
    url: maybe(address),
    social_title: maybe(text),
    social_description: maybe(text),
    social_image_url: maybe(address),
    ios_fallback_url: maybe(address),
    android_fallback_url: maybe(address),
    enable_forced_redirect: maybe(fc.boolean()),
    ios_deferred_deep_linking_enabled: maybe(fc.boolean()),
    referrer: maybe(text),
    tokens,
    ios_app: fc.constantFrom<LinkFields["ios_app"]>(undefined, {
      bundle_id: "com.example.shop",
      team_id: "ABCDE12345",
    }),
    android_app: fc.constantFrom<LinkFields["android_app"]>(undefined, {
      package_name: "com.example.shop",
      fingerprints: [sha256],
    }),
    shorten: fc.boolean(),
  })
  .map(({ tokens: both, shorten, ...fields }) => ({
    ...fields,
    ...(both && { provider_token: both[0], campaign_token: both[1] }),
    options: { shorten },
  }));

async function openProject(fields: readonly LinkFields[]) {
  const { world, bulk } = planner;
  const key = await world.addKey({ project: await world.addProject() });
  const replies = [];
  for (const body of fields) replies.push(await world.call("POST", "/links", { key, body }));
  const { call } = createTimedClient({ world, key }).client;
  const owner = { key_print: key, origin: "here", call };
  const { rows: links } = await collectList(
    selectParts({ call, signal: new AbortController().signal }, []),
  );
  const plan = async (operation: "upsert" | "update", source: RowSource) =>
    await bulk.plan({ operation, source }, owner);
  return { replies, links, plan };
}

async function* bring(links: readonly ReadLink[], format: ExportFormat): AsyncGenerator<RowSource> {
  const pages: string[] = [];
  for await (const page of writePages(inParts(links), format, 2000)) {
    const text = page.replaceAll("\r\n", "\n");
    expect(showHidden(text)).toBe(text);
    pages.push(page);
  }
  if (format === "csv") yield { csv: pages.join("") };
  else for (const page of pages) yield { rows: JSON.parse(page) as unknown };
}

async function* inParts(links: readonly ReadLink[]): AsyncGenerator<readonly ReadLink[]> {
  for (let start = 0; start < links.length; start += 3) yield links.slice(start, start + 3);
}

async function expectUnchanged(fields: readonly LinkFields[]): Promise<void> {
  const { replies, links, plan } = await openProject(fields);
  expect(replies.map(({ status }) => status)).toEqual(fields.map(() => 201));
  expect(links).toHaveLength(fields.length);
  for (const format of exportFormats) {
    for (const operation of ["upsert", "update"] as const) {
      let unchanged = 0;
      for await (const source of bring(links, format)) {
        const { counts, problems } = await plan(operation, source);
        unchanged += counts.unchanged;
        expect(problems).toEqual([]);
        expect(counts).toEqual({
          create: 0,
          update: 0,
          unchanged: counts.unchanged,
          delete: 0,
          conflict: 0,
          invalid: 0,
        });
      }
      expect(unchanged).toBe(fields.length);
    }
  }
}

describe("importing an export", () => {
  test("changes nothing when links contain text that parsers often damage", async () => {
    await expectUnchanged(
      pieces.map((piece, index) => ({
        path: `p${index}`,
        name: piece,
        social_title: `${piece}x`,
        social_description: `'${piece}`,
        referrer: `x${piece}`,
      })),
    );
  });

  test("changes nothing when paths start or end with white space", async () => {
    await expectUnchanged([{ path: " a" }, { path: "a " }, { path: "a" }, { path: "\u3000b" }]);
  });

  test("changes nothing when a remote server returns additional fields", async () => {
    const { links, plan } = await openProject([{ path: "a", name: "A" }]);
    const told = links.map((link) => ({ ...link, created_at: "2026-01-15", tags: ["a"] }));
    for (const format of exportFormats) {
      for await (const source of bring(told, format)) {
        expect((await plan("upsert", source)).counts).toMatchObject({ unchanged: 1, invalid: 0 });
      }
    }
  });

  test("changes nothing when the links contain random values", async () => {
    const several = fc.array(made, { minLength: 1, maxLength: 8 }).filter((links) => {
      const paths = links.flatMap(({ path: given }) => given?.normalize("NFC") || []);
      return new Set(paths).size === paths.length;
    });
    await fc.assert(fc.asyncProperty(several, expectUnchanged), { seed: 5, numRuns: 25 });
  });
});
