import { expect, test } from "vitest";
import { describeVisit } from "../../src/stats/visit.ts";
import { now } from "../support/rows.ts";
import { openVisitedLinks } from "../support/link-host.ts";
import type { World } from "../support/world.ts";

/** Pending visits are kept in memory for a second and added up. */

let world: World;
const paths = ["a", "b", "c", "d", "e", "f", "g"];
const { ids, read } = openVisitedLinks(paths, (opened) => (world = opened));

test("25,200 visits to seven links from three alternating platforms are all counted", async () => {
  const { clicks, project } = world;
  const visited = paths.map((path) => ids[path] ?? "");
  const kinds = (["ios", "android", "desktop"] as const).map((platform) => {
    return describeVisit({
      projectId: project.id,
      what: "click",
      at: now,
      platform,
      source: "address",
    });
  });
  // Some of the visits are read meanwhile.
  for (let turn = 0; turn < 25_200; turn += 1) {
    const [link, kind] = [visited[turn % 7], kinds[Math.floor(turn / 2) % 3]];
    if (link !== undefined && kind !== undefined) clicks.note(link, kind);
    if (turn % 6000 === 0) await clicks.flush(project.id, ids["a"]);
  }
  const { rows } = await read("by=platform");
  expect(rows).toMatchObject(kinds.map(() => ({ clicks: 8400 })));
  const each = paths.map((path) => world.call("GET", `/links/${ids[path]}`));
  const links = await Promise.all(each);
  expect(links.map(({ body }) => body.clicks)).toEqual(paths.map(() => 3600));
  expect(clicks.measure()).toMatchObject({ counted: 25_200, written: 25_200, lost: 0 });
});
