import { expect, test } from "vitest";
import type { AnswerApi } from "../../src/contract/api-message.ts";
import { limits } from "../../src/contract/limits.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { iosFirstLaunch } from "../sdk/recorded.ts";
import { readAnswer, type Read } from "../sdk/readers.ts";
import { neverRing, waitUntil } from "../support/clock.ts";
import { openInstallWorld, type InstallWorld } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";
import {
  hasClearVisit,
  makePopulation,
  type Made,
  type MadeInstall,
  type MadeVisit,
} from "./population.ts";

/**
 * Simulated phones visit the pages of links and then install the app. Their requests go to four
 * processes of one database; all requests of the same minute are sent at once.
 */

const minute_ms = 60_000;
const hour_ms = 60 * minute_ms;
const processes = 4;

let host: InstallWorld;
openForEach(openInstallWorld, (opened) => {
  host = opened;
});

type Answered = {
  readonly install: MadeInstall;
  /** The visits from the same address that have not expired. */
  readonly here: readonly MadeVisit[];
  readonly answers: readonly Read[];
};

async function play(made: Made): Promise<readonly Answered[]> {
  const { visits, installs } = makePopulation(made);
  await addLinks(visits);
  const stores = await Promise.all(Array.from({ length: processes - 1 }, openOther));
  const servers = [host.world.answer, ...stores.map((store) => host.startAnother(store))];
  const answered: Answered[] = [];
  const minutes = listMinutes([...visits, ...installs]);
  for (const [index, now] of minutes.entries()) {
    await visitPages(visits, now);
    const recent = visits.filter((visit) => isRecent(visit, now));
    const asking = installs.filter((install) => findMinute(install) === now);
    const asked = asking.map(async (install) => {
      const here = recent.filter(({ address }) => isSame(address, install.seen.address));
      return { install, here, answers: await ask(install, servers) };
    });
    answered.push(...(await Promise.all(asked)));
    host.world.advance(((minutes[index + 1] ?? now) - now) * minute_ms);
  }
  await Promise.all(stores.map((store) => store.close()));
  return answered;
}

async function addLinks(visits: readonly MadeVisit[]): Promise<void> {
  const { ios_app_id: id } = (await host.world.call("GET", `/links/${host.link.id}`)).body;
  for (const path of new Set(visits.map(({ linkId }) => linkId))) {
    await host.add("link", { path, ios_app: { id }, ios_deferred_deep_linking_enabled: true });
  }
}

async function openOther(): Promise<Store> {
  return openStore(await host.world.openSql(), neverRing);
}

type Timed = { readonly at: number };

const findMinute = ({ at }: Timed) => Math.ceil(at / minute_ms);

function listMinutes(all: readonly Timed[]): readonly number[] {
  return [...new Set(all.map(findMinute))].toSorted((one, other) => one - other);
}

function isRecent(visit: MadeVisit, now: number): boolean {
  const waited = now - findMinute(visit);
  return waited >= 0 && waited * minute_ms < limits.deferred_visit_ms;
}

function isSame(one: MadeVisit["address"], other: MadeVisit["address"]): boolean {
  return one?.group === other?.group;
}

/** Each visit adds its number to the address, so that it can be recognized in a match. */
async function visitPages(visits: readonly MadeVisit[], now: number): Promise<void> {
  const opened = visits.map(async (visit, number) => {
    if (findMinute(visit) !== now) return;
    const { agent, language, script } = visit.told;
    const headers = { "accept-language": language };
    const given = { from: writeAddress(visit.address), agent, headers };
    const path = `/${visit.linkId}?visit=${number}`;
    if (script === undefined) await host.open(path, given);
    else expect((await host.visitPage(path, given, script)).status).toBe(204);
  });
  await Promise.all(opened);
  const come = visits.filter((visit) => findMinute(visit) <= now);
  // The visit is stored after the response has been sent.
  if (come.some((visit) => findMinute(visit) === now && visit.told.script === undefined)) {
    await waitUntil(async () => (await host.listRows()).length === come.length);
  }
}

/**
 * One phone in four gets no response in time and asks another process while the first still works.
 * That phone sends no name that identifies it.
 */
async function ask(
  { phone, seen, fingerprint }: MadeInstall,
  servers: readonly AnswerApi[],
): Promise<readonly Read[]> {
  const isNameless = phone % 4 === 0;
  const idfv = `1D6B0C2E-6F0A-4E0B-9F43-${String(phone).padStart(12, "0")}`;
  const told = { ...fingerprint, ...(!isNameless && { idfv }) };
  const sent = { ...iosFirstLaunch, body: JSON.stringify({ fingerprint: told, platform: "ios" }) };
  const places = isNameless ? [phone / 4, phone / 4 + 1] : [phone];
  const answers = places.map(async (place) => {
    const server = servers[place % processes];
    return readAnswer("ios", await host.install(writeAddress(seen.address), sent, server));
  });
  return Promise.all(answers);
}

/** Each house has its own address, in a network that is not known to be shared. */
function writeAddress(address: MadeVisit["address"]): string {
  const house = Number(address?.group.replace("house-", ""));
  return `93.184.${house >> 8}.${house & 255}`;
}

/** An install is matched rightly if it gets a link that its phone visited. */
function isRight({ install, here }: Answered, { link }: Read): boolean {
  const path = link?.["path"];
  const isOwn = here.some(({ phone, linkId }) => phone === install.phone && linkId === path);
  return isOwn || install.linkId === path;
}

function judge(answered: readonly Answered[]) {
  const judged = answered.map((one) => {
    const matched = one.answers.filter((answer) => answer.matched);
    const right = matched.filter((answer) => isRight(one, answer));
    return { isClear: hasClearVisit(one.install, one.here), matched, right };
  });
  const clear = judged.filter(({ isClear }) => isClear);
  const count = (which: "matched" | "right") => countMedium(judged.flatMap((one) => one[which]));
  return {
    medium: count("matched"),
    wrongAtMedium: count("matched") - count("right"),
    clear: clear.length,
    clearMatched: clear.filter(({ right }) => right.length > 0).length,
  };
}

function countMedium(answers: readonly Read[]): number {
  return answers.filter(({ confidence }) => confidence === "medium").length;
}

/** The queries of all matched visits. */
function listTold(answered: readonly Answered[]): readonly string[] {
  const told = answered.flatMap(({ answers }) => answers.filter(({ matched }) => matched));
  return told.map(({ link }) => new URL(String(link?.["full_url"])).search.slice(1)).toSorted();
}

async function listUsed(): Promise<readonly string[]> {
  const used = (await host.listRows()).filter(({ told }) => told !== null);
  return used.map(({ query }) => query.replace(/^\?/, "")).toSorted();
}

/** Over a week most confidence is medium; within hours it rarely is, and several ask at once. */
test.each([
  { hours: 168, seed: 2, count: 100, leastMedium: 40 },
  { hours: 3, seed: 3, count: 150, leastMedium: 0 },
])(
  "four processes match installs of $hours hours correctly and use each visit once",
  async ({ hours, seed, count, leastMedium }) => {
    const spell_ms = hours * hour_ms;
    const answered = await play({ seed, count, begin_ms: 1.5 * hour_ms, spell_ms, idle: 0.5 });
    const counts = judge(answered);
    const world = JSON.stringify(counts);
    expect(counts.medium, world).toBeGreaterThanOrEqual(leastMedium);
    expect(counts.wrongAtMedium, world).toBeLessThanOrEqual(counts.medium / 50);
    expect(counts.clearMatched / counts.clear, world).toBeGreaterThanOrEqual(0.6);
    // Two visits to one link share no query here, so an install that fits both gets none.
    const [given, used] = [listTold(answered), await listUsed()];
    const own = given.filter((query) => query !== "");
    expect(given).toHaveLength(used.length);
    expect(new Set(own).size).toBe(own.length);
    expect(used).toEqual(expect.arrayContaining(own));
  },
);
