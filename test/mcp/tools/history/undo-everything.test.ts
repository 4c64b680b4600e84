import { describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { createChance } from "../../../support/chance.ts";

/** Undoes random writes one by one. Each undo must restore the state before its write. */

type Args = Record<string, unknown>;
type Json = Record<string, unknown>;

const fingerprint = "AB:CD";
const page = (text: string) => `<p>${text}</p>\n{% store_buttons %}\n`;

/** Returns a random tool call, or undefined if its kind of record does not exist yet. */
async function drawAct(
  draw: (most: number) => number,
  { world }: AssistantWorld,
): Promise<readonly [string, Args] | undefined> {
  const number = draw(1000);
  const pick = async (kind: string) => {
    const rows = (await world.call("GET", `/${kind}`)).body[kind];
    return rows.length === 0 ? undefined : rows[draw(rows.length)].id;
  };
  const ofOne = async (tool: string, kind: string, args: Args = {}) => {
    const id = await pick(kind);
    return id === undefined ? undefined : ([tool, { id, ...args }] as const);
  };
  const ios = { bundle_id: `com.example.n${number}`, team_id: "ABCDE12345" };
  const android = { package_name: `com.example.n${number}`, fingerprints: [fingerprint] };
  const link = {
    name: `Name ${number}`,
    url: `https://example.com/${number}`,
    ...(draw(2) === 0 && { referrer: "spring", enable_forced_redirect: true }),
    ...(draw(3) === 0 && { ios_app: ios }),
    ...(draw(4) === 0 && { android_app: android }),
  };
  const acts = [
    () => ["create_link", { ...link, path: `made-${number}` }] as const,
    () => ["upsert_link", { ...link, path: `upserted-${draw(3)}` }] as const,
    () => ofOne("update_link", "links", { ...link, path: `moved-${number}` }),
    () => ofOne("update_link", "links", { name: "", ios_app: null }),
    () => ofOne("delete_link", "links"),
    () => ["shorten_link", { url: `https://example.com/long/${number}` }] as const,
    () => ["register_ios_app", ios] as const,
    () => ofOne("update_ios_app", "ios_apps", { name: `App ${number}`, custom_scheme: "spring" }),
    () => ofOne("delete_ios_app", "ios_apps"),
    () => ["register_android_app", { ...android, name: "Android" }] as const,
    () => ofOne("update_android_app", "android_apps", { fingerprints: ["AB:CD", "12:34"] }),
    () => ofOne("delete_android_app", "android_apps"),
    () => ["save_template", { body: page(`draft ${number}`) }] as const,
    () =>
      ["publish_template", { body: page(`live ${number}`), css: ".a { color: red; }" }] as const,
    () => ["unpublish_template", {}] as const,
    async () => {
      const { body } = await world.call("GET", "/page_template/versions");
      const version = body.versions?.[0];
      return version && (["restore_template_version", { id: version.id }] as const);
    },
  ];
  return acts[draw(acts.length)]?.();
}

/** Reads every record, without times, clicks and template versions. */
async function readAll({ world }: AssistantWorld, knowsIds: boolean): Promise<Json> {
  const list = async (kind: string): Promise<readonly Json[]> =>
    (await world.call("GET", `/${kind}`, { query: "limit=100" })).body[kind];
  const [links, iosApps, androidApps] = [
    await list("links"),
    await list("ios_apps"),
    await list("android_apps"),
  ];
  const names = new Map<unknown, unknown>([
    ...iosApps.map((app) => [app["id"], app["bundle_id"]] as const),
    ...androidApps.map((app) => [app["id"], app["package_name"]] as const),
  ]);
  const strip = ({ id, created_at: _made, updated_at: _at, clicks: _clicks, ...row }: Json) => ({
    ...row,
    ...(knowsIds && { id }),
    // A remote server creates a new record instead of restoring a deleted record.
    ...(!knowsIds && { shortened_path: undefined }),
    ...("ios_app_id" in row && {
      ios_app_id: names.get(row["ios_app_id"]) ?? null,
      android_app_id: names.get(row["android_app_id"]) ?? null,
    }),
  });
  const sort = (rows: readonly Json[]) =>
    rows
      .map(strip)
      .toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  return {
    links: sort(links),
    iosApps: sort(iosApps),
    androidApps: sort(androidApps),
    template: await readTemplate(world),
  };
}

async function readTemplate(world: AssistantWorld["world"]): Promise<Json> {
  const versions = await world.call("GET", "/page_template/versions");
  // A draft cannot be deleted, so compare it as an empty draft.
  if (versions.status === 404) return { body: "", css: "", live: null };
  const { body } = await world.call("PATCH", "/page_template", { body: {} });
  const live = body.live_version;
  return { body: body.body, css: body.css, live: live && [live.body, live.css] };
}

const mostActs = 14;

describe.each([
  { server: "the embedded service", isRemote: false },
  { server: "a remote server", isRemote: true },
])("undo on $server", ({ isRemote }) => {
  test.each([1, 2, 3])("reverts random changes one by one (seed %i)", async (seed) => {
    await using assistant = await createAssistantWorld({ mode: "full", isRemote });
    const { between } = createChance(seed, "undo everything");
    const draw = (most: number) => between(0, most - 1);
    const before: { readonly all: Json; readonly act: string }[] = [];
    while (before.length < mostActs) {
      const act = await drawAct(draw, assistant);
      if (act === undefined) continue;
      const all = await readAll(assistant, !isRemote);
      const { isError, structured } = await assistant.callTool(...act);
      // Two calls may use the same random name. The second is then rejected.
      if (isError) {
        expect(structured.error.effect, JSON.stringify(structured)).toBe("none");
        continue;
      }
      expect(structured.change, act[0]).toMatchObject({ id: expect.any(String) });
      before.push({ all, act: JSON.stringify(act) });
      assistant.world.advance(1000);
    }
    for (const { all, act } of before.toReversed()) {
      // This test's own requests use the same rate limit, so wait.
      assistant.world.advance(10_000);
      assistant.advance(10_000);
      const { structured } = await assistant.callTool("undo");
      expect(structured.error, act).toBeUndefined();
      // A restored app is attached to its links again in the background.
      await assistant.world.store.finishTasks();
      expect(await readAll(assistant, !isRemote), act).toEqual(all);
    }
    expect((await assistant.call("undo")).error.code).toBe("not_found");
    expect(assistant.reported).toEqual([]);
  });
});
