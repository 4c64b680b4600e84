import { expect, test } from "vitest";
import { utc } from "../../src/contract/local-time.ts";
import type { Filter } from "../../src/contract/filters.ts";
import { readVisitSums, type SumsQuery } from "../../src/service/handlers/link-stats.ts";
import { isStep, listSteps } from "../../src/stats/period.ts";
import { hour_ms } from "../../src/stats/visit.ts";
import { allLinks, chooseLinks, matchLinks } from "../../src/store/link-lists.ts";
import { noteClick, addLinks } from "../support/rows.ts";
import { createWorld } from "../support/world.ts";

/** Tests statistics of more links than the store looks up one by one. */

const days = 5;
const firstDay = 20_000;
const linkCount = 240;
const hours = [0, 9, 23];
/** Returns the clicks of a link. The order of links is reversed on the day before the first. */
const clicksOf = (place: number, hour: number, day = firstDay) => {
  const clicks = (place * 7) % 31;
  return (day < firstDay ? 30 - clicks : clicks) + hour;
};
const perDay = (place: number, day?: number) =>
  hours.reduce((sum, hour) => sum + clicksOf(place, hour, day), 0);

const periodOf = (from: number, length: number) => {
  const start = (firstDay * 24 + from) * hour_ms;
  return { from: start, to: start + length * 24 * hour_ms, days: length };
};

const add = (sum: number, one: number) => sum + one;

test("readVisitSums returns totals, top rows and filtered rows that match the visits", async () => {
  await using world = await createWorld();
  const { clicks, project, store } = world;
  const tenant = { db: store.db, projectId: project.id };
  const ids = (
    await store.write((db) => addLinks({ db, projectId: project.id }, linkCount))
  ).toSorted();
  for (let day = firstDay - 1; day < firstDay + days; day += 1) {
    for (const [place, id] of ids.entries()) {
      const platform = place % 2 === 0 ? "ios" : "desktop";
      for (const hour of hours) {
        const visit = { at: (day * 24 + hour) * hour_ms, platform } as const;
        for (let turn = 0; turn < clicksOf(place, hour, day); turn += 1) {
          noteClick(clicks, project.id, id, visit);
        }
      }
    }
  }
  await clicks.flush(project.id);

  const compare = (more: Partial<SumsQuery>, from = 0, length = days) => {
    const { by = "link" } = more;
    const period = periodOf(from, length);
    const steps = isStep(by) ? listSteps(period, by, utc) : [];
    return readVisitSums(tenant, {
      links: allLinks,
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
  expect(all.isCut).toBe(true);
  // The most clicked links had few clicks on the day before.
  const { earlier } = await compare({ before: { period: periodOf(-24, 1), steps: [] } });
  const best = sorted.slice(0, 5);
  expect(best.map((place) => earlier?.find(ids[place] ?? "")?.click)).toEqual(
    best.map((place) => perDay(place, firstDay - 1)),
  );
  const bestBefore = sorted.toReversed().slice(0, 5);
  expect(earlier?.rows.map(([, { click }]) => click)).toEqual(
    bestBefore.map((place) => perDay(place, firstDay - 1)),
  );

  // The period starts and ends at nine o'clock, inside the first and the last day.
  const cut = await ask({}, 9, days - 1);
  expect(cut.total.click).toBe(places.map((place) => perDay(place)).reduce(add) * (days - 1));
  expect((await ask({}, 9, 0.25)).total.click).toBe(
    places.map((place) => clicksOf(place, 9)).reduce(add),
  );

  // Filters select more links than are looked up one by one, or fewer.
  const everyFifth = places.filter((place) => place % 5 === 1);
  for (const some of [places, everyFifth]) {
    const value = some.map((place) => ids[place] ?? "");
    await store.write((db) =>
      db
        .updateTable("links")
        .set({ name: "Some", name_lc: "some" })
        .where("id", "in", value)
        .execute(),
    );
    const tests: Filter["tests"] = [
      { field: "name", kind: "text", condition: "eq", value: "Some" },
    ];
    const links = await matchLinks(tenant, [{ join: "and", tests }], undefined);
    expect(links.count).toBe(some.length);
    const ofSome = some.map((place) => perDay(place)).reduce(add) * days;
    expect((await ask({ links })).total.click).toBe(ofSome);
    const byPlatform = await ask({ links, by: "platform" });
    expect(byPlatform.total.click).toBe(ofSome);
    const even = some.filter((place) => place % 2 === 0);
    const ofPhones = even.map((place) => perDay(place)).reduce(add) * days;
    expect(byPlatform.find("ios")?.click).toBe(ofPhones);
    expect(byPlatform.find("desktop")?.click).toBe(ofSome - ofPhones);
    await store.write((db) => db.updateTable("links").set({ name: null, name_lc: null }).execute());
  }
  const one = chooseLinks([ids[7] ?? ""]);
  expect((await ask({ links: one, by: "day" }, 0, 3)).rows.map(([, { click }]) => click)).toEqual(
    Array.from({ length: 3 }, () => perDay(7)),
  );
  expect((await ask({ links: chooseLinks([]) })).total.click).toBe(0);
});

test("readVisitSums grouped by link counts the visits in any period of whole hours", async () => {
  await using world = await createWorld();
  const { clicks, project, store } = world;
  const tenant = { db: store.db, projectId: project.id };
  const ids = await store.write((db) => addLinks({ db, projectId: project.id }, 7));
  const start = Date.UTC(2023, 11, 20) / hour_ms;
  const visits = Array.from({ length: 900 }, (_, turn) => ({
    // Visits are 37 hours apart, so that they cover four years with a leap day.
    hour: start + turn * 37,
    id: ids[(turn * turn) % ids.length] ?? "",
  }));
  for (const { hour, id } of visits) noteClick(clicks, project.id, id, { at: hour * hour_ms });
  await clicks.flush(project.id);

  const months = ["2024-01-01", "2024-02-01", "2024-02-29", "2024-03-01", "2025-01-03T07:00Z"];
  const times = [...months, "2023-12-31T23:00Z", "2024-04-01T05:00Z", "2026-02-03", "2027-11-04"];
  const hours = times.map((time) => Date.parse(time) / hour_ms).toSorted((one, two) => one - two);
  for (const [place, from] of hours.entries()) {
    for (const to of hours.slice(place + 1)) {
      const own = visits.filter(({ hour }) => hour >= from && hour < to);
      const expected = new Map<string, number>();
      for (const { id } of own) expected.set(id, (expected.get(id) ?? 0) + 1);
      const period = { from: from * hour_ms, to: to * hour_ms, days: undefined };
      for (const links of [allLinks, chooseLinks(ids)]) {
        const query = { links, by: "link", most: 10, asked: { period, steps: [] } } as const;
        const { total, rows } = (await readVisitSums(tenant, query)).found;
        expect(total).toEqual({ click: own.length, open: 0, install: 0 });
        expect(new Map(rows.map(([id, { click }]) => [id, click]))).toEqual(expected);
      }
    }
  }
});
