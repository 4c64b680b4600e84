import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectV1, connectV2, type Connecting } from "../support/mcp-clients.ts";
import { addLimitedTenant, createPerson, runAcceptance, runOnce } from "../support/mcp-flow.ts";
import { openGround, type Ground } from "../support/mcp-ground.ts";
import { connectAiSdk, connectThroughBridge, openInspector } from "../support/mcp-other-clients.ts";

/** Every client over HTTP, all at one server, each with a key of its own. */

let ground: Ground;
beforeAll(async () => {
  ground = await openGround();
});
afterAll(() => ground[Symbol.asyncDispose]());

type Http = Connecting & { readonly transport: "http" };

const clients = {
  "the 1.x client": connectV1,
  "the 2.x client, 2026-07-28 alone": (given: Http) => connectV2({ ...given, era: "modern" }),
  "the 2.x client that finds out": (given: Http) => connectV2({ ...given, era: "auto" }),
  "the 2.x client, earlier revisions": (given: Http) => connectV2({ ...given, era: "legacy" }),
  "the AI SDK's client": connectAiSdk,
  "the 1.x client behind mcp-remote": connectThroughBridge,
};
type Name = keyof typeof clients;
// The keys of an object that is written out above.
const names = Object.keys(clients) as Name[];

describe.concurrent("over HTTP", () => {
  test("whoever never finishes its headers is cut off, while the others are served", async () => {
    const socket = connect(Number(new URL(ground.serving.places.mcp).port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
    const dribble = setInterval(() => socket.write("X-More: 1\r\n"), 500);
    await once(socket.resume(), "close");
    clearInterval(dribble);
  });

  // A process for each call takes its time, so it goes first.
  test("the inspector does all that it is there for, approving on the page", async () => {
    const tenant = await addLimitedTenant(ground);
    const url = ground.serving.places.mcp;
    const client = openInspector({ transport: "http", url, token: tenant.key });
    await runOnce(client, tenant, createPerson({ hasForm: false }));
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
    const elicit = person.elicit && { elicit: person.elicit };
    const connect = clients[name];
    const url = ground.serving.places.mcp;
    await using client = await connect({ transport: "http", url, token: tenant.key, ...elicit });
    await runAcceptance(client, tenant, person);
    // Here the key is what opens the door.
    await tenant.revoke();
    await expect(client.callTool("list_links")).rejects.toThrow();
  }
});
