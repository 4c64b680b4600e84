import { expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { createStrangeWorld } from "../../support/remote.ts";

/**
 * Tests which overwrites count toward the limit without approval, and how long an approval lasts.
 */

test("overwrites whose outcome is unknown count toward the limit of twenty", async () => {
  await using strange = await createStrangeWorld(undefined, { mode: "guarded" });
  const { id } = await strange.plant("link", { path: "spring" });
  let isLost = false;
  strange.proxy.setAlter(({ method, path }, reply) => {
    isLost ||= method === "PATCH" && path.includes(id);
    return isLost ? undefined : reply;
  });
  const rename = async (name: string) => {
    // A client that failed often stops repeating calls, so use a new client for each call.
    const update = async () => {
      isLost = false;
      const { callTool } = await strange.connect();
      return (await callTool("update_link", { id, name })).structured.error;
    };
    let error = await update();
    // A connection closed by the previous failure may fail before anything is sent, so try again.
    for (let more = 10; more > 0 && error.code === "unreachable"; more -= 1) error = await update();
    return error;
  };
  for (let done = 0; done < 20; done += 1) {
    expect(await rename(`${done}`)).toMatchObject({ code: "outcome_unknown" });
  }
  expect(await rename("next")).toMatchObject({ code: "approval_required" });
});

/** Overwrites a link until an approval is needed, then approves. */
async function approveMore(assistant: AssistantWorld) {
  const { id } = await assistant.plant("link", { path: "spring" });
  const rename = async (name: string) =>
    (await assistant.callTool("update_link", { id, name })).structured;
  for (let done = 0; done < 20; done += 1) await rename(`${done}`);
  const { error } = await rename("next");
  await assistant.press(error.approval.url, "approve");
  return { id, rename };
}

test("an approval for more overwrites ends if the clock is set back", async () => {
  await using assistant = await createAssistantWorld();
  const { rename } = await approveMore(assistant);
  expect(await rename("next")).toHaveProperty("link");
  expect(await rename("covered")).toHaveProperty("link");
  assistant.setClock(-60 * 60_000);
  expect((await rename("later")).error).toMatchObject({ code: "approval_required" });
});

test("an approval for more overwrites covers 100 writes, without rejected writes", async () => {
  await using assistant = await createAssistantWorld();
  const { id, rename } = await approveMore(assistant);
  await rename("next");
  await assistant.callTool("update_link", { id, url: "not an address" });
  for (let done = 0; done < 100; done += 1) {
    expect(await rename(`covered ${done}`)).toHaveProperty("link");
  }
  expect((await rename("later")).error).toMatchObject({ code: "approval_required" });
});
