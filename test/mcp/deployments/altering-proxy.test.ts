import { expect, test } from "vitest";
import { replyWith, withBody, createStrangeWorld } from "../../support/remote.ts";
import { callDone, callRefused } from "../../support/mcp-clients.ts";

test("a deployment whose replies are left as they are is any deployment over HTTP", async () => {
  await using strange = await createStrangeWorld();
  const { link } = await callDone(strange, "create_link", { path: "spring" });
  expect((await callDone(strange, "get_link", { id: "spring" })).link).toEqual(link);
  expect(strange.listWrites()).toEqual(["POST /api/v1/links"]);
});

test("what a reply is altered to is what the assistant gets, or nothing at all", async () => {
  await using strange = await createStrangeWorld();
  const { link } = await callDone(strange, "create_link", { path: "spring" });
  strange.proxy.setAlter((_, reply) => withBody(reply, (body: object) => ({ ...body, name: "A" })));
  expect((await callDone(strange, "get_link", { id: link.id })).link.name).toBe("A");
  strange.proxy.setAlter(() => replyWith({ error: "Link not found" }, 404));
  expect((await callRefused(strange, "get_link", { id: link.id })).code).toBe("not_found");
  strange.proxy.setAlter(() => undefined);
  expect((await callRefused(strange, "get_link", { id: link.id })).code).toBe("unreachable");
});
