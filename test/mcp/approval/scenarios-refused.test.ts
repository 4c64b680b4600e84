import { describe, expect, test } from "vitest";
import {
  createAssistantWorld,
  eras,
  type AssistantOptions,
  type AssistantWorld,
} from "../../support/assistant-world.ts";
import { callDone, callRefused, type Args } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";

/** What no yes is asked for, because it is refused: each official client is told why. */

const good = "https://shop.example/spring";
const evil = "https://evil.example/login";
const iosApp = { bundle_id: "com.example.app", team_id: "ABCDE12345" };
const row = { path: "spring" };

describe.each(eras)("a %s client", (era) => {
  let assistant: AssistantWorld;

  openForEach(createAssistantWorld, async (opened) => {
    assistant = opened;
    await assistant.plant("link", row);
  });

  /** Another process on the same data, as its operator has set it up. */
  const openBeside = (given: AssistantOptions) =>
    createAssistantWorld({ era, beside: assistant.world, ...given });

  test("registers no app by way of a link without the right to register apps", async () => {
    const key = await assistant.world.addKey({
      scopes: ["links.create", "links.index", "links.show", "links.update", "ios_apps.index"],
    });
    const client = await assistant.connect({ era, key });
    const plan = { operation: "upsert", rows: [{ path: "a", ios_app: iosApp }] };
    const calls: readonly (readonly [string, Args])[] = [
      ["create_link", { path: "a", ios_app: iosApp }],
      ["upsert_link", { path: "a", ios_app: iosApp }],
      ["plan_links", plan],
    ];
    for (const [tool, args] of calls) {
      const error = await callRefused(client, tool, args);
      expect(error).toMatchObject({ code: "scope_missing", effect: "none" });
      expect(error.message).toContain("ios_apps.create");
    }
    expect(assistant.writes).toEqual([]);
  });

  test("does by no other tool what the operator's selection leaves out", async () => {
    await callDone(assistant, "create_link", { path: "made" });
    const deletion = { operation: "delete", rows: [row] };
    const { plan } = await callDone(assistant, "plan_links", deletion);
    await using limited = await openBeside({ selection: ["-delete_link", "-register_ios_app"] });
    const calls: readonly (readonly [string, Args])[] = [
      ["plan_links", deletion],
      ["apply_plan", { plan_id: plan.id }],
      ["undo", {}],
      ["create_link", { path: "a", ios_app: iosApp }],
    ];
    for (const [tool, args] of calls) {
      const { message } = await callRefused(limited, tool, args);
      expect(message, tool).toMatch(/WAYPOST_TOOLS excludes (delete_link|register_ios_app)/);
    }
    expect(limited.writes).toEqual([]);
  });

  test("leads nothing to a host that the operator does not allow", async () => {
    await using limited = await openBeside({ destinations: ["*.shop.example", "shop.example"] });
    const picture = `<img src="${evil}" alt="">{% store_buttons %}`;
    const calls: readonly (readonly [string, Args, string])[] = [
      ["create_link", { path: "a", url: evil }, "url"],
      ["update_link", { id: "spring", ios_fallback_url: evil }, "ios_fallback_url"],
      ["publish_template", { body: picture, css: "" }, "body"],
    ];
    for (const [tool, args, field] of calls) {
      const error = await callRefused(limited, tool, args);
      expect(error).toMatchObject({ code: "validation_failed", problems: [{ field }] });
      expect(error.message).toContain("evil.example");
    }
    const rows = [{ path: "b", url: evil }];
    const { plan } = await callDone(limited, "plan_links", { operation: "upsert", rows });
    expect(plan.counts).toMatchObject({ create: 0, invalid: 1 });
    expect(limited.writes).toEqual([]);
    await callDone(limited, "create_link", { path: "a", url: good });
  });

  test("plans no more than a process can hold, and is told when to come again", async () => {
    const client = await assistant.connect({ era });
    const rows = Array.from({ length: 10_001 }, (_, index) => ({ path: `p${index}` }));
    const many = await callRefused(client, "plan_links", { operation: "upsert", rows });
    expect(many.message).toBe("rows has more than 10,000 rows or 4 MB");
    const few = { operation: "upsert", rows: rows.slice(0, 50) };
    const answers = await Promise.all(
      Array.from({ length: 25 }, () => client.callTool("plan_links", few)),
    );
    const refused = answers.flatMap(({ structured }) => structured.error ?? []);
    const busy = { code: "overloaded", effect: "none", retry: "later", retry_after_s: 30 };
    expect(refused).toEqual([busy, busy, busy].map((each) => expect.objectContaining(each)));
  });

  test("is told of arguments that are nested without an end", async () => {
    const client = await assistant.connect({ era });
    let nested: unknown = "end";
    for (let level = 0; level < 1000; level += 1) nested = [nested];
    const rows = [{ path: "a", name: nested }];
    const error = await callRefused(client, "plan_links", { operation: "upsert", rows });
    expect(error).toMatchObject({ code: "invalid_arguments", effect: "none" });
  });

  test("resolves no short link of a project that is suspended", async () => {
    const { link } = await callDone(assistant, "shorten_link", { url: good });
    const url = `http://default.localhost:8787/${link.shortened_path}`;
    const { store, project } = assistant.world;
    const other = await assistant.world.addProject({ subdomain: "other" });
    const key = await assistant.world.addKey({ project: other });
    const client = await assistant.connect({ era, key });
    expect((await callDone(client, "resolve_short_link", { url })).link.url).toBe(good);
    await store.write((db) =>
      db.updateTable("projects").set({ suspended: 1 }).where("id", "=", project.id).execute(),
    );
    const error = await callRefused(client, "resolve_short_link", { url });
    expect(error).toMatchObject({ code: "not_found", status: 404 });
  });
});
