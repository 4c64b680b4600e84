import { expect, test } from "vitest";
import { chooseVisit } from "../../src/attribution/compare-phones.ts";
import {
  hasClearVisit,
  makePopulation,
  type CrowdPlan,
  type MadeInstall,
  type MadeVisit,
} from "./population.ts";

/** How often an install is matched to its own link, a wrong one or none, in 10,000 installs. */

const window_ms = 10 * 60_000;
const hour_ms = 60 * 60_000;

type Counts = {
  medium: number;
  wrongAtMedium: number;
  matched: number;
  wrong: number;
  /** Installs whose own visit is unlike all others from their address. */
  clear: number;
  clearMatched: number;
};

function play(made: Omit<CrowdPlan, "count">): Counts {
  const { visits, installs } = makePopulation({ ...made, count: 10_000 });
  const counts: Counts = {
    medium: 0,
    wrongAtMedium: 0,
    matched: 0,
    wrong: 0,
    clear: 0,
    clearMatched: 0,
  };
  const pending = new Set<MadeVisit>();
  let next = 0;
  for (const install of installs) {
    for (let visit = visits[next]; visit && visit.at <= install.at; visit = visits[next]) {
      pending.add(visit);
      next += 1;
    }
    for (const visit of pending) if (visit.at <= install.at - window_ms) pending.delete(visit);
    const here = [...pending].filter(
      ({ address }) => address?.group === install.seen.address?.group,
    );
    const chosen = chooseVisit(install.seen, here);
    const isClear = hasClearVisit(install, here);
    // A visit to the same link by another phone is right too.
    const isRight = chosen?.visit.phone === install.phone || isSameLink(chosen?.visit, install);
    if (isClear) counts.clear += 1;
    if (chosen === undefined) continue;
    // Each visit is used by one install.
    pending.delete(chosen.visit);
    counts.matched += 1;
    counts.wrong += Number(!isRight);
    counts.clearMatched += Number(isClear && isRight);
    counts.medium += Number(chosen.confidence === "medium");
    counts.wrongAtMedium += Number(chosen.confidence === "medium" && !isRight);
  }
  return counts;
}

function isSameLink(visit: MadeVisit | undefined, { linkId }: MadeInstall): boolean {
  return visit !== undefined && visit.linkId === linkId;
}

/** The hours in which an address's phones install, and its visits without an install. */
const worlds = [
  { hours: 168, idle: 1 },
  { hours: 24, idle: 0.5 },
  { hours: 12, idle: 0 },
  { hours: 3, idle: 0.5 },
];

test("over 70 % of unambiguous installs are matched, and few matches are wrong", () => {
  for (const { hours, idle } of worlds) {
    const counts = play({ seed: 1, spell_ms: hours * hour_ms, idle });
    const world = JSON.stringify({ hours, idle, ...counts });
    expect(counts.clearMatched / counts.clear, world).toBeGreaterThan(0.7);
    expect(counts.wrongAtMedium / counts.medium, world).toBeLessThan(0.01);
    expect(counts.wrong / counts.matched, world).toBeLessThan(0.03);
  }
});

test("with few phones per IP address, most matches are correct and have medium confidence", () => {
  const counts = play({ seed: 1, spell_ms: 168 * hour_ms, idle: 0.5, most: 3 });
  const world = JSON.stringify(counts);
  expect(counts.medium / counts.matched, world).toBeGreaterThan(0.9);
  expect(counts.wrong / counts.matched, world).toBeLessThan(0.001);
});

test("when whole offices install an app at once, few matches have medium confidence", () => {
  const counts = play({ seed: 1, spell_ms: hour_ms / 2, idle: 1 });
  expect(counts.medium).toBeLessThan(100);
  expect(counts.wrong / counts.matched).toBeLessThan(0.05);
});
