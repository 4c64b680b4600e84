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

test("a link of a remote server moves only with approval, because its age is unknown", async () => {
  await using strange = await createStrangeWorld(undefined, { mode: "guarded" });
  const { id } = await strange.plant("link", { path: "spring" });
  const { error } = (await strange.callTool("update_link", { id, path: "summer" })).structured;
  expect(error).toMatchObject({ code: "approval_required" });
});
