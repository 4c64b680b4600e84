import { randomBytes } from "node:crypto";
import { request } from "node:http";
import type { KyselyPlugin } from "kysely";
import { describe, expect, test } from "vitest";
import { sendEmbedded } from "../../src/client/send-once.ts";
import {
  offeredConditions,
  conditions,
  linkFilters,
  ownLinkFilters,
  type FieldKind,
} from "../../src/contract/filters.ts";
import { apiPrefix } from "../../src/contract/index.ts";
import { answerOverHttp } from "../../src/service/http.ts";
import { createService } from "../support/api-description.ts";
import { deleteLink } from "../../src/store/links.ts";
import type { Store } from "../../src/store/store.ts";
import { createIndex } from "../../src/store/trigram-index.ts";
import { serveApi, createWorld, readLinkOrigin, type World } from "../support/world.ts";
import { countForEver, endForEver, isOnPostgres } from "../support/store-place.ts";
import { createGate, waitUntil } from "../support/clock.ts";
import { openLinkHost } from "../support/link-host.ts";
import { openForAll, openForEach } from "../support/open-for.ts";
import { addLink, addLinks, now } from "../support/rows.ts";

/** Tests that long lists are read in the background, with the same results as short lists. */

/** The number of links above which a project may have long lists. */
const fewLinks = 2000;
const word = "Spring";

let world: World;
let ids: readonly string[];
openForAll(createWorld, async (opened) => {
  world = opened;
  ids = await world.store.write(async (db) => {
    const tenant = { db, projectId: world.project.id };
    for (const turn of Array.from({ length: 40 }).keys()) {
      const url = turn % 3 === 0 ? `https://${word}.example/${turn}` : null;
      await addLink(tenant, `${word}-${turn}`, {
        name: turn % 4 === 0 ? null : `${word} ${turn % 7}`,
        shortened_path: turn % 2 === 0 ? null : `Code${turn}`,
        url,
        referrer: turn % 5 === 0 ? word : url,
        ios_fallback_url: url,
        now: now + turn * 1000,
      });
    }
    return addLinks(tenant, fewLinks);
  });
});

type Wrap = (store: Store) => Store["readLong"];

function openService(wrap: Wrap, of: World = world) {
  const { store, clock, setAlarm } = of;
  const reported: unknown[] = [];
  const { answer } = createService({
    store: { ...store, readLong: wrap(store) },
    clock,
    random: { bytes: randomBytes },
    setAlarm,
    readLinkOrigin,
    report: (error) => `reference-${reported.push(error)}`,
  });
  const get = (path: string) =>
    answer({
      method: "GET",
      url: `http://localhost${apiPrefix}${path}`,
      headers: { authorization: `Token ${of.key}` },
    });
  return { answer, get, reported };
}

const ask = (query: readonly (readonly [string, string])[]) =>
  `/links?${query.map((pair) => pair.map(encodeURIComponent).join("=")).join("&")}`;

const values: Readonly<Record<FieldKind, readonly string[]>> = {
  text: [word, "s", "https://spring.example/3"],
  path: [`${word}-3`, "spring", "Code1"],
  integer: ["0", "1"],
  time: [new Date(now + 5000).toISOString()],
};

function listFilters(): readonly (readonly [string, string])[] {
  const plain = Object.entries(linkFilters).flatMap(([field, kind]) =>
    conditions.map((condition) => [`q[${field}_${condition}]`, condition, kind] as const),
  );
  const own = Object.entries(ownLinkFilters).flatMap(([field, kind]) =>
    offeredConditions.map((condition) => [`f[${field}_${condition}]`, condition, kind] as const),
  );
  return [...plain, ...own].flatMap(([name, condition, kind]) => {
    const isFlag = ["null", "present", "empty"].includes(condition);
    const asked = isFlag ? ["true", "false"] : values[kind];
    const isList = condition === "in" ? "[]" : "";
    return asked.map((value) => [`${name}${isList}`, value] as const);
  });
}

const sorts = Object.keys(linkFilters).flatMap((field) => [`${field} asc`, `${field} desc`]);
const allLists = [
  ...listFilters().map((filter) => [filter, ["limit", "5"]] as const),
  ...sorts.map((sort) => [["q[s]", sort]] as const),
  ...sorts.map(
    (sort) =>
      [
        ["q[s]", sort],
        ["page", "70"],
      ] as const,
  ),
  ...[word, `${word} 3`, `http://default.localhost:8787/${word}-3`].map(
    (text) => [["f[search]", text]] as const,
  ),
];

/**
 * PostgreSQL reads long lists by the same queries as short ones, so a part of them is enough: every
 * fifth list, and the searches at the end.
 */
const lists = allLists.filter(
  (_, index) => !isOnPostgres || index % 5 === 0 || index >= allLists.length - 3,
);

describe.each([false, true])("a long list (with a text index: %s)", (isIndexed) => {
  test("is the same whether or not it is read in the background", async () => {
    if (isIndexed) {
      await world.store.write((db) => createIndex({ db, projectId: world.project.id }));
      await world.store.finishTasks();
    }
    let long = 0;
    const beside = openService(({ readLong }) => (work, options) => {
      long += 1;
      return readLong(work, options);
    });
    const before = openService(
      ({ db }) =>
        (work) =>
          work(db),
    );
    for (const list of lists) {
      const path = ask(list);
      expect([path, await beside.get(path)]).toEqual([path, await before.get(path)]);
    }
    expect(long).toBeGreaterThan(lists.length / 2);
    expect([...beside.reported, ...before.reported]).toEqual([]);
  });
});

test("long lists are not read on the connection that serves visitors", async () => {
  const readLong: string[] = [];
  const { get } = openService(({ readLong: read }) => (work, options) => {
    readLong.push("long");
    return read(work, options);
  });
  const isLong = async (...query: readonly (readonly [string, string])[]) => {
    readLong.length = 0;
    expect((await get(ask(query))).status).toBe(200);
    return readLong.length === 1;
  };
  const quick = [
    ["page", "9"],
    ["page", "999"],
    ["q[s]", "created_at asc"],
    ["q[s]", "path desc"],
    ["q[path_eq]", "link-1"],
    ["q[path_in][]", "link-1"],
    ["q[shortened_path_eq]", "Code1"],
  ] as const;
  for (const pair of quick) expect([pair, await isLong(pair)]).toEqual([pair, false]);
  const long = [
    // Many links may have the same value in these fields and need a second sort key.
    ...["name", "clicks", "shortened_path", "created_via"].map((name) => ["q[s]", name] as const),
    ["q[path_start]", "link"],
    ["q[path_or_shortened_path_eq]", "Code1"],
    ["q[name_eq]", "Link 1"],
    ["q[clicks_eq]", "0"],
    ["f[search]", "link"],
  ] as const;
  for (const pair of long) expect([pair, await isLong(pair)]).toEqual([pair, true]);
  const sorted = ["q[s][]", "path asc"] as const;
  expect(await isLong(sorted, ["q[s][]", "clicks asc"])).toBe(true);
  expect(await isLong(["q[path_eq]", "link-1"], ["q[name_eq]", "Link 1"])).toBe(true);
});

/** PostgreSQL reads lists without a thread, which another test covers. */
const onFile = test.skipIf(isOnPostgres);

/** No link contains any of these texts, so each filter is compared with all 2,000 links. */
const slow = ask(Array.from({ length: 45 }, (_, turn) => ["f[referrer_not_eq]", `${turn}`]));

onFile("a read, a redirect and a write finish before a long list that began earlier", async () => {
  await using host = await openLinkHost();
  const { project, store, call } = host.world;
  const { id } = await host.add("link", { path: "spring", url: "https://example.com/" });
  await store.write((db) => addLinks({ db, projectId: project.id }, fewLinks));
  const order: string[] = [];
  const note = async (what: string, answer: Promise<{ readonly status: number }>) => {
    const { status } = await answer;
    order.push(`${what}: ${status}`);
  };
  await Promise.all([
    note("list", call("GET", slow)),
    note("get_link", call("GET", `/links/${id}`)),
    note("redirect", host.visit("/spring")),
    note("write", call("POST", "/links", { body: { path: "summer" } })),
  ]);
  expect(order.at(-1)).toBe("list: 200");
  expect(order.toSorted()).toEqual(["get_link: 200", "list: 200", "redirect: 302", "write: 201"]);
});

function openEndless(of?: World) {
  const begun = createGate();
  const service = openService(
    ({ readLong }) =>
      (work, options) =>
        readLong(async (db) => {
          begun.open();
          await countForEver(db);
          return work(db);
        }, options),
    of,
  );
  return { ...service, begun: begun.opened };
}

const list = ask([["q[name_cont]", "s"]]);

test("reads, redirects and writes still succeed while 12 list requests are stuck", async () => {
  await using host = await openLinkHost();
  const { project, store, call, advance } = host.world;
  const { id } = await host.add("link", { path: "spring", url: "https://example.com/" });
  await store.write((db) => addLinks({ db, projectId: project.id }, fewLinks));
  const { get, begun } = openEndless(host.world);
  // More than the connection pool has.
  const endless = Array.from({ length: 12 }, async () => get(list));
  await begun;
  for (const turn of Array.from({ length: 3 }).keys()) {
    const answers = await Promise.all([
      call("GET", `/links/${id}`),
      call("GET", "/links"),
      host.visit("/spring"),
      call("POST", "/links", { body: { path: `summer-${turn}` } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 302, 201]);
  }
  advance(10_000);
  const answers = await Promise.all(endless);
  expect(answers.map(({ status }) => status)).toEqual(endless.map(() => 503));
});

describe("reading a long list", () => {
  // A separate world, because PostgreSQL may still be reading one of the lists above.
  let own: World;
  openForEach(createWorld, async (opened) => {
    own = opened;
    const { store, project } = own;
    await store.write((db) => addLinks({ db, projectId: project.id }, fewLinks + 1));
  });

  test("stops when the client disconnects", async () => {
    const { answer, begun, reported } = openEndless(own);
    const statuses: number[] = [];
    const answerNoted: typeof answer = async (asked) => {
      const reply = await answer(asked);
      statuses.push(reply.status);
      return reply;
    };
    const { server, port } = await serveApi(answerOverHttp(answerNoted, own.clock));
    const headers = { authorization: `Token ${own.key}` };
    const asking = request({ port, path: `${apiPrefix}${list}`, headers }).end();
    asking.on("error", () => undefined);
    await begun;
    const next = own.call("GET", list);
    asking.destroy();
    await waitUntil(() => statuses.length > 0);
    expect([statuses, reported]).toEqual([[503], []]);
    await endForEver(own);
    expect((await next).status).toBe(200);
    server.close();
  });

  test("stops when the assistant cancels the call", async () => {
    const { answer, begun } = openEndless(own);
    const cancelling = new AbortController();
    const url = `http://localhost${apiPrefix}${list}`;
    const headers = { authorization: `Token ${own.key}` };
    const sent = sendEmbedded(answer)({ method: "GET", url, headers }, cancelling.signal);
    await begun;
    const next = own.call("GET", list);
    cancelling.abort();
    expect((await sent).status).toBe(503);
    await endForEver(own);
    expect((await next).status).toBe(200);
  });

  test("stops after ten seconds", async () => {
    const { get, begun } = openEndless(own);
    const endless = get(list);
    await begun;
    const next = own.call("GET", list);
    // The second list waits in the queue and still has enough time.
    own.advance(9_999);
    const later = own.call("GET", list);
    own.advance(1);
    expect((await endless).status).toBe(503);
    await endForEver(own);
    expect([(await next).status, (await later).status]).toEqual([503, 200]);
  });
});

onFile("a project's 101st queued list request returns 503 with Retry-After", async () => {
  const { get, begun } = openEndless();
  const endless = get(list);
  await begun;
  const waiting = Array.from({ length: 100 }, () => world.call("GET", list));
  const refused = await world.call("GET", list);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  expect((await world.call("GET", "/links")).status).toBe(200);
  world.advance(10_000);
  const answers = await Promise.all([endless, ...waiting]);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
});

test("a list's rows and count match each other even during writes", async () => {
  const { get } = openService(
    ({ readLong, write }) =>
      (work, options) =>
        readLong((db) => {
          const writing: KyselyPlugin = {
            transformQuery: ({ node }) => node,
            transformResult: async ({ result }) => {
              const [id = "", ...others] = ids;
              ids = others;
              await write((writer) =>
                deleteLink({ db: writer, projectId: world.project.id }, id, now),
              );
              return result;
            },
          };
          return work(db.withPlugin(writing));
        }, options),
  );
  const { body } = await get(
    ask([
      ["q[name_start]", "Link"],
      ["q[s]", "name asc"],
      ["limit", "100"],
      ["page", "20"],
    ]),
  );
  type Listed = { meta: { count: number; from: number; to: number }; links: unknown[] };
  const { meta, links } = body as Listed;
  expect([meta.count, links.length]).toEqual([fewLinks, meta.to - meta.from + 1]);
  // With this few rows, a deletion between the two reads would change the result.
  const first = fewLinks - ids.length;
  const few = Array.from({ length: 10 }, (_, turn) => `Link ${first + turn}`);
  const next = await get(ask(few.map((name) => ["q[name_in][]", name])));
  const page = next.body as Listed;
  expect([page.meta.count, page.links.length]).toEqual([10, 10]);
});
