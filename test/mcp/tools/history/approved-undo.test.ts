import { expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { callDone, callRefused, type Args, approve } from "../../../support/mcp-clients.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Tests which undos need an approval, and what the approval preview shows. */

let assistant: AssistantWorld;
let asked: string[];
let answers: boolean;

openForEach(
  () =>
    createAssistantWorld({
      elicit: (message) => {
        asked.push(message);
        return answers ? approve() : { action: "accept", content: { approve: false } };
      },
    }),
  (opened) => {
    [assistant, asked, answers] = [opened, [], true];
  },
);

const call = (tool: string, args?: Args) => callDone(assistant, tool, args);
const fail = (tool: string, args?: Args) => callRefused(assistant, tool, args);

const edit = (id: string, body: object) => assistant.world.call("PATCH", `/links/${id}`, { body });
const readLink = async (id: string) => (await assistant.world.call("GET", `/links/${id}`)).body;

async function makeChanged() {
  const { id } = await assistant.plant("link", { path: "spring", name: "Old" });
  const { change } = await call("update_link", { id, name: "New" });
  return { id, change };
}

test("an undo needs no approval if the original change needed none", async () => {
  const { id } = await makeChanged();
  await call("undo");
  expect(await readLink(id)).toMatchObject({ name: "Old" });
  expect(asked).toEqual([]);
});

test("an undo needs approval if it overwrites a later change", async () => {
  const { id } = await makeChanged();
  await edit(id, { name: "Newest" });
  answers = false;
  expect(await fail("undo")).toMatchObject({ code: "approval_declined", effect: "none" });
  const [question = ""] = asked;
  expect(question.split("\n")[0]).toContain('Undo the change of the link "New"');
  expect(question).toContain('- name, changed since: "Newest" will be replaced by "Old"');
  expect(question).not.toMatch(/undefined|NaN|\[object|\{"/);
  expect(await readLink(id)).toMatchObject({ name: "Newest" });
  answers = true;
  await call("undo");
  expect(await readLink(id)).toMatchObject({ name: "Old" });
});

test("the preview of an undo shows apps by name", async () => {
  const team_id = "ABCDE12345";
  const plant = (name: string) =>
    assistant.plant("ios_app", { bundle_id: `com.acme.${name}`, team_id, name });
  const [one, two] = [await plant("one"), await plant("two")];
  const { id } = await assistant.plant("link", { path: "spring", ios_app: { id: one.id } });
  await call("update_link", { id, ios_app: null });
  await edit(id, { ios_app: { id: two.id } });
  await call("undo");
  const [question] = asked.slice(-1);
  expect(question).toContain(
    '- iOS app, changed since: "two" ("com.acme.two") will be replaced by "one" ("com.acme.one")',
  );
  expect(question).not.toContain(two.id);
});

test("undo rejects the ID of a link and explains how to find the change", async () => {
  await makeChanged();
  expect(await fail("undo", { change_id: "spring" })).toMatchObject({
    code: "not_found",
    message: 'No change has the id "spring". undo takes the id of a change, not of a link or app.',
    next: "To find the id, list the changes with the link or app as the target.",
  });
});

test("an undo does not affect later changes of other fields", async () => {
  const { id } = await makeChanged();
  await edit(id, { social_title: "Stays" });
  await call("undo");
  expect(await readLink(id)).toMatchObject({ name: "Old", social_title: "Stays" });
  expect(asked).toEqual([]);
});

test("an undo needs approval if it points a link back at another host", async () => {
  const { id } = await assistant.plant("link", { path: "spring", url: "https://one.example" });
  await call("update_link", { id, url: "https://two.example" });
  expect(asked).toHaveLength(1);
  answers = false;
  expect(await fail("undo")).toMatchObject({ code: "approval_declined" });
  expect(await readLink(id)).toMatchObject({ url: "https://two.example" });
  expect(asked).toHaveLength(2);
});

test("the approval page for undoing an app's deletion lists the app and its links", async () => {
  await using remote = await createAssistantWorld({ isRemote: true });
  const fields = { bundle_id: "com.example.spring", team_id: "ABCDE12345" };
  const { id } = await remote.plant("ios_app", fields);
  const paths = Array.from({ length: 25 }, (_, index) => `p${index}`);
  for (const path of paths) await remote.plant("link", { path, ios_app: { id } });
  await remote.approve("delete_ios_app", { id });
  const { error } = await remote.call("undo");
  const { html } = await remote.visit(error.approval.url);
  for (const text of [fields.bundle_id, ...paths]) expect(html).toContain(`&quot;${text}&quot;`);
  expect((await remote.approve("undo")).change).toMatchObject({ tool: "undo" });
});

test("an undo with several steps needs only one approval, which lists every step", async () => {
  const ios_app = { bundle_id: "com.example.spring", team_id: "ABCDE12345" };
  const { link } = await call("create_link", { path: "spring", ios_app });
  asked = [];
  const { change } = await call("undo");
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatch(/step 1: Delete the link "spring"/);
  expect(asked[0]).toMatch(/step 2: Delete the iOS app "com.example.spring"/);
  expect((await assistant.world.call("GET", "/ios_apps")).body.ios_apps).toEqual([]);
  await call("undo", { change_id: change.id });
  expect(await readLink(link.id)).toMatchObject({ ios_app_id: link.ios_app_id });
});

test("an undo asks for approval again if the link changes while the form is open", async () => {
  const { id } = await assistant.plant("link", { path: "spring", name: "Old" });
  await call("delete_link", { id });
  await call("undo");
  await call("update_link", { id, name: "New" });
  await edit(id, { name: "Newer" });
  let answered = 0;
  const client = await assistant.connect({
    elicit: async (message) => {
      answered += 1;
      if (answered === 1) await edit(id, { name: "Newest" });
      expect(message).toContain(
        answered === 1 ? '"Newer" will be replaced' : '"Newest" will be replaced',
      );
      return approve();
    },
  });
  await client.callTool("undo");
  expect(answered).toBe(2);
  expect(await readLink(id)).toMatchObject({ name: "Old" });
});

test("an undo that was interrupted halfway can be completed by another undo", async () => {
  const ios_app = { bundle_id: "com.example.spring", team_id: "ABCDE12345" };
  const url = "https://example.com/spring";
  const { link, change } = await call("create_link", { path: "spring", url, ios_app });
  // Simulate a process that was killed after the first step of the undo.
  const { history } = assistant.state;
  const realm = assistant.world.project.id;
  const [made] = (await history.list({ realm }, { from: 0, limit: 1 })) ?? [];
  if (made === undefined) throw new Error("there is a change");
  const { key_print, kind, target_id, target_key, name } = made;
  const target = { kind, target_id, target_key, name };
  const by = { realm, key_print, client: null, tool: "undo" };
  const [, before] = made.effects;
  const effects = [{ kind, id: link.id, before: before?.after ?? null, after: null }];
  const open = await history.begin({ ...by, ...target, effects, undoes: change.id });
  await assistant.world.call("DELETE", `/links/${link.id}`);

  const { change: undone } = await call("undo");
  expect(undone).toMatchObject({ undoes: change.id });
  expect((await assistant.world.call("GET", "/ios_apps")).body.ios_apps).toEqual([]);
  await call("undo", { change_id: undone.id });
  await call("undo", { change_id: open.id });
  expect(asked.at(-1)).toContain("uncertain: this change may never have been made");
  expect(asked.at(-1)).toContain('- action: Restore the link "spring"');
  expect(asked.at(-1)).toContain(`Computer: a redirect to "${url}"`);
  expect(await readLink(link.id)).toMatchObject({ path: "spring" });
});

test("an undo that failed halfway can be completed by another undo", async () => {
  const ios_app = { bundle_id: "com.example.spring", team_id: "ABCDE12345" };
  const { link, change } = await call("create_link", { path: "spring", ios_app });
  const body = { ios_app: { name: "Meanwhile" } };
  const editApp = () => assistant.world.call("PATCH", `/ios_apps/${link.ios_app_id}`, { body });
  // Change the app before the second step, when the link is already deleted.
  const editNext = () => Promise.resolve(assistant.interrupt("write", editApp));
  assistant.interrupt("write", editNext);
  const error = await fail("undo");
  expect(error).toMatchObject({ code: "plan_changed", effect: "done" });
  expect(error.next).toContain(`call undo with change_id ${change.id}`);
  expect((await readLink(link.id)).error).toBeDefined();
  const { body: app } = await assistant.world.call("GET", `/ios_apps/${link.ios_app_id}`);
  expect(app).toMatchObject({ name: "Meanwhile" });

  await call("undo", { change_id: change.id });
  expect(asked.at(-1)).toContain('"Meanwhile" will be replaced');
  expect((await assistant.world.call("GET", "/ios_apps")).body.ios_apps).toEqual([]);
});

test("undo checks the current record before undoing a change with an unknown outcome", async () => {
  const { id } = await makeChanged();
  const { history } = assistant.state;
  const realm = assistant.world.project.id;
  const [made] = await history.list({ realm }, { from: 0, limit: 1 });
  if (made === undefined) throw new Error("there is a change");
  const { key_print, kind, target_id, target_key, name } = made;
  const known = { realm, key_print, client: null, kind, target_id, target_key, name };
  const before = await readLink(id);
  const effects = [{ kind, id, before, after: { name: "Newer" } }];
  await history.begin({ ...known, tool: "update_link", effects });
  const { changes } = await call("list_changes");
  expect(changes[0]).toMatchObject({ end: "unknown" });
  const refused = await fail("undo");
  expect(refused.message).toContain("This change was never made");
  // Earlier changes can still be undone.
  expect(refused.next).toContain("find its id in the list of changes");
  await edit(id, { name: "Newer" });
  await call("undo");
  expect(asked[0]).toContain("uncertain: this change may never have been made");
  expect(await readLink(id)).toMatchObject({ name: "New" });
});

test("an approval preview shows the last change of the target", async () => {
  const { id } = await makeChanged();
  await call("delete_link", { id });
  expect(asked[0]).toMatch(/changed: .* by this key; before that: name "Old"/);
});

const writePage = (text: string) => {
  return { body: `<p>${text}</p>{% store_buttons %}`, css: `/* ${text} */` };
};

test("the result of undoing a template change does not contain the template's text", async () => {
  await call("save_template", writePage("earlier"));
  await call("save_template", writePage("later"));
  const { change } = await call("undo");
  expect(change.fields).toEqual({ body: "changed", css: "changed" });
  const { version } = await call("get_template_version", { id: "draft" });
  expect(version).toMatchObject(writePage("earlier"));
});

test("undoing a job returns a plan, and is possible only once", async () => {
  const rows = [{ path: "one" }, { path: "two" }];
  const { plan } = await call("plan_links", { operation: "upsert", rows });
  const { job } = await call("apply_plan", { plan_id: plan.id });
  const { changes } = await call("list_changes", { target: job.id });
  expect(changes).toMatchObject([{ tool: "apply_plan", target: { kind: "job", id: job.id } }]);
  const undo = await call("undo");
  expect(undo.plan).toMatchObject({ undoes: job.id, counts: { delete: 2 } });
  await call("apply_plan", { plan_id: undo.plan.id });
  expect((await call("list_links")).meta.count).toBe(0);
  expect(await fail("undo")).toMatchObject({ code: "not_found" });
  expect(await fail("undo", { change_id: changes[0].id })).toMatchObject({
    code: "invalid_arguments",
    message: expect.stringContaining("already undone"),
  });
});

test("undo cannot remove a short path or restore a deleted project", async () => {
  const { project, master } = assistant.world;
  const { address } = (await call("create_link", { path: "spring" })).link;
  await call("shorten_link", { url: address });
  expect((await fail("undo")).message).toContain("short path cannot be removed");
  const client = await assistant.connect({ key: master, elicit: approve });
  await client.callTool("delete_project", { id: project.id });
  const { structured } = await client.callTool("undo");
  expect(structured.error.message).toContain("cannot be restored");
});

test("a master key can undo the update and the creation of a project", async () => {
  const { project, master } = assistant.world;
  const client = await assistant.connect({ key: master, elicit: approve });
  const read = async () => (await callDone(client, "get_project", { id: project.id })).project;
  const before = await read();
  const given = { id: project.id, name: "Other", custom_domain: "go.example.com" };
  await callDone(client, "update_project", given);
  expect(await read()).not.toEqual(before);
  await callDone(client, "undo");
  expect(await read()).toEqual(before);
  const made = (await callDone(client, "create_project", { name: "New", subdomain: "new" }))
    .project;
  await callDone(client, "undo");
  const gone = await callRefused(client, "get_project", { id: made.id });
  expect(gone.code).toBe("not_found");
});
