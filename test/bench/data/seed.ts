import { sql } from "kysely";
import { readEngine } from "../../../src/sql/open-kysely.ts";
import { createCode, createId } from "../../../src/service/ids.ts";
import { foldTexts } from "../../../src/store/tables.ts";
import type { LinkTable } from "../../../src/store/tables.ts";
import type { Access } from "./data-file.ts";
import { createNamer, type Namer } from "./names.ts";
import type { BenchProject } from "./bench-project.ts";

/** Writes many links directly to the store, as the API would. Each run writes the same ones. */

/** The number of links with each of the rare properties below. */
export const rareHits = 1000;
/** A word in the names of some links, and the beginning of the paths of others. */
export const rareWord = "zephyr";
/** The links with many clicks have at least this number. */
export const manyClicks = 1_000_000;

export type SeededLinks = {
  readonly samples: readonly { readonly id: string; readonly path: string }[];
};

const batchRows = 500;
const sampled = 100;
const span_ms = 3 * 365 * 24 * 3600 * 1000;

export async function seedProject(
  file: Access,
  { projectId }: BenchProject,
  links: number,
): Promise<SeededLinks> {
  const makeRow = createRowMaker(links, projectId);
  const samples: { id: string; path: string }[] = [];
  const step = Math.max(1, Math.floor(links / sampled));
  for (let start = 0; start < links; start += batchRows) {
    const count = Math.min(batchRows, links - start);
    const rows = Array.from({ length: count }, (_, row) => makeRow(start + row));
    samples.push(...rows.filter((_, row) => (start + row) % step === 0));
    const addresses = rows.flatMap(({ id: link_id, path, shortened_path }) => {
      const own = shortened_path === null ? [path] : [path, shortened_path];
      return own.map((address) => ({ project_id: projectId, address, link_id }));
    });
    await file.write(async (db) => {
      await db.insertInto("links").values(rows).execute();
      await db.insertInto("addresses").values(addresses).execute();
    });
  }
  await file.write((db) =>
    db
      .updateTable("tallies")
      .set(({ eb }) => ({
        links: eb("links", "+", links),
        generation: eb("generation", "+", links),
      }))
      .where("project_id", "=", projectId)
      .execute(),
  );
  if (readEngine(file.db) === "postgres") {
    // Autovacuum would do this a minute later.
    await sql`vacuum analyze links, addresses`.execute(file.db);
  }
  return { samples };
}

function createRowMaker(
  links: number,
  projectId: string,
): (index: number) => Omit<LinkTable, "rowkey"> {
  const namer = createNamer();
  const step = Math.floor(links / rareHits);
  const began = Date.now() - span_ms;

  return (index) => {
    // Links with a rare property are spread evenly, and no link has two such properties.
    const isRare = (kind: number) => index % step === kind && index < step * rareHits;
    const created_at = began + Math.floor((index / links) * span_ms);
    const id = createId({ now: () => created_at }, namer.random);
    const name = namer.nextName(isRare(0) ? rareWord : undefined);
    const path = makePath(namer, index, isRare(1));
    const shortened_path = namer.chance(0.25) ? createCode(8, namer.random) : null;
    const texts = {
      name,
      path,
      shortened_path,
      url: `https://www.example.com/${path}`,
      social_title: namer.chance(0.5) ? name : null,
      ios_fallback_url: null,
      android_fallback_url: null,
      referrer: null,
    };
    return {
      project_id: projectId,
      id,
      ...texts,
      ...foldTexts("links", texts),
      social_description: namer.chance(0.3) ? `${name}. ${namer.nextName()}.` : null,
      social_image_url: namer.chance(0.3) ? `https://img.example.com/${id}.png` : null,
      enable_forced_redirect: namer.chance(0.1) ? 1 : 0,
      ios_deferred_deep_linking_enabled: 0,
      provider_token: null,
      campaign_token: null,
      ios_app_id: null,
      android_app_id: null,
      former_ios_app_id: null,
      former_android_app_id: null,
      clicks: (isRare(2) ? manyClicks : 0) + Math.floor(namer.share() ** 8 * 100_000),
      created_via: "api",
      created_at,
      updated_at: created_at,
    };
  };
}

function makePath(namer: Namer, index: number, isRare: boolean): string {
  if (!isRare && namer.chance(0.25)) return createCode(8, namer.random);
  const folder = isRare ? rareWord : namer.nextWord();
  return `${folder}/${namer.nextWord()}-${namer.nextWord()}-${index.toString(36)}`;
}
