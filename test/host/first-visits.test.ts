import { expect, test } from "vitest";
import { StoreBusy, type Store } from "../../src/store/store.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";

/** Visitors who open links for the first time at one moment, and reads of the store that fail. */

const url = "https://shop.example/";

let host: LinkHost;
/** Statements that fail. */
let failing: RegExp | undefined;

/** The same store, some of whose statements fail. */
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

/** Writes end what is cached: they come before, and a visit that finds the project. */
async function addLinks(paths: readonly string[], more: object = {}): Promise<void> {
  for (const path of paths) await host.add("link", { path, url: url + path, ...more });
  await host.visit("/");
}

/** All in one packet, and so in one turn: where each of them is led, or the status. */
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

test("visitors who come at once each find their own", async () => {
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

test("what could not be found out is asked again by the next visitor", async () => {
  await addLinks(["a", "b"]);
  failing = /links/;
  expect(await visitAtOnce(["/a", "/b"])).toEqual(["503", "503"]);
  failing = undefined;
  expect(await visitAtOnce(["/a", "/b"])).toEqual([`${url}a`, `${url}b`]);
});

test("one failed read of the app of a link does not fail the next visit", async () => {
  const ios_app = { bundle_id: "com.shop", team_id: "TEAM000001" };
  await addLinks(["page"], { url: null, ios_app });
  failing = /ios_apps/;
  expect(await visitAtOnce(["/page"])).toEqual(["503"]);
  failing = undefined;
  expect(await visitAtOnce(["/page"])).toEqual(["200"]);
});
