import { describe, expect, test } from "vitest";
import type { WriteCondition } from "../../../src/contract/condition.ts";
import { links } from "../../../src/contract/links.ts";
import { limitDestinations } from "../../../src/mcp/access/limit-destinations.ts";
import { changeProject } from "../../../src/service/write-project.ts";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";

/** The operator can restrict the hosts that links may open (WAYPOST_DESTINATIONS). */

const destinations = ["shop.example", "*.shop.example"];
const allowedUrl = "https://shop.example/spring";
const forbiddenUrl = "https://evil.example/spring";
const rejection =
  "must point to one of the allowed hosts (shop.example, *.shop.example), not to evil.example";

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full", destinations }),
  (opened) => (assistant = opened),
);

type Args = Record<string, unknown>;

async function call(tool: string, args: Args, on: Pick<AssistantWorld, "callTool"> = assistant) {
  return (await on.callTool(tool, args)).structured;
}

async function fail(tool: string, args: Args, on: AssistantWorld = assistant) {
  const before = on.writes.length;
  const { error } = await call(tool, args, on);
  expect(error).toMatchObject({ code: "validation_failed", effect: "none", retry: "never" });
  expect(error.next).toContain("WAYPOST_DESTINATIONS");
  expect(on.writes.slice(before)).toEqual([]);
  return error.problems;
}

const plan = async (args: Args, on?: AssistantWorld) => (await call("plan_links", args, on)).plan;

const openUnrestricted = () => createAssistantWorld({ mode: "full", beside: assistant.world });

const openGuarded = () => createAssistantWorld({ destinations, beside: assistant.world });

const page = (inside: string) => `<p>${inside}</p>{% store_buttons %}`;

const wrongUrl = [{ field: "url", message: `Url ${rejection}` }];

describe("a link on a server with WAYPOST_DESTINATIONS", () => {
  test.each(["create_link", "upsert_link", "shorten_link"])(
    "written by %s can redirect only to allowed hosts",
    async (tool) => {
      expect(await fail(tool, argsOf(tool, forbiddenUrl))).toEqual(wrongUrl);
      expect((await call(tool, argsOf(tool, allowedUrl))).link.url).toBe(allowedUrl);
    },
  );

  test("is rejected if any of its URLs has a forbidden host", async () => {
    const fields = {
      social_image_url: forbiddenUrl,
      ios_fallback_url: forbiddenUrl,
      android_fallback_url: forbiddenUrl,
    };
    expect(await fail("create_link", fields)).toEqual([
      { field: "social_image_url", message: `Social image url ${rejection}` },
      { field: "ios_fallback_url", message: `Ios fallback url ${rejection}` },
      { field: "android_fallback_url", message: `Android fallback url ${rejection}` },
    ]);
  });

  test("that redirects to a forbidden host can still be renamed", async () => {
    const { id } = await assistant.plant("link", { path: "old", url: forbiddenUrl });
    expect((await call("update_link", { id, name: "One" })).link.name).toBe("One");
    expect(
      (await call("update_link", { id: "old", url: forbiddenUrl, name: "Two" })).link.name,
    ).toBe("Two");
    const whole = { path: "/old", url: forbiddenUrl, name: "Three" };
    expect((await call("upsert_link", whole)).link).toMatchObject({ id, name: "Three" });
    expect(await fail("update_link", { id, url: `${forbiddenUrl}/other` })).toEqual(wrongUrl);
    expect(await fail("update_link", { id: "old", url: `${forbiddenUrl}/other` })).toEqual(
      wrongUrl,
    );
    expect(await fail("upsert_link", { ...whole, url: `${forbiddenUrl}/other` })).toEqual(wrongUrl);
  });

  test("can be pointed only at allowed hosts even if the key cannot read the link", async () => {
    const { id } = await assistant.plant("link", { path: "old", url: forbiddenUrl });
    const key = await assistant.world.addKey({ scopes: ["links.update"] });
    const client = await assistant.connect({ key });
    expect((await client.callTool("update_link", { id, name: "One" })).isError).not.toBe(true);
    const { error } = await call("update_link", { id, url: forbiddenUrl }, client);
    expect(error).toMatchObject({ code: "validation_failed", problems: wrongUrl });
  });

  test("can be shortened even if its destination has a forbidden host", async () => {
    await assistant.plant("link", { path: "own", url: forbiddenUrl });
    const url = "http://default.localhost:8787/own";
    expect((await call("shorten_link", { url })).link.path).toBe("own");
    expect(
      await fail("shorten_link", { url: "http://default.localhost:8787@evil.example/own" }),
    ).toEqual([
      {
        field: "url",
        message: rejection.replace("must", "Url must").replace(", not to evil.example", ""),
      },
    ]);
  });

  test.each([
    "https://shop.example@evil.example/",
    "https://evil.example\\\\@shop.example/",
    "//shop.example/",
    "https://shop.example%00.evil.example/",
    "javascript://shop.example/%0aalert(1)",
    "https://shop.example.evil.example/",
    "https://\u0455hop.example/",
    " https://shop.example/",
  ])("is rejected if its URL only appears to have an allowed host: %j", async (url) => {
    expect(await fail("create_link", { url })).toHaveLength(1);
  });
});

function argsOf(tool: string, url: string): Args {
  return tool === "shorten_link" ? { url } : { path: "a", url };
}

describe("a plan on a server with WAYPOST_DESTINATIONS", () => {
  const goodAndEvil = [
    { path: "a", url: allowedUrl },
    { path: "b", url: forbiddenUrl },
  ];

  test.each([
    ["rows", { rows: goodAndEvil }],
    ["csv", { csv: `path,url\na,${allowedUrl}\nb,${forbiddenUrl}\n` }],
  ])("made from %s reports the row with a forbidden host", async (_, source) => {
    const made = await plan({ operation: "upsert", ...source });
    expect(made.problems).toMatchObject([{ message: expect.stringContaining(`Url ${rejection}`) }]);
    const { error } = await call("apply_plan", { plan_id: made.id });
    expect(error.code).toBe("invalid_arguments");
    expect(assistant.writes).toEqual([]);
  });

  test("with filters is rejected if its changes contain a forbidden host", async () => {
    await assistant.plant("link", { path: "a", url: allowedUrl });
    const filters = [{ field: "path", condition: "eq", value: "a" }];
    const { error } = await call("plan_links", {
      operation: "update",
      filters,
      changes: { url: forbiddenUrl },
    });
    expect(error).toMatchObject({
      code: "validation_failed",
      problems: [{ field: "changes.url", message: `Url ${rejection}` }],
    });
  });

  test("can keep the forbidden host of an existing link", async () => {
    await assistant.plant("link", { path: "old", url: forbiddenUrl });
    const rows = [{ path: "old", url: forbiddenUrl, name: "Renamed" }];
    const made = await plan({ operation: "upsert", rows });
    expect(made).toMatchObject({ counts: { update: 1, invalid: 0 } });
    const { job } = await call("apply_plan", { plan_id: made.id });
    expect(job.counts).toMatchObject({ done: 1, rejected: 0 });
  });

  test("with a forbidden host is rejected even if the plan is older than the setting", async () => {
    await using earlier = await openUnrestricted();
    const { id } = await plan({ operation: "upsert", rows: goodAndEvil }, earlier);
    const problems = await fail("apply_plan", { plan_id: id });
    expect(problems).toEqual([{ field: "url", message: `Row 2: Url ${rejection}` }]);
  });

  test("to undo a job reports a conflict if a row would restore a forbidden host", async () => {
    const { id } = await assistant.plant("link", { path: "old", url: forbiddenUrl });
    const ids = [];
    for (const [operation, row] of [
      ["update", { id, url: allowedUrl }],
      ["upsert", { path: "new", url: allowedUrl }],
    ] as const) {
      const made = await plan({ operation, rows: [row] });
      ids.push((await call("apply_plan", { plan_id: made.id })).job.id);
    }
    expect(await plan({ undo: ids[0] })).toMatchObject({ counts: { conflict: 1, update: 0 } });
    expect(await plan({ undo: ids[1] })).toMatchObject({ counts: { conflict: 0, delete: 1 } });
  });
});

describe("undo on a server with WAYPOST_DESTINATIONS", () => {
  test("does not restore a link or a URL with a forbidden host", async () => {
    const { id } = await assistant.plant("link", { path: "old", url: forbiddenUrl });
    const deletion = (await call("delete_link", { id })).change;
    expect(await fail("undo", {})).toEqual(wrongUrl);
    // The REST API restores the link unchanged.
    const restored = await assistant.world.call("POST", `/links/${id}/restore`);
    expect([restored.status, restored.body.url]).toEqual([200, forbiddenUrl]);
    await call("undo", { change_id: deletion.id });
    await call("update_link", { id, url: allowedUrl });
    expect(await fail("undo", {})).toEqual(wrongUrl);
    await call("update_link", { id, name: "Good" });
    await call("delete_link", { id });
    await call("undo", {});
    expect((await call("get_link", { id })).link).toMatchObject({
      id,
      url: allowedUrl,
      name: "Good",
    });
  });

  test("rejects a forbidden host without asking for approval", async () => {
    await using guarded = await openGuarded();
    const { id } = await assistant.plant("link", { path: "old", url: forbiddenUrl });
    const { change } = await call("update_link", { id, url: allowedUrl });
    expect(await fail("undo", { change_id: change.id }, guarded)).toEqual(wrongUrl);
  });
});

describe("a page template on a server with WAYPOST_DESTINATIONS", () => {
  const picture = page(`<img src="https://evil.example/a.png" alt="">`);
  const wrong = [{ field: "body", line: 1, column: 9, message: `This address ${rejection}.` }];

  test.each(["save_template", "publish_template"])(
    "written by %s can contain only allowed hosts",
    async (tool) => {
      expect(await fail(tool, { body: picture, css: "" })).toEqual(wrong);
      const { error } = await call(tool, { body: page("<b>x</b>"), css: "" });
      expect(error).toBe(undefined);
    },
  );

  test("whose draft already contains a forbidden host can be saved but not published", async () => {
    await assistant.world.call("PATCH", "/page_template", { body: { body: picture } });
    expect((await call("save_template", { css: "p{color:red}" })).error).toBe(undefined);
    const { error } = await call("publish_template", {});
    expect(error).toMatchObject({ code: "validation_failed", problems: wrong });
  });

  test("can be published with a forbidden host that the live version contains", async () => {
    const body = { body: picture, css: "" };
    await assistant.world.call("POST", "/page_template/publish", { body });
    const again = { body: picture, css: "p{color:red}" };
    expect((await call("publish_template", again)).error).toBe(undefined);
  });
});

test("publish_template rejects a forbidden host without asking for approval", async () => {
  await using guarded = await openGuarded();
  const body = '<a href="https://evil.example">x</a>{% store_buttons %}';
  expect(await fail("publish_template", { body, css: "" }, guarded)).toHaveLength(1);
});

test("a URL must be allowed by the project's list of hosts and the operator's list", async () => {
  const { store, project } = assistant.world;
  const limited = { destinations: "shop.example,evil.example" };
  await store.write((db) => changeProject(db, assistant.world, project, {}, limited));
  assistant.advance(1000);
  assistant.world.advance(1000);
  expect(await fail("create_link", { url: forbiddenUrl })).toEqual(wrongUrl);
  const only = "Url must point to one of the allowed hosts (shop.example, evil.example)";
  expect(await fail("create_link", { url: "https://a.shop.example" })).toEqual([
    { field: "url", message: `${only}, not to a.shop.example` },
  ]);
  expect((await call("create_link", { url: allowedUrl })).link.url).toBe(allowedUrl);
});

test("a link can be written with a forbidden host only if the link already has it", async () => {
  const written = { id: "1", path: "other", url: forbiddenUrl };
  const known = { facts: undefined, linkHost: undefined, hasSecondHost: false };
  const limits = limitDestinations(destinations, () => known);
  const write = (condition: WriteCondition) => () =>
    limits.requireAllowed(links.upsert, { path: "other", url: forbiddenUrl }, condition);
  expect(write("absent")).toThrow(rejection);
  expect(write({ shown: { ...written, url: allowedUrl } })).toThrow(rejection);
  expect(write({ shown: written })).not.toThrow();
});
