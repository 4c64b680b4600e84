import { describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";
import { createStrangeWorld } from "../../support/remote.ts";

/** Moving a path that visitors may already know needs approval. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

const tenMinutes_ms = 10 * 60_000;

type Args = Readonly<Record<string, unknown>>;

async function call(tool: string, args: Args) {
  return (await assistant.callTool(tool, args)).structured;
}

/** Returns the preview of the approval, or undefined if the call needed no approval. */
async function readPreview(tool: string, args: Args): Promise<string | undefined> {
  const { error } = await call(tool, args);
  if (error === undefined) return undefined;
  expect(error).toMatchObject({ code: "approval_required", effect: "none" });
  return error.approval.preview;
}

describe("update_link and undo", () => {
  test("need approval to move a link that has clicks", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    expect(await readPreview("update_link", { id, path: "summer" })).toBeUndefined();
    await assistant.world.store.write((db) => db.updateTable("links").set({ clicks: 1 }).execute());
    expect(await readPreview("update_link", { id, path: "autumn" })).toContain(
      '"summer" → "autumn"',
    );
    expect(await readPreview("update_link", { id, path: "/summer" })).toBeUndefined();
  });

  test("need approval to move a link that is older than ten minutes", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    assistant.advance(tenMinutes_ms);
    expect(await readPreview("update_link", { id, path: "summer" })).toBeUndefined();
    assistant.advance(1);
    expect(await readPreview("update_link", { id, path: "autumn" })).toContain(
      '"summer" → "autumn"',
    );
    expect(await readPreview("update_link", { id, name: "Spring" })).toBeUndefined();
  });

  test("need approval to undo a move after ten minutes", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    await call("update_link", { id, path: "summer" });
    assistant.advance(tenMinutes_ms + 1);
    expect(await readPreview("undo", {})).toContain('"summer" → "spring"');
  });

  test("restore the path of a recently moved link without approval", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    await call("update_link", { id, path: "summer" });
    expect(await readPreview("undo", {})).toBeUndefined();
    expect((await call("get_link", { id })).link.path).toBe("spring");
  });

  test("need approval if the key cannot read the link's age", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    const key = await assistant.world.addKey({ scopes: ["links.update", "links.show"] });
    const { callTool } = await assistant.connect({ key });
    const { error } = (await callTool("update_link", { id, path: "summer" })).structured;
    expect(error).toMatchObject({ code: "approval_required" });
  });
});

test("moving a link of a remote server needs approval because its age is unknown", async () => {
  await using strange = await createStrangeWorld(undefined, { mode: "guarded" });
  const { id } = await strange.plant("link", { path: "spring" });
  const { error } = (await strange.callTool("update_link", { id, path: "summer" })).structured;
  expect(error).toMatchObject({ code: "approval_required" });
});
