import { describe, expect, test } from "vitest";
import { readKnownKey } from "../../../src/app/process/assistant.ts";
import { messages } from "../../../src/contract/messages.ts";
import { openForAll } from "../../support/open-for.ts";
import { answering, openStage, ownerFacts, type Stage, type Staging } from "../../support/stage.ts";
import { createWorld, type World } from "../../support/world.ts";

/** explain_link predicts from the stored records what a link's visitors see, without a visit. */

const linkHost = "http://default.localhost:8787";
const known = { facts: ownerFacts, linkHost };
const findNothing = () => Promise.resolve(undefined);
const print = Array.from({ length: 32 }, () => "AB").join(":");

let world: World;

openForAll(createWorld, async (opened) => {
  world = opened;
  const ios_app = {
    bundle_id: "com.example.app",
    team_id: "ABCDE12345",
    app_store_id: "123",
    custom_scheme: "example",
  };
  await world.call("POST", "/ios_apps", { body: { ios_app } });
  const android_app = { package_name: "com.example.app", fingerprints: ["AA:BB"] };
  await world.call("POST", "/android_apps", { body: { android_app } });
  await world.call("POST", "/links", {
    body: {
      path: "spring",
      url: "https://a.example",
      ios_app: { bundle_id: "com.example.app" },
      android_app: { package_name: "com.example.app" },
    },
  });
});

const open = (given: Partial<Staging> = {}) =>
  openStage({ send: world.fetch, key: world.key, known, ...given });

async function explain(stage: Stage, args: Record<string, unknown>) {
  await stage.listTools();
  const { structured, isError, text } = await stage.callTool("explain_link", args);
  expect(isError, text).toBe(false);
  expect(Object.keys(structured)).toEqual(["visits", "problems", "in_app_browsers", "installs"]);
  return structured;
}

const ios = { bundle_id: "com.example.app" };

test("explain_link adds the query of the given URL to the destination", async () => {
  await using stage = await open();
  const { visits } = await explain(stage, { id: `${linkHost}/spring?id=1#top` });
  expect(visits.desktop.to).toBe("https://a.example?id=1");
  expect(visits.ios.without_app.to).not.toContain("id=1");
  const other = await explain(stage, { id: "spring" });
  expect(other.visits.desktop.to).toBe("https://a.example");
});

test("explain_link finds a link by its path and explains the link and its apps", async () => {
  await using stage = await open();
  const { visits, problems } = await explain(stage, { id: "spring" });
  expect(visits.ios.with_app.action).toBe("open_app");
  expect(visits.ios.without_app).toMatchObject({
    action: "preview_page",
    to: expect.stringContaining("apps.apple.com"),
  });
  expect(visits.android.with_app.why).toContain("cannot verify");
  expect(visits.desktop).toMatchObject({ action: "redirect", to: "https://a.example" });
  const fields = problems.map(({ field }: { field?: string }) => field);
  expect(fields).toContain("android_app.fingerprints");
  for (const { message, fix } of problems) {
    expect(message).toMatch(/^[A-Z].*\.?$/);
    if (fix !== undefined) expect(fix).toMatch(/\.$/);
  }
});

test("explain_link explains a draft without creating a link", async () => {
  await using stage = await open();
  const { visits, problems } = await explain(stage, {
    path: "summer",
    ios_app: { bundle_id: "com.other", team_id: "ABCDE12345" },
    android_app: { package_name: "com.other", fingerprints: [print] },
    campaign_token: "mail",
  });
  expect(visits.ios.with_app.action).toBe("open_app");
  expect(visits.desktop.action).toBe("default_page");
  const fields = problems.map(({ field }: { field?: string }) => field);
  expect(fields).toEqual(expect.arrayContaining(["campaign_token", "url"]));
  expect(stage.asked.every((line) => line.startsWith("GET "))).toBe(true);
  expect((await stage.callTool("get_link", { id: "summer" })).isError).toBe(true);
});

async function iosProblems(ios_app: object, given: Partial<Staging> = {}) {
  await using stage = await open(given);
  const { problems } = await explain(stage, { url: "https://a.example", ios_app });
  return problems.filter(({ field = "" }: { field?: string }) => field.startsWith("ios_app"));
}

describe("an app in a link draft passed to explain_link", () => {
  test("is explained with its registered settings", async () => {
    expect(await iosProblems(ios)).toEqual([]);
    expect(await iosProblems({ ...ios, id: "" })).toEqual([]);
    const [ignored] = await iosProblems({ ...ios, team_id: "OTHERTEAM1" });
    expect(ignored.message).toContain("already registered");
  });

  test("is reported as unreadable if its ID is invalid", async () => {
    const [problem] = await iosProblems({ id: "com.example.app" });
    expect(problem.message).toContain("could not be read");
  });

  test("is explained as unregistered if the key may not read apps", async () => {
    for (const error of [
      messages.scope_missing("ios_apps.index"),
      messages.role_required("viewer"),
    ]) {
      const send = answering(401, { error });
      const problems = await iosProblems(ios, { send });
      expect(problems.length).toBeGreaterThan(0);
    }
    const [missing] = await iosProblems({ bundle_id: "com.nowhere" });
    expect(missing.field).toBe("ios_app.team_id");
  });

  test.each([
    ["fails", () => Promise.reject<Response>(new Error("down")), "unreachable"],
    ["is busy", answering(503, { error: "busy" }), "overloaded"],
    ["returns an invalid response", answering(200, [1]), "bad_response"],
  ])("causes an error if the remote server %s", async (_, send, code) => {
    await using stage = await open({ send });
    const { structured } = await stage.callTool("explain_link", { ios_app: ios });
    expect(structured.error.code).toBe(code);
  });
});

describe("explain_link", () => {
  test("suggests passing an ID if a draft contains only an existing link's path", async () => {
    await using stage = await open();
    const { problems } = await explain(stage, { path: "spring" });
    const hint = { field: "path", message: "A link with this path exists: use its id." };
    expect(problems[0]).toEqual(hint);
    for (const draft of [{ path: "winter" }, { path: "spring", url: "https://a.example" }]) {
      expect((await explain(stage, draft)).problems).not.toContainEqual(hint);
    }
  });

  test.each([[{}], [{ id: "spring", name: "Spring" }]])(
    "rejects %j because it needs either an ID or the fields of a draft",
    async (args) => {
      await using stage = await open();
      const { structured } = await stage.callTool("explain_link", args);
      expect(structured.error).toMatchObject({
        code: "invalid_arguments",
        problems: [{ field: "id", message: expect.stringContaining("either id or the fields") }],
      });
      expect(stage.asked).toEqual([]);
    },
  );

  test("applies the project's settings if they are known", async () => {
    const fields = {
      url: "https://a.example",
      referrer: "mail",
      android_app: { package_name: "com.example.app" },
    };
    await using stage = await open();
    await using other = await open({ known: { ...known, linkInReferrer: true } });
    const [own, theirs] = [await explain(stage, fields), await explain(other, fields)];
    expect(JSON.stringify(theirs)).not.toBe(JSON.stringify(own));
  });

  test("reports a result as unknown if it depends on settings of a remote project", async () => {
    const remote = { base_url: "https://api.example", link_origin: undefined };
    const theirs = await readKnownKey(remote, { followKey: () => findNothing }, world.key);
    await using stage = await open({ known: theirs });
    const { installs } = await explain(stage, { id: "spring" });
    expect(installs.android.matched).toBe("not_known");
    await using own = await open({ known: { ...known, linkInReferrer: false } });
    expect((await explain(own, { id: "spring" })).installs.android.matched).toBe("never");
  });

  test("reports whether the link's page has a button that opens the app", async () => {
    const ios_app = { bundle_id: "com.example.new", team_id: "ABCDE12345" };
    await using stage = await open();
    await using other = await open({ known: { ...known, hasSecondHost: true } });
    const [own, theirs] = [await explain(stage, { ios_app }), await explain(other, { ios_app })];
    expect(JSON.stringify(own)).not.toContain("has an Open button");
    expect(JSON.stringify(theirs)).toContain("has an Open button");
  });

  test("reports a link that redirects to itself", async () => {
    await using stage = await open();
    const loop = { path: "loop", url: `${linkHost}/loop` };
    const { problems } = await explain(stage, loop);
    await using blind = await open({ known: { facts: ownerFacts } });
    expect(problems).not.toEqual((await explain(blind, loop)).problems);
  });
});

async function shows(scopes: readonly string[]): Promise<boolean> {
  const facts = { ...ownerFacts, scopes: scopes as typeof ownerFacts.scopes };
  await using stage = await open({ known: { facts } });
  return (await stage.listNames()).includes("explain_link");
}

test("explain_link is listed for keys that may show, create or update links", async () => {
  for (const scope of ["links.show", "links.create", "links.update"]) {
    expect(await shows([scope])).toBe(true);
  }
  expect(await shows(["links.destroy", "ios_apps.show"])).toBe(false);
});
