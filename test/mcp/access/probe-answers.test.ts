import { expect, describe, test } from "vitest";
import {
  explainAccess,
  override,
  answering,
  openStage,
  type Handler,
} from "../../support/stage.ts";
import { openForEach } from "../../support/open-for.ts";
import { createWorld, type World } from "../../support/world.ts";

/** Tests what each answer to a probe shows about the key. */

let world: World;

openForEach(createWorld, (opened) => (world = opened));

const signIn: Handler = async () => new Response("<h1>Sign in</h1>", { status: 200 });

const viewerTools = [
  "audit_links",
  "check_domain",
  "explain_access",
  "explain_link",
  "export_links",
  "get_android_app",
  "get_ios_app",
  "get_link",
  "link_stats",
  "list_android_apps",
  "list_ios_apps",
  "list_links",
  "resolve_short_link",
];

describe("a rejected probe", () => {
  test("of a viewer's key hides every tool that viewers may not use", async () => {
    const key = await world.addKey({ role: "viewer" });
    await using stage = await openStage({ send: world.fetch, key });
    const names = await stage.listNames();
    expect(names.toSorted()).toEqual(viewerTools);
  });

  test("of an app endpoint does not hide the tools that write links", async () => {
    const error = "Only managers can change apps.";
    const isApps = /(POST|PATCH|DELETE) .*_apps/;
    await using stage = await openStage({
      send: override(world, isApps, answering(401, { error })),
      key: await world.addKey({ project: await world.addProject({ plan: "free" }) }),
    });
    const names = await stage.listNames();
    expect(names.filter((name) => /(register|update|delete)_\w+_app/.test(name))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(["create_link", "update_link", "delete_link"]));
  });

  test("hides every tool that needs the Pro plan if the project has the Free plan", async () => {
    const key = await world.addKey({ project: await world.addProject({ plan: "free" }) });
    await using stage = await openStage({ send: world.fetch, key });
    const names = await stage.listNames();
    expect(names.filter((name) => /template|shorten/.test(name))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(["register_ios_app", "create_link"]));
  });

  test("hides only the probed tool if the probes for similar tools succeed", async () => {
    const error = "Only managers may change apps.";
    const send = override(world, /PATCH .*\/ios_apps/, answering(401, { error }));
    await using stage = await openStage({ send, key: world.key });
    const { granted, denied } = await explainAccess(stage);
    expect(denied).toContain("update_ios_app");
    expect(granted).toContain("update_android_app");
    expect(await stage.listNames()).toEqual(
      expect.arrayContaining(["delete_ios_app", "delete_android_app"]),
    );
  });
});

describe("a probe response", () => {
  const show = /GET .*\/links\/\w/;

  async function readState(answer: Handler, pattern = show, tool = "get_link") {
    await using stage = await openStage({ send: override(world, pattern, answer), key: world.key });
    const { tools } = await explainAccess(stage);
    return tools.find((reading: { tool: string }) => reading.tool === tool);
  }

  test.each([
    [401, "Insufficient scope", "denied"],
    [401, "Your role does not allow this", "denied"],
    [401, "Upgrade your plan", "denied"],
    [401, "No.", "unknown"],
    [404, "Link not found", "granted"],
    [422, "Id is invalid", "granted"],
    [400, "Bad request", "unknown"],
    [403, "The key lacks the scope links.show", "unknown"],
    [500, "Oops", "unknown"],
    [429, "Too many", "unknown"],
  ])(
    "with status %d and the error %j sets the tool's state to %s",
    async (status, error, state) => {
      expect(await readState(answering(status, { error }))).toMatchObject({ state });
    },
  );

  test.each([
    ["an HTML page", signIn],
    ["a redirect", async () => new Response(null, { status: 302, headers: { location: "/" } })],
  ])("leaves the tool's state unknown if it is %s", async (_, answer) => {
    expect(await readState(answer)).toMatchObject({ state: "unknown" });
  });

  test("with status 200 marks update_link as granted, whatever the body contains", async () => {
    const answers = [answering(200, {}), answering(200, { id: 7 }), async () => new Response("OK")];
    for (const answer of answers) {
      const read = await readState(answer, /PATCH .*\/links/, "update_link");
      expect(read).toMatchObject({ state: "granted" });
    }
  });

  test("with HTML from the projects endpoint is no proof of a master key", async () => {
    await using stage = await openStage({ send: signIn, key: world.key });
    expect((await explainAccess(stage)).kind).toBe("project");
    expect(await stage.listNames()).toHaveLength(42);
  });
});

describe("the tool list", () => {
  test.each([
    ["an HTML page", async () => new Response("<h1>No</h1>", { status: 404 })],
    ["a 500", answering(500, { error: "Oops" })],
    ["a 401 with an unknown message", answering(401, { error: "Not permitted to do so." })],
  ])(
    "still contains the tools for links and apps if the projects endpoint returns %s",
    async (_, answer) => {
      const send = override(world, /\/projects/, answer);
      await using stage = await openStage({ send, key: world.key });
      const { granted, kind } = await explainAccess(stage);
      expect(kind).toBe("project");
      expect(granted).toEqual(expect.arrayContaining(["list_links", "update_ios_app"]));
      const names = await stage.listNames();
      expect(names).toHaveLength(38);
      expect(names).not.toContain("list_projects");
    },
  );
});
