import { describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";
import { createStrangeWorld } from "../../support/remote.ts";

/** A person approves before a path moves that visitors may know. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

const tenMinutes_ms = 10 * 60_000;

type Args = Readonly<Record<string, unknown>>;

async function call(tool: string, args: Args) {
  return (await assistant.callTool(tool, args)).structured;
}

/** What a person would be shown; undefined where the call needed no approval. */
async function readPreview(tool: string, args: Args): Promise<string | undefined> {
  const { error } = await call(tool, args);
  if (error === undefined) return undefined;
  expect(error).toMatchObject({ code: "approval_required", effect: "none" });
  return error.approval.preview;
}

describe("a link", () => {
  test("a link with clicks moves to another path only with approval", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    expect(await readPreview("update_link", { id, path: "summer" })).toBeUndefined();
    await assistant.world.store.write((db) => db.updateTable("links").set({ clicks: 1 }).execute());
    expect(await readPreview("update_link", { id, path: "autumn" })).toContain(
      '"summer" → "autumn"',
    );
    expect(await readPreview("update_link", { id, path: "/summer" })).toBeUndefined();
  });

  test("a link older than ten minutes moves to another path only with approval", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    assistant.advance(tenMinutes_ms);
    expect(await readPreview("update_link", { id, path: "summer" })).toBeUndefined();
    assistant.advance(1);
    expect(await readPreview("update_link", { id, path: "autumn" })).toContain(
      '"summer" → "autumn"',
    );
    expect(await readPreview("update_link", { id, name: "Spring" })).toBeUndefined();
  });

  test("a moved link keeps its path until a person approves the undo", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    await call("update_link", { id, path: "summer" });
    assistant.advance(tenMinutes_ms + 1);
    expect(await readPreview("undo", {})).toContain('"summer" → "spring"');
  });

  test("a link that moved a moment ago gets its path back at once", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    await call("update_link", { id, path: "summer" });
    expect(await readPreview("undo", {})).toBeUndefined();
    expect((await call("get_link", { id })).link.path).toBe("spring");
  });

  test("a link moves only with approval if the key cannot read its age", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    const key = await assistant.world.addKey({ scopes: ["links.update", "links.show"] });
    const { callTool } = await assistant.connect({ key });
    const { error } = (await callTool("update_link", { id, path: "summer" })).structured;
    expect(error).toMatchObject({ code: "approval_required" });
  });
});

async function moveAt(clockAhead_ms: number | undefined, ignored = "none", filtered = 200) {
  await using strange = await createStrangeWorld(undefined, { mode: "guarded" });
  const { id } = await strange.plant("link", { path: "spring" });
  strange.proxy.setTurn((request) => {
    const url = new URL(request.path, strange.proxy.url);
    for (const name of url.searchParams.keys()) {
      if (name.startsWith(`q[${ignored}`)) url.searchParams.delete(name);
    }
    return { ...request, path: url.pathname + url.search };
  });
  strange.proxy.setAlter(({ path }, reply) => {
    const isRefused = filtered !== 200 && path.includes("created_at");
    if (isRefused) return { ...reply, status: filtered, body: '{"error": "Unknown filter"}' };
    // An empty Date shows no time; Node would add its own if it was left out.
    const date =
      clockAhead_ms === undefined
        ? ""
        : new Date(strange.clock.now() + clockAhead_ms).toUTCString();
    return { ...reply, headers: { ...reply.headers, date } };
  });
  return (await strange.callTool("update_link", { id, path: "summer" })).structured;
}

describe("a fresh link of a remote server", () => {
  test("a new link without clicks moves to another path at once", async () => {
    expect((await moveAt(0)).link.path).toBe("summer");
  });

  test("a link moves only with approval if the server's clock differs", async () => {
    expect((await moveAt(10_000)).error).toMatchObject({ code: "approval_required" });
  });

  test("a link moves only with approval if the server's clock is unknown", async () => {
    expect((await moveAt(undefined)).error).toMatchObject({ code: "approval_required" });
  });

  test.each([422, 500])(
    "a link moves only with approval if the server answers the filter by age with %i",
    async (status) => {
      expect((await moveAt(0, "none", status)).error).toMatchObject({ code: "approval_required" });
    },
  );

  test("a link moves only with approval if the server ignores the filter by age", async () => {
    expect((await moveAt(0, "created_at")).error).toMatchObject({ code: "approval_required" });
  });
});
