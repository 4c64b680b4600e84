import { createCode, createId } from "../../../src/service/ids.ts";
import { openDatabase, type Database, type SqlValue } from "../../../src/sql/engine.ts";
import { foldLink } from "../../../src/store/link-columns.ts";
import type { LinkTable } from "../../../src/store/tables.ts";
import { createNamer, type Namer } from "./names.ts";

/**
 * Very many links at once, written below the service but as it would have written them. The same
 * ones every time: what looks random is counted out of a seed.
 */

/** How many links each of the rare things below has. */
export const rareHits = 1000;
/** A word in the names of some links, and the beginning of the paths of others. */
export const rareWord = "zephyr";
/** Some links have at least so many clicks. */
export const manyClicks = 1_000_000;

export type Wanted = {
  readonly links: number;
  readonly projectId: string;
  readonly apps: {
    /** On a third of the links. */
    readonly common: string;
    readonly rare: string;
    readonly others: readonly string[];
  };
  readonly androidApps: readonly string[];
};

export type Seeded = {
  /** Some of the links, from all over the project. */
  readonly samples: readonly { readonly id: string; readonly path: string }[];
};

type Row = Omit<LinkTable, "rowkey">;

const batchRows = 20_000;
const sampled = 100;
const span_ms = 3 * 365 * 24 * 3600 * 1000;

export function seedLinks(file: string, wanted: Wanted): Seeded {
  const database = openDatabase(file);
  // If the machine fails now, nothing is lost but a bench.
  database.exec("PRAGMA synchronous = OFF");
  database.exec("PRAGMA cache_size = -1000000");
  const samples: { id: string; path: string }[] = [];
  const insert = createInsert(database);
  const makeRow = createRowMaker(wanted);
  const isSample = countSamples(wanted.links);
  for (let start = 0; start < wanted.links; start += batchRows) {
    database.exec("BEGIN IMMEDIATE");
    for (let index = start; index < Math.min(start + batchRows, wanted.links); index += 1) {
      const row = makeRow(index);
      insert(row);
      if (isSample(index)) samples.push(row);
    }
    database.exec("COMMIT");
  }
  database
    .prepare(
      "update tallies set links = links + ?, generation = generation + ? where project_id = ?",
    )
    .run(wanted.links, wanted.links, wanted.projectId);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  return { samples };
}

export function countSamples(links: number): (index: number) => boolean {
  const step = Math.max(1, Math.floor(links / sampled));
  return (index) => index % step === 0;
}

/** Writes a link and its addresses, as `claimAddress` and `insertLink` do. */
function createInsert(database: Database): (row: Row) => void {
  let insertRow: ((row: Row) => void) | undefined;
  const claim = database.prepare(
    "insert into addresses (project_id, address, link_id) values (?, ?, ?)",
  );
  return (row) => {
    insertRow ??= prepareInsert(database, row);
    insertRow(row);
    claim.run(row.project_id, row.path, row.id);
    if (row.shortened_path !== null) claim.run(row.project_id, row.shortened_path, row.id);
  };
}

/** An earlier commit's table may lack what this one has added. */
function prepareInsert(database: Database, example: Row): (row: Row) => void {
  const known = database.prepare("select name from pragma_table_info('links')").all();
  const names = new Set((known as readonly { name: string }[]).map(({ name }) => name));
  const columns = Object.keys(example).filter((column) => names.has(column));
  const marks = columns.map(() => "?").join(", ");
  const statement = database.prepare(`insert into links (${columns.join(", ")}) values (${marks})`);
  return (row) => {
    // A row holds nothing but what SQLite can keep.
    const values = row as Readonly<Record<string, SqlValue>>;
    statement.run(...columns.map((column) => values[column] ?? null));
  };
}

export function createRowMaker({
  links,
  projectId,
  apps,
  androidApps,
}: Wanted): (index: number) => Row {
  const namer = createNamer();
  const step = Math.floor(links / rareHits);
  const began = Date.now() - span_ms;

  return (index) => {
    // Each of the rare things is spread evenly, and no link has two of them.
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
      ...foldLink(texts),
      social_description: namer.chance(0.3) ? `${name}. ${namer.nextName()}.` : null,
      social_image_url: namer.chance(0.3) ? `https://img.example.com/${id}.png` : null,
      enable_forced_redirect: namer.chance(0.1) ? 1 : 0,
      ios_deferred_deep_linking_enabled: 0,
      provider_token: null,
      campaign_token: null,
      ios_app_id: isRare(3) ? apps.rare : chooseApp(namer, apps),
      android_app_id: namer.chance(0.6) ? namer.pick(androidApps) : null,
      former_ios_app_id: null,
      former_android_app_id: null,
      clicks: (isRare(2) ? manyClicks : 0) + Math.floor(namer.share() ** 8 * 100_000),
      created_via: "api",
      created_at,
      updated_at: created_at,
    };
  };
}

/** Most paths were given by someone, and some were generated. */
function makePath(namer: Namer, index: number, isRare: boolean): string {
  if (!isRare && namer.chance(0.25)) return createCode(8, namer.random);
  const folder = isRare ? rareWord : namer.nextWord();
  return `${folder}/${namer.nextWord()}-${namer.nextWord()}-${index.toString(36)}`;
}

function chooseApp(namer: Namer, { common, others }: Wanted["apps"]): string | null {
  if (namer.chance(0.33)) return common;
  return namer.chance(0.5) ? namer.pick(others) : null;
}
