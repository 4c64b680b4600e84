import { beforeEach, describe, expect, test } from "vitest";
import { describeTemplateState, pickLasting } from "../../src/contract/condition.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import { hashValue } from "../../src/text/digest.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests conditional writes with If-Match and If-None-Match. */

let world: World;

openForEach(createWorld, (opened) => (world = opened));

const changed = { error: "The record changed after it was read. Read it again." };

function tag(record: JsonObject): Readonly<Record<string, string>> {
  return { "if-match": `"${hashValue(pickLasting(record))}"` };
}

type RecordKind = {
  readonly path: string;
  readonly body: JsonObject;
  readonly edit: JsonObject;
  readonly isMaster?: true;
};

const subjects: readonly (readonly [string, RecordKind])[] = [
  ["link", { path: "/links", body: { path: "a" }, edit: { name: "b" } }],
  [
    "iOS app",
    {
      path: "/ios_apps",
      body: { ios_app: { bundle_id: "com.a", team_id: "ABCDE12345" } },
      edit: { ios_app: { name: "b" } },
    },
  ],
  [
    "Android app",
    {
      path: "/android_apps",
      body: { android_app: { package_name: "com.a", fingerprints: ["AA:BB"] } },
      edit: { android_app: { name: "b" } },
    },
  ],
  [
    "project",
    {
      path: "/projects",
      body: { project: { name: "a", subdomain: "other" } },
      edit: { project: { name: "b" } },
      isMaster: true,
    },
  ],
];

describe.each(subjects)("the If-Match header (%s)", (_, { path, body, edit, isMaster }) => {
  let key: string;
  let shown: JsonObject;
  let address: string;

  beforeEach(async () => {
    key = isMaster === true ? world.master : world.key;
    shown = (await world.call("POST", path, { key, body })).body;
    address = `${path}/${String(shown["id"])}`;
  });

  test.each(["PATCH", "DELETE"])(
    "makes %s return 412 if the record has changed",
    async (method) => {
      await world.call("PATCH", address, { key, body: edit });
      const now = (await world.call("GET", address, { key })).body;
      const given = method === "PATCH" ? { key, body: edit } : { key };
      const reply = await world.call(method, address, { ...given, headers: tag(shown) });
      expect([reply.status, reply.body]).toEqual([412, changed]);
      expect((await world.call("GET", address, { key })).body).toEqual(now);
    },
  );

  test.each(["PATCH", "DELETE"])(
    "lets %s succeed if the record has not changed",
    async (method) => {
      const given = method === "PATCH" ? { key, body: edit } : { key };
      const reply = await world.call(method, address, { ...given, headers: tag(shown) });
      expect(reply.status).toBe(method === "PATCH" ? 200 : 204);
    },
  );

  test("does not prevent the 404 for a deleted record", async () => {
    await world.call("DELETE", address, { key });
    const reply = await world.call("DELETE", address, { key, headers: tag(shown) });
    expect(reply.status).toBe(404);
  });
});

test("new visits do not change the ETag of a link", async () => {
  const { body: link } = await world.call("POST", "/links", { body: { path: "a" } });
  const headers = tag({ ...link, clicks: 7 });
  const reply = await world.call("PATCH", `/links/${link.id}`, { body: { name: "b" }, headers });
  expect(reply.status).toBe(200);
});

const upsert = (fields: JsonObject, headers: Readonly<Record<string, string>>) =>
  world.call("POST", "/links/upsert", { body: fields, headers });

describe("an upsert", () => {
  test("with If-None-Match: * returns 412 if the path already exists", async () => {
    const none = { "if-none-match": "*" };
    expect((await upsert({ path: "a", name: "one" }, none)).status).toBe(201);
    const again = await upsert({ path: "a", name: "two" }, none);
    const error =
      "The link already exists, so nothing was created. Read it, or omit If-None-Match.";
    expect([again.status, again.body]).toEqual([412, { error }]);
    const { body } = await world.call("GET", "/links");
    expect(body.links).toMatchObject([{ path: "a", name: "one" }]);
  });

  test("returns 412 if the ETag in If-Match is outdated or belongs to another link", async () => {
    const { body: shown } = await upsert({ path: "a", name: "one" }, {});
    expect((await upsert({ path: "b" }, tag(shown))).status).toBe(412);
    await upsert({ path: "a", name: "two" }, {});
    expect((await upsert({ path: "a", name: "three" }, tag(shown))).status).toBe(412);
    const { body } = await world.call("GET", "/links");
    expect(body.links).toMatchObject([{ path: "a", name: "two" }]);
  });

  test("with If-Match: * changes an existing link but never creates one", async () => {
    const any = { "if-match": "*" };
    expect((await upsert({ path: "a", name: "one" }, any)).status).toBe(412);
    expect((await world.call("GET", "/links")).body.links).toEqual([]);
    await upsert({ path: "a", name: "two" }, {});
    expect((await upsert({ path: "a", name: "three" }, any)).status).toBe(200);
  });
});

const text = (name: string) => ({ body: `<p>${name}</p>{% store_buttons %}`, css: "" });

const save = (name: string) => world.call("PATCH", "/page_template", { body: text(name) });
const shownAs = (draft: string | undefined, live: string | null) =>
  tag(describeTemplateState(draft === undefined ? undefined : text(draft), live));
const publish = (headers: Readonly<Record<string, string>>) =>
  world.call("POST", "/page_template/publish", { body: text("shown"), headers });

describe("the page template", () => {
  test("can be saved with If-None-Match: * only if no template exists", async () => {
    const given = { body: text("one"), headers: { "if-none-match": "*" } };
    expect((await world.call("PATCH", "/page_template", given)).status).toBe(201);
    expect((await world.call("PATCH", "/page_template", given)).status).toBe(412);
  });

  test("can be published with the draft's ETag only if the draft has not changed", async () => {
    await save("one");
    await save("two");
    expect((await publish(shownAs("one", null))).status).toBe(412);
    expect((await publish(shownAs("two", null))).status).toBe(200);
  });

  test("can be published with the live version's ETag until another version is live", async () => {
    const { body: first } = await publish({});
    await save("other");
    expect((await publish(shownAs(undefined, first.live_version.id))).status).toBe(200);
    expect((await publish(shownAs(undefined, first.live_version.id))).status).toBe(412);
  });

  test("cannot be unpublished or restored with an outdated ETag", async () => {
    const { body: first } = await publish({});
    const { id } = first.live_version;
    await save("other");
    const stale = { headers: shownAs("shown", id) };
    const restore = `/page_template/versions/${id}/restore`;
    expect((await world.call("POST", restore, stale)).status).toBe(412);
    expect((await world.call("POST", "/page_template/unpublish", stale)).status).toBe(412);
    const current = { headers: shownAs("other", id) };
    expect((await world.call("POST", restore, current)).status).toBe(200);
    expect((await world.call("POST", "/page_template/unpublish", stale)).status).toBe(200);
  });
});
