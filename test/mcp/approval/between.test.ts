import { describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";

/** Another client changes the target between the approval and the action. */

type Args = Readonly<Record<string, unknown>>;
type ApiReply = { readonly status: number; readonly body: Structured };
// oxlint-disable-next-line typescript/no-explicit-any
type Structured = any;

/** A tool call on a new record, and a change of the same record by another client. */
type Scene = {
  readonly args: Args;
  readonly edit: () => Promise<ApiReply>;
  readonly read: () => Promise<ApiReply>;
};

let assistant: AssistantWorld;

const request: AssistantWorld["world"]["call"] = (...args) => assistant.world.call(...args);

async function call(tool: string, args: Args): Promise<Structured> {
  const key = tool.endsWith("_project") ? assistant.world.master : assistant.world.key;
  return (await (await assistant.connect({ key })).callTool(tool, args)).structured;
}

const springUrl = "https://example.com/spring";
const otherHost = "https://other.example/";
const changedName = "meanwhile";
const print = Array.from({ length: 32 }, () => "AB").join(":");

function prepareLink(args: Args) {
  return async (): Promise<Scene> => {
    const { id } = await assistant.plant("link", {
      path: "spring",
      name: "Spring",
      url: springUrl,
    });
    return createScene(`/links/${id}`, { ...("path" in args ? {} : { id }), ...args });
  };
}

function prepareApp(kind: "ios_app" | "android_app", args: Args) {
  return async (): Promise<Scene> => {
    const ios = { bundle_id: "com.example.app", team_id: "ABCDE12345", name: "App" };
    const android = { package_name: "com.example.app", fingerprints: [print], name: "App" };
    const { id } = await assistant.plant(kind, kind === "ios_app" ? ios : android);
    return createScene(`/${kind}s/${id}`, { id, ...args }, kind);
  };
}

function prepareProject(args: Args) {
  return async (): Promise<Scene> => {
    const { id } = await assistant.world.addProject({ name: "Shop", subdomain: "shop" });
    const { master: key } = assistant.world;
    return createScene(`/projects/${id}`, { id, ...args }, "project", key);
  };
}

/** Prepares a change by another client that renames the target. */
function createScene(path: string, args: Args, wrapper = "", key = assistant.world.key): Scene {
  const name = { name: changedName };
  const body = wrapper === "" ? name : { [wrapper]: name };
  return {
    args,
    edit: () => request("PATCH", path, { key, body }),
    read: () => request("GET", path, { key }),
  };
}

const page = (text: string) => ({ body: `<p>${text}</p>{% store_buttons %}`, css: "" });

/** Creates a live page and a different draft. The other client saves or publishes a draft. */
function prepareTemplate(edited: "save" | "publish", args: Args = {}, restores = false) {
  return async (): Promise<Scene> => {
    const { body } = await request("POST", "/page_template/publish", { body: page("live") });
    await request("PATCH", "/page_template", { body: page("draft") });
    const [method, path] =
      edited === "save" ? ["PATCH", "/page_template"] : ["POST", "/page_template/publish"];
    return {
      args: restores ? { id: body.live_version.id } : args,
      edit: () => request(method ?? "", path ?? "", { body: page(changedName) }),
      // A PATCH without fields returns the draft.
      read: () => request("PATCH", "/page_template", { body: {} }),
    };
  };
}

async function prepareNoTemplate(): Promise<Scene> {
  return {
    args: page("mine"),
    edit: () => request("PATCH", "/page_template", { body: page(changedName) }),
    read: () => request("PATCH", "/page_template", { body: {} }),
  };
}

async function prepareUndo(): Promise<Scene> {
  const { link, change } = await call("create_link", { path: "spring", url: springUrl });
  return createScene(`/links/${link.id}`, { change_id: change.id });
}

type Row = readonly [string, () => Promise<Scene>];

const withApproval: readonly Row[] = [
  ["update_link", prepareLink({ url: otherHost })],
  ["upsert_link", prepareLink({ path: "spring", url: otherHost })],
  ["delete_link", prepareLink({})],
  ["update_ios_app", prepareApp("ios_app", { team_id: "OTHER12345" })],
  ["update_android_app", prepareApp("android_app", { package_name: "com.other" })],
  ["delete_ios_app", prepareApp("ios_app", {})],
  ["delete_android_app", prepareApp("android_app", {})],
  ["update_project", prepareProject({ subdomain: "other" })],
  ["delete_project", prepareProject({})],
  ["publish_template", prepareTemplate("save")],
  ["publish_template", prepareTemplate("publish", page("chosen"))],
  ["publish_template", prepareNoTemplate],
  ["unpublish_template", prepareTemplate("publish")],
  ["unpublish_template", prepareTemplate("save")],
  ["restore_template_version", prepareTemplate("save", {}, true)],
  ["undo", prepareUndo],
];

const withoutApproval: readonly Row[] = [
  ["update_link", prepareLink({ name: "mine" })],
  ["upsert_link", prepareLink({ path: "spring", name: "mine" })],
  ["update_ios_app", prepareApp("ios_app", { name: "mine" })],
  ["update_android_app", prepareApp("android_app", { name: "mine" })],
  ["update_project", prepareProject({ name: "mine" })],
];

describe.each([
  ["on the embedded service during the write", false, "write"],
  ["on the embedded service after the approval", false, "approved"],
  ["on a remote server after the approval", true, "approved"],
] as const)("a target that changes %s", (_, isRemote, moment) => {
  openForEach(
    () => createAssistantWorld({ isRemote }),
    (opened) => (assistant = opened),
  );

  test.each(withApproval)(
    "%s asks for a new approval that shows the changed target",
    async (tool, plant) => {
      const { args, edit, read } = await plant();
      const first = await ask(tool, args);
      await assistant.press(first.url, "approve");
      const changed = interruptOnce(moment, edit, read);
      const again = await ask(tool, args);
      expect(again.url).not.toBe(first.url);
      expect((await read()).body).toEqual(changed());

      await assistant.press(again.url, "approve");
      expect((await call(tool, args)).error).toBeUndefined();
      expect(await read()).not.toMatchObject({ status: 200, body: changed() });
    },
  );
});

describe("a write that initially needs no approval", () => {
  openForEach(createAssistantWorld, (opened) => (assistant = opened));

  test.each(withoutApproval)(
    "by %s is retried if the target changes during the write",
    async (tool, plant) => {
      const { args, edit, read } = await plant();
      interruptOnce("write", edit, read);
      const { change } = await call(tool, args);
      expect(change.fields).toEqual({ name: { from: changedName, to: "mine" } });
    },
  );

  test("by save_template is retried if the draft changes during the write", async () => {
    const { args, edit, read } = await prepareTemplate("save", page("mine"))();
    interruptOnce("write", edit, read);
    const { change } = await call("save_template", args);
    // The history has the replaced text. The result only reports that the text changed.
    expect(change.fields.body).toBe("changed");
    await assistant.callTool("undo", { change_id: change.id });
    expect((await read()).body.body).toBe(page(changedName).body);
  });

  test("by update_link needs approval if the link gets a URL just before the write", async () => {
    const { id } = await assistant.plant("link", { path: "spring" });
    const { read } = createScene(`/links/${id}`, {});
    const edit = () => request("PATCH", `/links/${id}`, { body: { url: otherHost } });
    const changed = interruptOnce("write", edit, read);
    expect((await ask("update_link", { id, url: springUrl })).preview).toContain(otherHost);
    expect((await read()).body).toEqual(changed());
  });

  test("by upsert_link needs approval if the link is created just before the write", async () => {
    const changed = interruptOnce("write", createMeanwhile, readAtPath);
    const { preview } = await ask("upsert_link", { path: "spring", url: springUrl });
    expect(preview).toContain(otherHost);
    expect((await readAtPath()).body).toEqual(changed());
  });
});

describe.each([
  ["on the embedded service during the write", false, "write", "the link changed just now"],
  [
    "on a remote server after the approval",
    true,
    "approved",
    "name changed after the plan was made",
  ],
] as const)("a planned link that changes %s", (_, isRemote, moment, why) => {
  openForEach(
    () => createAssistantWorld({ isRemote }),
    (opened) => (assistant = opened),
  );

  test.each([
    ["update", { url: otherHost }],
    ["upsert", { url: otherHost }],
    ["delete", {}],
  ])("apply_plan does not %s the changed link", async (operation, fields) => {
    const { edit, read } = await prepareLink({})();
    const plan_id = await plan(operation, { path: "spring", ...fields });
    const { url } = await ask("apply_plan", { plan_id });
    await assistant.press(url, "approve");
    const changed = interruptOnce(moment, edit, read);
    await expectRejected(plan_id, why);
    expect((await read()).body).toEqual(changed());
  });
});

describe("a plan to create links", () => {
  openForEach(createAssistantWorld, (opened) => (assistant = opened));

  test("does not overwrite a link that another client creates during apply_plan", async () => {
    const plan_id = await plan("upsert", { path: "spring", url: springUrl });
    const changed = interruptOnce("write", createMeanwhile, readAtPath);
    await expectRejected(plan_id, "the link changed just now");
    expect((await readAtPath()).body).toEqual(changed());
  });
});

async function createMeanwhile(): Promise<ApiReply> {
  return request("POST", "/links", { body: { path: "spring", url: otherHost } });
}

async function readAtPath(): Promise<ApiReply> {
  return request("GET", "/links", { query: "q[path_eq]=spring" });
}

async function ask(tool: string, args: Args): Promise<{ url: string; preview: string }> {
  const { error } = await call(tool, args);
  expect(error).toMatchObject({ code: "approval_required", effect: "none" });
  return error.approval;
}

/** Changes the target at that moment. Returns a function that reads the target as of then. */
function interruptOnce(
  moment: "approved" | "write",
  edit: Scene["edit"],
  read: Scene["read"],
): () => Structured {
  let after: ApiReply | undefined;
  assistant.interrupt(moment, async () => {
    expect((await edit()).status).toBeLessThan(300);
    after = await read();
  });
  return () => {
    expect(after, "the other writer came").toMatchObject({ status: 200 });
    return after?.body;
  };
}

async function plan(operation: string, row: Args): Promise<string> {
  return (await call("plan_links", { operation, rows: [row] })).plan.id;
}

async function expectRejected(plan_id: string, why: string): Promise<void> {
  const { job } = await call("apply_plan", { plan_id });
  expect(job.counts).toMatchObject({ done: 0, rejected: 1 });
  const message = expect.stringContaining(`plan_changed: ${why}`);
  expect(job.failures).toMatchObject([{ outcome: "rejected", message }]);
}
