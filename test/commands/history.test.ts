import { expect, test } from "vitest";
import { createUsedFolder, run, runJson } from "../support/command.ts";
import { callDone, callRefused, connectV1 } from "../support/mcp-clients.ts";

/** CLI actions of the operator appear in the history that assistants read. */

const env = { WAYPOST_MODE: "full" };
const by = "the operator, in the CLI";

test("the history contains the operator's CLI actions but no API keys", async () => {
  await using folder = await createUsedFolder();
  const data = ["--data", folder.path];
  const key = await runJson(["keys", "create", "--role", "viewer", ...data]);
  const project = await runJson(["projects", "update", "default", "--plan", "free", ...data]);
  expect((await run(["keys", "revoke", key.id, ...data])).code).toBe(0);
  await using client = await connectV1({ transport: "stdio", data: folder.path });
  const { changes } = await callDone(client, "list_changes");
  expect(changes).toMatchObject([
    {
      tool: "keys revoke",
      by,
      target: { kind: "api_key", id: key.id },
      fields: { role: { from: "viewer", to: null } },
    },
    {
      tool: "projects update",
      by,
      target: { kind: "project_settings", id: project.id, name: "Default" },
      fields: { plan: { from: "pro", to: "free" } },
    },
    {
      tool: "keys create",
      by,
      target: { kind: "api_key", id: key.id },
      fields: { role: { from: null, to: "viewer" } },
    },
  ]);
  expect(JSON.stringify(changes)).not.toContain(key.token);
  expect(Object.keys(changes[1].fields)).toEqual(["plan"]);
  for (const { id } of changes) {
    const { message, effect } = await callRefused(client, "undo", { change_id: id });
    expect([message, effect]).toEqual([
      expect.stringMatching(
        /^(This cannot be|There is no) undo.*with waypost (keys|projects update)\.$/,
      ),
      "none",
    ]);
  }
  const nothing = await callRefused(client, "undo");
  expect(nothing.message).toBe("This key has no change to undo.");
});

test("the history does not contain refused commands", async () => {
  await using folder = await createUsedFolder();
  const data = ["--data", folder.path];
  await runJson(["keys", "create", ...data]);
  const refused = await run(["projects", "update", "default", "--subdomain", "-", ...data]);
  expect(refused.code).not.toBe(0);
  await using client = await connectV1({ transport: "stdio", data: folder.path });
  const { changes } = await callDone(client, "list_changes");
  expect(changes.map(({ tool }: { readonly tool: string }) => tool)).toEqual(["keys create"]);
});

test("restoring a deleted record can be undone, but emptying the bin cannot", async () => {
  await using folder = await createUsedFolder();
  const data = ["--data", folder.path];
  await using client = await connectV1({ transport: "stdio", data: folder.path, env });
  const { link } = await callDone(client, "create_link", { path: "spring" });
  await callDone(client, "delete_link", { id: link.id });
  expect((await run(["bin", "restore", link.id, ...data])).code).toBe(0);
  const { changes } = await callDone(client, "list_changes");
  const target = { kind: "link", id: link.id };
  expect(changes[0]).toMatchObject({ tool: "bin restore", by, target, undoes: changes[1].id });
  expect(changes[1]).toMatchObject({ tool: "delete_link", undone_by: changes[0].id });
  const again = await callRefused(client, "undo", { change_id: changes[1].id });
  expect(again.message).toBe(`It was already undone, by change ${changes[0].id}.`);
  await callDone(client, "undo", { change_id: changes[0].id });
  expect((await callRefused(client, "get_link", { id: link.id })).code).toBe("not_found");
  expect((await run(["bin", "empty", "--yes", ...data])).code).toBe(0);
  const [emptied] = (await callDone(client, "list_changes")).changes;
  expect(emptied).toMatchObject({ tool: "bin empty", by, fields: { entries: { from: 1, to: 0 } } });
  const { message } = await callRefused(client, "undo", { change_id: emptied.id });
  expect(message).toBe("The bin was emptied in the CLI. Its entries cannot be restored.");
});
