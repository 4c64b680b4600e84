import { expect, test } from "vitest";
import { hourColumns } from "../../src/stats/visit.ts";
import type { VisitCountTable } from "../../src/store/tables.ts";
import { updateProject } from "../../src/store/projects.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";

/** Which facts of a visit are stored. */

const url = "https://shop.example/";
const iPhone =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_3_1 like Mac OS X) AppleWebKit/605.1.15 " +
  "(KHTML, like Gecko) Version/17.3.1 Mobile/15E148 Safari/604.1";

let host: LinkHost;
openForEach(
  () =>
    openLinkHost({
      secondOrigin: "http://{subdomain}.open.localhost",
      findCountry: ({ headers }) => headers["x-country"]?.toString(),
    }),
  (opened) => (host = opened),
);

/** The hour at which the world's clock starts. */
const startedAt = 12;

async function readCounts(dimension: VisitCountTable["dimension"]) {
  const { clicks, project, store } = host.world;
  await clicks.flush(project.id);
  const rows = await store.db
    .selectFrom("visit_counts")
    .selectAll()
    .where("dimension", "=", dimension)
    .where("link_id", "=", "")
    .orderBy("value")
    .execute();
  return rows.flatMap((row) =>
    hourColumns.flatMap((column, hour) => {
      const visits = row[column];
      return visits === null ? [] : [[hour - startedAt, row.value, visits]];
    }),
  );
}

async function listReferrers() {
  return (await readCounts("referrer")).map(([, host]) => host);
}

test("visits are counted by source, and presses of the Open button are counted apart", async () => {
  const link = await host.add("link", { path: "spring", url, options: { shorten: true } });
  await host.visit("/spring");
  await host.visit("/spring/");
  await host.visit(`/${link.shortened_path}`);
  await host.visit("/spring?wp=qr");
  await host.visit("/spring", { host: "default.open.localhost", agent: iPhone });
  expect(await readCounts("total")).toEqual([[0, "", 4]]);
  // A link's own address and computers are the defaults and are not stored.
  expect(await readCounts("source")).toEqual([
    [0, "button", 1],
    [0, "qr", 1],
    [0, "short", 1],
  ]);
  expect(await readCounts("platform")).toEqual([]);
  expect(await host.readClicks(link.id)).toBe(4);
});

test("visits are counted by platform and by hour", async () => {
  await host.add("link", { path: "spring", url });
  await host.visit("/spring");
  await host.visit("/spring", { agent: iPhone });
  await host.visit("/spring");
  host.world.advance(3_600_000);
  await host.visit("/spring");
  expect(await readCounts("total")).toEqual([
    [0, "", 3],
    [1, "", 1],
  ]);
  expect(await readCounts("platform")).toEqual([[0, "ios", 1]]);
});

test("only Waypost's own parameter wp is removed from a visit's query", async () => {
  await host.add("link", { path: "spring", url });
  const readLocation = async (path: string) => (await host.visit(path)).headers.location;
  expect(await readLocation("/spring?wp=qr")).toBe(url);
  expect(await readLocation("/spring?a=1&wp=qr&b=2")).toBe(`${url}?a=1&b=2`);
  expect(await readLocation("/spring?wp=qrs&awp=qr")).toBe(`${url}?wp=qrs&awp=qr`);
  const pasted = `wp=paste-${"a".repeat(22)}`;
  expect(await readLocation(`/spring?a=1&${pasted}&b=2`)).toBe(`${url}?a=1&b=2`);
  expect(await readLocation(`/spring?${pasted}b`)).toBe(`${url}?${pasted}b`);
});

test("a referrer is stored only as a host name, and only if it is another site", async () => {
  await host.add("link", { path: "spring", url });
  const referers = [
    "https://www.News.example/today?user=7",
    "https://news.example/",
    "android-app://com.chat.example/",
    `${host.origin}/other`,
    "about:blank",
    "nonsense with spaces",
    "https://other/",
    "https://direct/",
    `https://${"a".repeat(300)}.example/`,
  ];
  for (const referer of referers) await host.visit("/spring", { headers: { referer } });
  expect(await listReferrers()).toEqual(["com.chat.example", "news.example"]);
  const rows = await host.world.store.db.selectFrom("visit_counts").selectAll().execute();
  expect(JSON.stringify(rows)).not.toMatch(/user=7|today|127\.0\.0\.1|Mozilla/);
});

test.each([
  ["www.shop.example", "https://www.shop.example/other", undefined],
  ["www.shop.example", "https://shop.example/", "shop.example"],
  ["go.example", "https://go.example/other", undefined],
  ["go.example", "https://www.go.example/", "go.example"],
  ["go.example", "https://www.example/", undefined],
])(
  "a visit to the custom domain %s from %s is stored with the referrer %s",
  async (own, referer, expectedHost) => {
    const { world } = host;
    const project = await world.addProject({ subdomain: "own", custom_domain: own });
    await world.store.write((db) => {
      return updateProject(db, project.id, { custom_domain_verified: true }, 0);
    });
    const key = await world.addKey({ project });
    await world.call("POST", "/links", { key, body: { path: "spring", url } });
    await host.visit("/spring", { host: own, headers: { referer } });
    await world.clicks.flush(project.id);
    expect(await listReferrers()).toEqual(expectedHost === undefined ? [] : [expectedHost]);
  },
);

test("localhost and loopback IP addresses are stored as referrers", async () => {
  await host.add("link", { path: "spring", url });
  for (const referer of ["http://localhost:3000/", "http://[::1]:3000/", "http://127.0.0.1/"]) {
    await host.visit("/spring", { headers: { referer } });
  }
  expect(await listReferrers()).toEqual(["127.0.0.1", "[::1]", "localhost"]);
});

test("a visit is stored with the country that the operator's lookup returns", async () => {
  await host.add("link", { path: "spring", url });
  await host.visit("/spring", { headers: { "x-country": "DE" } });
  await host.visit("/spring");
  expect(await readCounts("country")).toEqual([[0, "DE", 1]]);
});
