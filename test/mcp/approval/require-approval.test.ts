import { describe, expect, test } from "vitest";
import { createAssistantWorld, eras, type AssistantWorld } from "../../support/assistant-world.ts";
import type { Elicit } from "../../support/mcp-clients.ts";

/** Tests the three modes with clients of each protocol era, and how long approvals last. */

const yes = () => ({ action: "accept", content: { approve: true } }) as const;

async function withLink(options: Parameters<typeof createAssistantWorld>[0] = {}) {
  const assistant = await createAssistantWorld(options);
  const { id } = await assistant.plant("link", { path: "spring", name: "Spring" });
  return { assistant, id };
}

async function hasLink({ world }: AssistantWorld, path: string): Promise<boolean> {
  const links = world.store.db.selectFrom("links").select("id").where("path", "=", path);
  return (await links.executeTakeFirst()) !== undefined;
}

describe.each(eras)("a %s client", (era) => {
  test("gets the approval request as a form if it supports forms", async () => {
    const asked: string[] = [];
    const elicit: Elicit = (message) => {
      asked.push(message);
      return yes();
    };
    const { assistant, id } = await withLink({ era, elicit });
    await using _ = assistant;

    const result = await assistant.callTool("delete_link", { id: "spring" });

    expect(result.structured).toMatchObject({ deleted: { id, name: "Spring", path: "spring" } });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain('Delete the link "Spring"');
    expect(asked[0]).toContain("http://default.localhost:8787/spring");
    expect(await hasLink(assistant, "spring")).toBe(false);
  });

  test("gets a page URL if it supports no forms, and can call again after approval", async () => {
    const { assistant, id } = await withLink({ era });
    await using _ = assistant;
    const call = () => assistant.callTool("delete_link", { id: "spring" });

    const first = await call();
    expect(first.structured.error).toMatchObject({
      code: "approval_required",
      effect: "none",
      retry: "later",
      approval: {
        preview: expect.stringContaining('Delete the link "Spring"'),
        url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8787\/approve\/[\w-]{27}$/),
        expires_at: "2026-01-15T12:05:00.000Z",
      },
      next: expect.stringContaining("call delete_link again with the same arguments"),
    });
    const { url } = first.structured.error.approval;
    expect((await call()).structured.error.approval.url).toBe(url);
    expect(assistant.writes).toEqual([]);

    await assistant.press(url, "approve");

    expect((await call()).structured.deleted.id).toBe(id);
    expect((await call()).structured.error.code).toBe("not_found");
    expect(assistant.writes).toEqual([`DELETE /api/v1/links/${id}`]);
  });

  test("is not asked for approval in full mode", async () => {
    let questions = 0;
    const elicit: Elicit = () => {
      questions += 1;
      return yes();
    };
    const { assistant, id } = await withLink({ era, mode: "full", elicit });
    await using _ = assistant;

    expect((await assistant.call("delete_link", { id })).deleted.id).toBe(id);
    expect(assistant.writes).toEqual([`DELETE /api/v1/links/${id}`]);
    expect(questions).toBe(0);
  });
});

test("an approval for one server is not valid for another server", async () => {
  const remote = { isRemote: true, origin: "https://one.example" };
  const { assistant: one, id } = await withLink(remote);
  await using _ = one;
  const given = { ...remote, beside: one.world, origin: "https://other.example" };
  await using other = await createAssistantWorld(given);
  const ask = async ({ callTool }: AssistantWorld) =>
    (await callTool("delete_link", { id })).structured;
  const { url } = (await ask(one)).error.approval;
  await one.press(url, "approve");

  const asked = (await ask(other)).error;
  expect(asked.code).toBe("approval_required");
  expect(asked.approval.url).not.toBe(url);
  // Ignore the probes, which write to a link that does not exist.
  expect(other.writes.filter((write) => write.endsWith(id))).toEqual([]);
  expect((await ask(one)).deleted.id).toBe(id);
});

describe("an approval page", () => {
  test("is shared by identical calls of all clients with the same key", async () => {
    await using assistant = await createAssistantWorld();
    const { id } = await assistant.plant("ios_app", {
      bundle_id: "com.example.app",
      team_id: "ABCDE12345",
    });
    const other = await assistant.connect({ era: "v1" });

    const first = await assistant.callTool("update_ios_app", { id, team_id: "NEWTEAM123" });
    const second = await other.callTool("update_ios_app", { team_id: "NEWTEAM123", id });

    expect(second.structured.error.approval).toEqual(first.structured.error.approval);
  });

  test("expires after five minutes, even if it was approved", async () => {
    const { assistant } = await withLink();
    await using _ = assistant;
    const call = () => assistant.callTool("delete_link", { id: "spring" });
    const { url } = (await call()).structured.error.approval;
    await assistant.press(url, "approve");

    assistant.advance(5 * 60_000);

    const late = (await call()).structured.error;
    expect(late.code).toBe("approval_required");
    expect(late.approval.url).not.toBe(url);
    expect(assistant.writes).toEqual([]);
  });

  test("can be answered in another process and then approves a call there", async () => {
    const { assistant, id } = await withLink();
    await using _ = assistant;
    const first = await assistant.callTool("delete_link", { id });
    await using later = await createAssistantWorld({ beside: assistant.world });

    await later.press(first.structured.error.approval.url, "approve");

    expect((await later.callTool("delete_link", { id })).structured.deleted.id).toBe(id);
    expect((await assistant.call("delete_link", { id })).error.code).toBe("not_found");
  });
});

test("a rejected write uses up its approval", async () => {
  await using assistant = await createAssistantWorld();
  const { id } = await assistant.plant("ios_app", { bundle_id: "com.a", team_id: "ABCDE12345" });
  const call = () => assistant.callTool("update_ios_app", { id, bundle_id: "com.b" });
  const { url } = (await call()).structured.error.approval;
  await assistant.press(url, "approve");

  // Another client uses the bundle ID between the approval and the write.
  assistant.interrupt("approved", async () => {
    await assistant.plant("ios_app", { bundle_id: "com.b", team_id: "ABCDE12345" });
  });
  expect((await call()).structured.error.code).toBe("validation_failed");
  const { body } = await assistant.world.call("GET", "/ios_apps");
  const taken = body.ios_apps.find((app: { bundle_id: string }) => app.bundle_id === "com.b");
  await assistant.world.call("DELETE", `/ios_apps/${taken.id}`);
  expect((await call()).structured.error.code).toBe("approval_required");
});
