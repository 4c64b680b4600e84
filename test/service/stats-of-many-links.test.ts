import { expect, test } from "vitest";
import { utc } from "../../src/contract/local-time.ts";
import { addUpVisits, type Wanted } from "../../src/service/link-stats.ts";
import { packId } from "../../src/stats/link-ids.ts";
import { createLinkSet } from "../../src/stats/link-set.ts";
import { isStep, listSteps } from "../../src/stats/steps.ts";
import { hour_ms, writeKind } from "../../src/stats/visit.ts";
import { createKindReader, writeDay } from "../../src/store/visit-days.ts";
import { createWorld, type World } from "../support/world.ts";

/** What is kept of very many links, of which more rows are there than are read at once. */

const days = 30;
const rowsOfDay = 80;
const linksOfRow = 3;
const firstDay = 20_000;
const linkCount = rowsOfDay * linksOfRow;

const ids = Array.from({ length: linkCount }, (_, place) => {
  return `0198${place.toString(16).padStart(4, "0")}-0000-7000-8000-${"0".repeat(11)}1`;
});
/** At the given hour of each day; the day before the first, those with few have many. */
const clicksOf = (place: number, hour: number, day = firstDay) => {
  const clicks = (place * 7) % 31;
  return (day < firstDay ? 30 - clicks : clicks) + hour;
};
const hours = [0, 9, 23];

async function fill({ store, project }: World): Promise<void> {
  const read = createKindReader();
  await store.write(async (db) => {
    for (let day = firstDay - 1; day < firstDay + days; day += 1) {
      const links = ids.map((id, place) => {
        const counts = hours.map((hour) => {
          const facts = {
            platform: place % 2 === 0 ? "ios" : "desktop",
            source: "address",
          } as const;
          const kind = writeKind("click", (day * 24 + hour) * hour_ms, facts);
          return [kind, clicksOf(place, hour, day)] as const;
        });
        return [id, new Map(counts)] as const;
      });
      // No two days are parted at the same links.
      const first = day % linksOfRow;
      const starts = [
        0,
        ...Array.from({ length: rowsOfDay }, (_, row) => row * linksOfRow + first),
      ];
      const rows = [...new Set(starts)].flatMap((start, at, all) => {
        const own = links.slice(start, all[at + 1] ?? linkCount);
        return own.length === 0 ? [] : [{ ...writeDay(own, read) }];
      });
      const values = rows.map((row) => ({
        project_id: project.id,
        day,
        hourly: 1 as const,
        ...row,
      }));
      await db.insertInto("visit_days").values(values).execute();
    }
  });
}

/** Of so many days from the given hour of the first one. */
const periodOf = (from: number, length: number) => {
  const start = (firstDay * 24 + from) * hour_ms;
  return { from: start, to: start + length * 24 * hour_ms, days: length };
};

const perDay = (place: number, day?: number) =>
  hours.reduce((sum, hour) => sum + clicksOf(place, hour, day), 0);
const add = (sum: number, one: number) => sum + one;

test("what is kept of many links is added up, whichever part of it is asked for", async () => {
  await using world = await createWorld();
  await fill(world);
  const tenant = { db: world.store.db, projectId: world.project.id };
  const compare = (more: Partial<Wanted>, from = 0, length = days) => {
    const { by = "link" } = more;
    const period = periodOf(from, length);
    const steps = isStep(by) ? listSteps(period, by, utc) : [];
    return addUpVisits(tenant, {
      links: undefined,
      most: 5,
      ...more,
      by,
      asked: { period, steps },
    });
  };
  const ask = async (...given: Parameters<typeof compare>) => (await compare(...given)).found;
  const places = ids.map((_, place) => place);

  const all = await ask({});
  expect(all.total.click).toBe(places.map((place) => perDay(place)).reduce(add) * days);
  const sorted = places.toSorted((one, other) => perDay(other) - perDay(one) || one - other);
  expect(all.rows.map(([id]) => id)).toEqual(sorted.slice(0, 5).map((place) => ids[place]));
  expect(all.rows[0]?.[1].click).toBe(perDay(sorted[0] ?? 0) * days);
  expect(all.keys).toBe(linkCount);
  // None of those that are the best then was so the day before.
  const { earlier } = await compare({ before: { period: periodOf(-24, 1), steps: [] } });
  const best = sorted.slice(0, 5);
  expect(best.map((place) => earlier?.find(ids[place] ?? "")?.click)).toEqual(
    best.map((place) => perDay(place, firstDay - 1)),
  );
  const bestBefore = sorted.toReversed().slice(0, 5);
  expect(earlier?.rows.map(([, { click }]) => click)).toEqual(
    bestBefore.map((place) => perDay(place, firstDay - 1)),
  );

  // From nine o'clock, and to nine o'clock: both ends are cut.
  const cut = await ask({}, 9, days - 1);
  expect(cut.total.click).toBe(places.map((place) => perDay(place)).reduce(add) * (days - 1));
  expect((await ask({}, 9, 0.25)).total.click).toBe(
    places.map((place) => clicksOf(place, 9)).reduce(add),
  );

  const some = places.filter((place) => place % 5 === 1);
  const chosen = some.map((place) => ids[place] ?? "");
  const packed = () => packId(chosen.join(""));
  const ends = [chosen[0] ?? "", chosen.at(-1) ?? ""] as const;
  const links = await createLinkSet(packed(), ends);
  const ofSome = some.map((place) => perDay(place)).reduce(add) * days;
  expect((await ask({ links })).total.click).toBe(ofSome);
  const byPlatform = await ask({ links, by: "platform" });
  expect(byPlatform.total.click).toBe(ofSome);
  const ofPhones =
    some
      .filter((place) => place % 2 === 0)
      .map((place) => perDay(place))
      .reduce(add) * days;
  expect(byPlatform.find("ios")?.click).toBe(ofPhones);
  const one = await createLinkSet(packId(ids[7] ?? ""), [ids[7] ?? "", ids[7] ?? ""]);
  expect((await ask({ links: one, by: "day" }, 0, 3)).rows.map(([, { click }]) => click)).toEqual(
    Array.from({ length: 3 }, () => perDay(7)),
  );
  const none = await createLinkSet(packId(""), undefined);
  expect((await ask({ links: none })).total.click).toBe(0);
});
