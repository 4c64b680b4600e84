import { wholeIndex } from "../../../src/store/engines/link-search.ts";
import { readTally } from "../../../src/store/project-tallies.ts";
import { browse, type Browsing } from "../../support/browse.ts";
import { awaitIndex, commonApp, startIndex } from "../ground/ground.ts";
import { rareWord } from "../ground/seed.ts";
import { findPercentile, type Finding } from "../results/finding.ts";
import { createRing } from "../ring.ts";
import { serve, type Server } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/**
 * The console's page of links in a very large project, as a browser asks for it. Whatever is
 * searched for is searched for the first time: nobody has counted it before.
 */
export async function* measureConsole({ build, extent, findGround }: Subject): Rounds {
  const { file, large } = await findGround();
  await using server = await serve(build, file.folder);
  // Another scenario may have built it.
  const { indexed_to } = await readTally({ db: file.db, projectId: large.projectId });
  if (indexed_to !== wholeIndex) await startIndex(file, large);
  await awaitIndex(file, large);
  // Each with a budget of its own.
  const tabs: Browsing[] = [];
  for (const key of large.keys.slice(0, visitors)) tabs.push(await signIn(server, key));
  const nextTab = createRing(tabs);
  const findings: Finding[] = [];
  for (const [what, queries] of Object.entries(describePages(extent.links))) {
    const times_ms: number[] = [];
    for (const query of [...queries.slice(0, 1), ...queries]) {
      times_ms.push(await open(nextTab(), query));
    }
    // The first one is for the compiler and the disk.
    const value = findPercentile(times_ms.slice(1), 0.95);
    findings.push({ what: `${what}, p95`, unit: "ms", value, target: { most: 150 } });
  }
  yield findings;
}

const visitors = 40;
const turns = 20;

async function signIn({ url }: Server, key: string): Promise<Browsing> {
  const tab = browse(url);
  await tab.open("/sign-in");
  const { path } = await tab.submit({ key });
  if (path !== "/") throw new Error(`not signed in, but at ${path}`);
  return tab;
}

async function open(tab: Browsing, query: string): Promise<number> {
  const started = performance.now();
  const { status, text } = await tab.open(`/links${query}`);
  const took = performance.now() - started;
  const isList = status === 200 && text.includes('id="results"');
  if (!isList) throw new Error(`${query}: ${status} ${text}`);
  return took;
}

/** Each kind of page, by the queries in its address. */
function describePages(links: number): Readonly<Record<string, readonly string[]>> {
  const last = Math.ceil(links / 20);
  return {
    "all links, newest first": repeat(""),
    "all links, in other orders": ["oldest", "clicks", "name", "path"].flatMap((sort) =>
      repeat(`?sort=${sort}`).slice(0, 5),
    ),
    "all links, further pages": [2, 50, 500, 5000, last / 2, last - 1, last].flatMap((page) => [
      `?page=${Math.floor(page)}`,
      `?page=${Math.floor(page)}&sort=name`,
    ]),
    "one letter is typed": "abcdefghijklmnopqrstuvwy".split("").map(search),
    "two letters are typed": words.map((word) => search(word.slice(0, 2))),
    "three letters are typed": words.map((word) => search(word.slice(0, 3))),
    "a word is typed": [...words, rareWord].map(search),
    "two words are typed": words.map((word, turn) =>
      search(`${word} ${words[(turn + 7) % words.length] ?? ""}`),
    ),
    "a filter": [
      ...[1, 10, 100, 1000, 10_000].map((clicks) => `?filter=clicks+gteq+${clicks}`),
      ...[1, 10, 100].map((clicks) => `?filter=clicks+lt+${clicks}&sort=name`),
      ...["photo", rareWord, "sale"].map((word) => `?filter=name+cont+${word}`),
      `?filter=ios_app_bundle_id+eq+${commonApp}`,
      "?filter=created_via+eq+api",
      "?filter=name+empty+true",
    ],
  };
}

const repeat = (query: string) => Array.from({ length: turns }, () => query);
const search = (text: string) => `?search=${encodeURIComponent(text)}`;

/** Common ones, rare ones, and some that are in no link. */
const words = `spring summer sale autumn winter photography newsletter instagram vintage yoga zurich
  zero www.example jewel quarter quilt xylophone zeppelin 1999 example.com`
  .trim()
  .split(/\s+/);
