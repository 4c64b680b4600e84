import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectV1, connectV2, type Connecting } from "../support/mcp-clients.ts";
import {
  addLimitedTenant,
  createPerson,
  expectFailure,
  runAcceptance,
  runOnce,
} from "../support/mcp-flow.ts";
import { openGround, type Ground } from "../support/mcp-ground.ts";
import { connectAiSdk, openInspector } from "../support/mcp-other-clients.ts";

/** Every client over stdio: each a process of its own, all on one data folder. */

let ground: Ground;
beforeAll(async () => {
  ground = await openGround();
});
afterAll(() => ground[Symbol.asyncDispose]());

type Stdio = Connecting & { readonly transport: "stdio" };

const clients = {
  "the 1.x client": connectV1,
  "the 2.x client, 2026-07-28 alone": (given: Stdio) => connectV2({ ...given, era: "modern" }),
  "the 2.x client that finds out": (given: Stdio) => connectV2({ ...given, era: "auto" }),
  "the 2.x client, earlier revisions": (given: Stdio) => connectV2({ ...given, era: "legacy" }),
  "the AI SDK's client": connectAiSdk,
};
type Name = keyof typeof clients;
// The keys of an object that is written out above.
const names = Object.keys(clients) as Name[];

describe.concurrent("over stdio", () => {
  // A process for each call takes its time, so it goes first.
  test("the inspector does all that it is there for, approving on the page", async () => {
    const tenant = await addLimitedTenant(ground);
    const env = { WAYPOST_API_KEY: tenant.key };
    const client = openInspector({ transport: "stdio", data: ground.data, env });
    // Each call is a process that ends with it; whoever serves the same folder shows its pages.
    const pageOrigin = ground.serving.places.url;
    await runOnce(client, tenant, createPerson({ hasForm: false, pageOrigin }));
  });

  test.each(names)("%s does all that it is there for, approving in its form", async (name) => {
    await expectAcceptance(name, true);
  });

  test.each<Name>(["the 1.x client", "the 2.x client, 2026-07-28 alone"])(
    "%s without a form does the same, approving on the page",
    async (name) => {
      await expectAcceptance(name, false);
    },
  );

  async function expectAcceptance(name: Name, hasForm: boolean): Promise<void> {
    const tenant = await addLimitedTenant(ground);
    const person = createPerson({ hasForm });
    const env = { WAYPOST_API_KEY: tenant.key };
    const elicit = person.elicit && { elicit: person.elicit };
    const connect = clients[name];
    await using client = await connect({ transport: "stdio", data: ground.data, env, ...elicit });
    await runAcceptance(client, tenant, person);
    await tenant.revoke();
    await expectFailure(client, "list_links", {}, "key_invalid", { status: 401 });
    expect((await client.callTool("explain_access")).isError).toBe(false);
  }
});
