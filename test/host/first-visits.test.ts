import { expect, test } from "vitest";
import { StoreBusy, type Store } from "../../src/store/store.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";

/** First visits to several links at the same moment, and failed reads of the database. */

const url = "https://shop.example/";

let host: LinkHost;
/** Statements that match this fail. */
let failing: RegExp | undefined;

function fail(store: Store): Store {
  const compiled = new Map<string, string>();
  const db = store.db.withPlugin({
    transformQuery: ({ node, queryId }) => {
      compiled.set(queryId.queryId, store.db.getExecutor().compileQuery(node, queryId).sql);
      return node;
    },
    transformResult: ({ result, queryId }) => {
      const isFailing = failing?.test(compiled.get(queryId.queryId) ?? "") === true;
      return isFailing ? Promise.reject(new StoreBusy("gone")) : Promise.resolve(result);
    },
  });
  return { ...store, db };
}

openForEach(
  () => openLinkHost({ wrap: fail }),
  (opened) => {
    host = opened;
    failing = undefined;
  },
);

/** Adds links and visits one unknown path, because writes clear the cache of projects. */
async function addLinks(paths: readonly string[], more: object = {}): Promise<void> {
  for (const path of paths) await host.add("link", { path, url: url + path, ...more });
  await host.visit("/");
}

/** Sends all requests in one packet, and returns each location or status. */
async function visitAtOnce(targets: readonly string[]): Promise<readonly string[]> {
  const heads = targets.map((target, index) =>
    [
      `GET ${target} HTTP/1.1`,
      "host: default.localhost",
      "user-agent: curl/8.5.0",
      `connection: ${index === targets.length - 1 ? "close" : "keep-alive"}`,
      "\r\n",
    ].join("\r\n"),
  );
  const text = await host.sendRaw(heads.join(""));
  const answers = text.split("HTTP/1.1 ").slice(1);
  return answers.map((answer) => /\r\nlocation: (\S+)/i.exec(answer)?.[1] ?? answer.slice(0, 3));
}

test("concurrent first visits to several links are each redirected to the right URL", async () => {
  await addLinks(["a", "b", "c"]);
  const body = { url: `http://default.localhost:${host.port}/c?color=red` };
  const { body: short } = await host.world.call("POST", "/short_links", { body });
  await host.visit("/");
  const shortPath = `/${short.shortened_path}`;
  expect(await visitAtOnce(["/a", "/a/", "/b", "/b/", "/none", "/none/", "/a", shortPath])).toEqual(
    [
      ...["a", "a", "b", "b"].map((path) => url + path),
      "404",
      "404",
      `${url}a`,
      `${url}c?color=red`,
    ],
  );
});

test("a link that could not be read is read again on the next visit", async () => {
  await addLinks(["a", "b"]);
  failing = /links/;
  expect(await visitAtOnce(["/a", "/b"])).toEqual(["503", "503"]);
  failing = undefined;
  expect(await visitAtOnce(["/a", "/b"])).toEqual([`${url}a`, `${url}b`]);
});

test("the next visit succeeds after a failed read of the link's app", async () => {
  const ios_app = { bundle_id: "com.shop", team_id: "TEAM000001" };
  await addLinks(["page"], { url: null, ios_app });
  failing = /ios_apps/;
  expect(await visitAtOnce(["/page"])).toEqual(["503"]);
  failing = undefined;
  expect(await visitAtOnce(["/page"])).toEqual(["200"]);
});
