import { describe, expect, test } from "vitest";
import {
  createAssistantWorld,
  type AssistantClient,
  type AssistantWorld,
} from "../../support/assistant-world.ts";
import { createChance, type Chance } from "../../support/chance.ts";
import { openForAll } from "../../support/open-for.ts";
import { isOnPostgres } from "../../support/store-place.ts";

/** In random orders of calls and edits, each action does only what its approval showed. */

/** Slow actions are tested in fewer orders. */
const seeds = isOnPostgres
  ? { template: 4, plan: 10, other: 8 }
  : { template: 10, plan: 20, other: 40 };

let assistant: AssistantWorld;
let master: AssistantClient;

openForAll(createAssistantWorld, async (opened) => {
  assistant = opened;
  master = await assistant.connect({ key: assistant.world.master });
});

type Args = Readonly<Record<string, unknown>>;

/** One action and its target, in a project that all seeds share. */
type Scene = {
  readonly call: () => Promise<Structured>;
  /** Writes the mark as another client. Returns whether that happened before the action. */
  readonly edit: (mark: string) => Promise<boolean>;
  /** Returns whether the call performed the action. */
  readonly isDone: (structured: Structured) => boolean;
  /** True if repeating the call would perform the action again. */
  readonly isOnce: boolean;
  /** Returns the mark that the target had when the action changed it, if the result shows that. */
  readonly readMet?: (structured: Structured) => Promise<string>;
};

// oxlint-disable-next-line typescript/no-explicit-any
type Structured = any;

type SetUp = (seed: number) => Promise<Scene>;

const request: AssistantWorld["world"]["call"] = (...asked) => assistant.world.call(...asked);
const act = async (tool: string, args: Args = {}, by: AssistantClient = assistant) =>
  (await by.callTool(tool, args)).structured;

const old = "https://old.example/";
const url = "https://new.example/";
const buttons = "{% store_buttons %}";
const isPageDone: Scene["isDone"] = ({ page_template }) => page_template !== undefined;

function writePage(path: string, mark: string, seed: number): Promise<Structured> {
  const body = { body: `<p>${mark} of ${seed}</p>${buttons}`, css: "" };
  const method = path === "" ? "PATCH" : "POST";
  return request(method, `/page_template${path}`, { body });
}

const readMark = (body: string) => /<p>(\S+) of/.exec(body)?.[1] ?? "";

const publishDraft: SetUp = async (seed) => {
  await writePage("", "first", seed);
  return {
    call: () => act("publish_template"),
    edit: async (mark) => {
      const { body } = await writePage("", mark, seed);
      return body.live_version?.body.includes(`of ${seed}<`) !== true;
    },
    isOnce: true,
    isDone: isPageDone,
    readMet: async ({ page_template }) => {
      const { id } = page_template.live_version;
      return readMark((await request("GET", `/page_template/versions/${id}`)).body.body);
    },
  };
};

/** Advances a minute before each edit, because the preview shows only the time of publishing. */
const takePageDown: SetUp = async (seed) => {
  const times = new Map<string, string>();
  const publish = async (mark: string) => {
    assistant.world.advance(60_000);
    const { body } = await writePage("/publish", mark, seed);
    const [date, time = ""] = body.live_version.published_at.split("T");
    times.set(mark, `${date} at ${time.slice(0, 5)}`);
    return true;
  };
  await publish("first");
  return {
    call: () => act("unpublish_template"),
    edit: publish,
    isOnce: true,
    isDone: isPageDone,
    readMet: async ({ change }) => {
      const { changes } = await act("list_changes");
      const taken = changes.find(({ id }: { readonly id: string }) => id === change.id);
      return times.get(readMark(taken.fields.live.from.body)) ?? "nothing";
    },
  };
};

const restoreVersion: SetUp = async (seed) => {
  const { body } = await writePage("/publish", "older", seed);
  await writePage("", "draft", seed);
  await saveStyle("first");
  return {
    call: () => act("restore_template_version", { id: body.live_version.id }),
    edit: saveStyle,
    isOnce: true,
    isDone: isPageDone,
  };
};

/** Saves a style. Returns whether the draft has not been replaced yet. */
async function saveStyle(mark: string): Promise<boolean> {
  const body = { css: `/* ${mark} */` };
  return (await request("PATCH", "/page_template", { body })).body.body.includes("draft");
}

const deleteLink: SetUp = async (seed) => {
  const { id } = await assistant.plant("link", { path: `delete-${seed}`, name: "first" });
  return {
    call: () => act("delete_link", { id }),
    edit: async (name) => (await rename(`/links/${id}`, { name })).status === 200,
    isOnce: true,
    isDone: ({ deleted }) => deleted !== undefined,
  };
};

const deleteApp: SetUp = async (seed) => {
  const { id } = await plantApp(`com.example.d${seed}`);
  return {
    call: () => act("delete_ios_app", { id }),
    edit: async (name) => (await rename(`/ios_apps/${id}`, { ios_app: { name } })).status === 200,
    isOnce: true,
    isDone: ({ deleted }) => deleted !== undefined,
  };
};

const changeTeam: SetUp = async (seed) => {
  const { id } = await plantApp(`com.example.a${seed}`);
  return {
    call: () => act("update_ios_app", { id, team_id: "OTHER12345" }),
    edit: async (name) => {
      const { body } = await rename(`/ios_apps/${id}`, { ios_app: { name } });
      return body.team_id !== "OTHER12345";
    },
    isOnce: false,
    isDone: ({ ios_app }) => ios_app !== undefined,
  };
};

const moveProject: SetUp = async (seed) => {
  const { id } = await assistant.world.addProject({ name: "first", subdomain: `old-${seed}` });
  const { master: key } = assistant.world;
  return {
    call: () => act("update_project", { id, subdomain: `new-${seed}` }, master),
    edit: async (name) => {
      const { body } = await rename(`/projects/${id}`, { project: { name } }, key);
      return body.subdomain === `old-${seed}`;
    },
    isOnce: false,
    isDone: ({ project }) => project !== undefined,
  };
};

const moveLink: SetUp = async (seed) => {
  const link = await plantLink(`move-${seed}`);
  return { ...link, call: () => act("update_link", { id: link.id, url }) };
};

const overwriteLink: SetUp = async (seed) => {
  const path = `upsert-${seed}`;
  return { ...(await plantLink(path)), call: () => act("upsert_link", { path, url }) };
};

/** Plans a rejected row again. */
const applyPlan: SetUp = async (seed) => {
  const path = `plan-${seed}`;
  const link = await plantLink(path);
  const plan = async () => {
    const wanted = { operation: "update", rows: [{ path, name: `after-${seed}`, url }] };
    return (await act("plan_links", wanted)).plan.id;
  };
  let plan_id = await plan();
  return {
    ...link,
    call: async () => {
      const asked = plan_id;
      const structured = await act("apply_plan", { plan_id: asked });
      if (structured.job?.counts.rejected === 1 && asked === plan_id) plan_id = await plan();
      return structured;
    },
    isDone: ({ job }) => job?.counts.done === 1,
  };
};

const scenes: readonly (readonly [string, SetUp, number])[] = [
  ["publish the draft", publishDraft, seeds.template],
  ["unpublish the page template", takePageDown, seeds.template],
  ["restore a version", restoreVersion, seeds.template],
  ["delete a link", deleteLink, seeds.other],
  ["delete an app", deleteApp, seeds.other],
  ["change an app's team", changeTeam, seeds.other],
  ["move a project", moveProject, seeds.other],
  ["point a link at another host", moveLink, seeds.other],
  ["overwrite a link by its path", overwriteLink, seeds.other],
  ["apply a plan", applyPlan, seeds.plan],
];

describe.each(scenes)("calls to %s that race with edits", (_, setUp, count) => {
  test(`only the approved change is made, in each of ${count} random orders`, async () => {
    let done = 0;
    let changed = 0;
    for (let seed = 0; seed < count; seed += 1) {
      // Start each seed with a full limit of overwrites.
      for (const clock of [assistant, assistant.world]) clock.advance(10 * 60_000);
      const scene = await setUp(seed);
      const { acts, edits } = await play(scene, createChance(seed, "interleavings"));
      done += acts;
      changed += edits;
    }
    // Check that enough of the orders really had actions and edits.
    expect(done).toBeGreaterThan(count / 8);
    expect(changed).toBeGreaterThan(count / 4);
  });
});

/** Runs rounds of simultaneous steps until the action succeeds or the rounds end. */
async function play(scene: Scene, chance: Chance): Promise<{ acts: number; edits: number }> {
  const approved: string[] = [];
  let shown = readApprovalPage(await scene.call());
  let lastBefore = "first";
  let acts = 0;
  let edits = 0;
  const edit = async (mark: string) => {
    edits += 1;
    if (await scene.edit(mark)) lastBefore = mark;
  };
  for (let round = 0; round < 6 && acts === 0; round += 1) {
    const steps = chance.shuffle(
      ["approve", "approve", "edit", "act", "act"].filter(() => chance.isLikely(0.5)),
    );
    await Promise.all(
      steps.map(async (step, index) => {
        await pass(chance.between(0, 11));
        if (step === "approve" && shown !== undefined) {
          const { preview } = shown;
          const { html } = await assistant.press(shown.url, "approve");
          if (html.includes("Approved")) approved.push(preview);
        } else if (step === "edit") {
          const mark = `mark-${round}-${index}-${chance.between(0, 999)}`;
          const moment = chance.pick([undefined, "approved", "write"]);
          if (moment === undefined) await edit(mark);
          else assistant.interrupt(moment, () => edit(mark));
        } else if (step === "act") {
          const again = await scene.call();
          if (scene.isDone(again)) {
            acts += 1;
            if (scene.readMet !== undefined) {
              expectApproved(approved, await scene.readMet(again));
            }
          } else shown = readApprovalPage(again) ?? shown;
        }
      }),
    );
    // Remove interruptions that did not fire in this round.
    for (const moment of ["approved", "write"] as const) {
      assistant.interrupt(moment, () => Promise.resolve());
    }
  }
  // An approval must have shown the target as it was when the action ran.
  if (acts > 0 && scene.readMet === undefined) expectApproved(approved, lastBefore);
  // Repeating an action without effect needs no approval.
  if (scene.isOnce) expect(acts).toBeLessThanOrEqual(approved.length);
  return { acts, edits };
}

function expectApproved(approved: readonly string[], mark: string): void {
  expect(approved.filter((preview) => preview.includes(mark))).not.toEqual([]);
}

function rename(path: string, body: Args, key = assistant.world.key): Promise<Structured> {
  return request("PATCH", path, { body, key });
}

function plantApp(bundle_id: string) {
  return assistant.plant("ios_app", { bundle_id, team_id: "ABCDE12345", name: "first" });
}

async function plantLink(path: string): Promise<Omit<Scene, "call"> & { readonly id: string }> {
  const { id } = await assistant.plant("link", { path, name: "first", url: old });
  return {
    id,
    edit: async (name) => (await rename(`/links/${id}`, { name })).body.url === old,
    isOnce: false,
    isDone: ({ link }) => link !== undefined,
  };
}

type ApprovalPage = { readonly url: string; readonly preview: string };

function readApprovalPage({ error }: Structured): ApprovalPage | undefined {
  const { url, preview } = error?.approval ?? {};
  return url === undefined ? undefined : { url, preview };
}

async function pass(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
