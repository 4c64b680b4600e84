import { describe, expect, test } from "vitest";
import { createUsedFolder, startServe } from "../../support/command.ts";
import { connectV1, connectV2, type Connected } from "../../support/mcp-clients.ts";
import { startDeployment } from "../../support/remote.ts";
import { openGround, type Ground } from "../../support/mcp-http.ts";
import { openForAll } from "../../support/open-for.ts";
import { openStage } from "../../support/stage.ts";
import { openStateForEach } from "../../support/store-place.ts";

/** A key that may only read links, in front of a deployment of which nothing is known. */

let ground: Ground;
openForAll(openGround, (opened) => (ground = opened));

/** What the key can use, and what needs no right. */
const usable = [
  "explain_access",
  "audit_links",
  "check_domain",
  "explain_link",
  "export_links",
  "get_link",
  "link_stats",
  "list_changes",
  "list_links",
  "resolve_short_link",
  "undo",
];
const templateWriters = [
  "publish_template",
  "restore_template_version",
  "save_template",
  "unpublish_template",
];
/** What creates, shortens or deletes, and what builds on it. */
const untried = [
  "create_link",
  "upsert_link",
  "delete_link",
  "shorten_link",
  "register_ios_app",
  "delete_ios_app",
  "register_android_app",
  "delete_android_app",
  "plan_links",
  "apply_plan",
  "get_job",
  "list_jobs",
  "cancel_job",
];

const clients = {
  "the 1.x client": connectV1,
  "the 2.x client, 2026-07-28 alone": connectV2,
} as const;

type Given = Parameters<typeof connectV1>[0];

/** The service behind plain HTTP, counting what it is asked. */
async function openStrange() {
  const { key } = await ground.addTenant({ scopes: ["links.index", "links.show"] });
  const { url } = ground.serving.places;
  const deployment = await startDeployment(async (request, response) => {
    const { method = "", headers } = request;
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
    const { authorization = "", "content-type": type } = headers;
    const sent = { authorization, ...(type !== undefined && { "content-type": type }) };
    const answer = await fetch(`${url}${request.url}`, { method, headers: sent, ...body });
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(await answer.text());
  });
  const folder = await createUsedFolder();
  return {
    data: folder.path,
    env: { WAYPOST_BASE_URL: deployment.url, WAYPOST_API_KEY: key },
    listAsked: () => deployment.requests.map(({ method, url: path }) => `${method} ${path}`),
    [Symbol.asyncDispose]: async () => {
      await deployment[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Where a slow machine made the list come early, one notice tells of the right one. */
async function listInTheEnd(client: Connected): Promise<readonly string[]> {
  const names = await client.listNames();
  if (names.includes("update_link")) await client.untilChanged(1);
  return (await client.listNames()).toSorted();
}

type Strange = Awaited<ReturnType<typeof openStrange>>;

describe.each(["v1", "legacy", "modern"] as const)("a client of any age (%s)", (era) => {
  const at = openStateForEach();

  /** A process with all the time that it needs. */
  async function start({ env }: Strange) {
    at.now = Date.now();
    const state = await at.open();
    const openMemory = () => Promise.resolve(state.kept);
    const send = async (request: Request) => {
      const { pathname, search } = new URL(request.url);
      return fetch(new Request(env.WAYPOST_BASE_URL + pathname + search, request));
    };
    const clock = { now: () => at.now, monotonic: () => at.elapsed };
    return openStage({ send, key: env.WAYPOST_API_KEY, era, openMemory, clock });
  }

  test("finds in its first list what may be of use, and so the second", async () => {
    const all = [...usable, ...untried, ...templateWriters].toSorted();
    await using strange = await openStrange();
    await using first = await start(strange);
    expect((await first.listNames()).toSorted()).toEqual(all);
    await first.settle();
    expect(first.countChanges()).toBe(0);
    const asked = strange.listAsked();
    expect(asked.filter((line) => /^(POST|DELETE)/.test(line))).toEqual([]);
    await using second = await start(strange);
    expect((await second.listNames()).toSorted()).toEqual(all);
    await second.settle();
    expect(strange.listAsked()).toEqual(asked);
    await second.callTool("explain_access");
    expect(strange.listAsked().length).toBeGreaterThan(asked.length);
    expect(second.countChanges()).toBe(0);
  });
});

describe.each(Object.entries(clients))("the built command before %s", (_, connect) => {
  async function withClient(
    { data, env }: Pick<Strange, "data" | "env">,
    work: (client: Connected) => Promise<void>,
  ): Promise<void> {
    const given: Given = { transport: "stdio", data, env, watches: true };
    await using client = await connect(given);
    await work(client);
    expect(client.countChanges()).toBeLessThanOrEqual(1);
  }

  test("shows what may be of use, and asks again when the user asks why", async () => {
    await using strange = await openStrange();
    const wanted = [...usable, ...untried, ...templateWriters].toSorted();
    await withClient(strange, async (client) => {
      expect(await listInTheEnd(client)).toEqual(wanted);
    });
    const asked = strange.listAsked();
    await withClient(strange, async (client) => {
      expect(await listInTheEnd(client)).toEqual(wanted);
      expect(strange.listAsked()).toEqual(asked);
      await client.callTool("explain_access");
      expect(strange.listAsked().length).toBeGreaterThanOrEqual(asked.length + 11);
    });
  });

  test("shows the same through a gateway", async () => {
    await using strange = await openStrange();
    await using serving = await startServe(strange.data, [], { env: strange.env });
    const given: Given = {
      transport: "http",
      url: serving.places.mcp,
      token: serving.key,
      watches: true,
    };
    await using client = await connect(given);
    expect(await listInTheEnd(client)).toEqual(
      [...usable, ...untried, ...templateWriters].toSorted(),
    );
  });
});
