import { expect, test } from "vitest";
import { createUsedFolder } from "../../support/command.ts";
import { connectV1, type ToolClient } from "../../support/mcp-clients.ts";
import { startAlteringProxy } from "../../support/remote.ts";
import { openTestServer, type TestServer } from "../../support/mcp-http.ts";
import { openForAll } from "../../support/open-for.ts";

/** Tests a key that may only read links, with an unknown remote server. */

let testServer: TestServer;
openForAll(openTestServer, (opened) => (testServer = opened));

/** The tools that the key can use, and those that no probe can check. */
const useful = [
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
  "publish_template",
  "restore_template_version",
  "save_template",
  "unpublish_template",
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
].toSorted();

async function openStrange() {
  const { key } = await testServer.addTenant({ scopes: ["links.index", "links.show"] });
  const { url } = testServer.serving.places;
  const proxy = await startAlteringProxy(url, (_, { headers, ...reply }) => {
    return { ...reply, headers: { "content-type": headers["content-type"] ?? "" } };
  });
  const folder = await createUsedFolder();
  return {
    data: folder.path,
    env: { WAYPOST_BASE_URL: proxy.url, WAYPOST_API_KEY: key },
    listAsked: () => proxy.requests.map(({ method, path }) => `${method} ${path}`),
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** On a slow machine the first list may be incomplete. Then one notification follows. */
async function listInTheEnd(client: ToolClient): Promise<readonly string[]> {
  const names = await client.listNames();
  if (names.includes("update_link")) await client.untilChanged(1);
  return (await client.listNames()).toSorted();
}

test("the built command hides every tool whose probe the remote server rejects", async () => {
  await using strange = await openStrange();
  const connect = async () => {
    const { data, env } = strange;
    return connectV1({ transport: "stdio", data, env, watches: true });
  };
  const first = await connect();
  expect(await listInTheEnd(first)).toEqual(useful);
  expect(first.countChanges()).toBeLessThanOrEqual(1);
  await first.close();
  const asked = strange.listAsked();
  expect(asked.filter((line) => /^(POST|DELETE)/.test(line))).toEqual([]);
  await using second = await connect();
  expect(await listInTheEnd(second)).toEqual(useful);
  expect(strange.listAsked()).toEqual(asked);
  await second.callTool("explain_access");
  expect(strange.listAsked().length).toBeGreaterThanOrEqual(asked.length + 11);
  expect(second.countChanges()).toBeLessThanOrEqual(1);
});
