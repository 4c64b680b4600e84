import { beforeAll, afterAll, describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";

/**
 * An act, the person who approves of it, and others who write meanwhile, in a thousand orders drawn
 * from seeds: what happens is always what the person was shown.
 */

const seedsEach = 200;

let assistant: AssistantWorld;

beforeAll(async () => {
  assistant = await createAssistantWorld();
});

afterAll(async () => {
  expect(assistant.reported).toEqual([]);
  await assistant[Symbol.asyncDispose]();
});

type Args = Readonly<Record<string, unknown>>;

/** What one kind of act is about, in a project that other seeds use as well. */
type Scene = {
  readonly tool: string;
  readonly args: Args;
  /** Another writer changes the target, so that its preview has this mark. */
  readonly edit: (mark: string) => Promise<Edited>;
  /** Whether the call of the act has done it. */
  readonly isDone: (structured: Structured) => boolean;
  /** Whether a second call would be another act, and not the same once more. */
  readonly isOnce: boolean;
  /** The text that was put live, where the act does that. */
  readonly readLive?: (structured: Structured) => string;
};

/** Refused edits came too late to change what the act met. */
type Edited = "before the act" | "after the act" | "refused";

// oxlint-disable-next-line typescript/no-explicit-any
type Structured = any;

const buttons = "{% store_buttons %}";

const scenes: readonly (readonly [string, (seed: number) => Promise<Scene>])[] = [
  [
    "publish the draft",
    async (seed) => {
      const save = (mark: string) =>
        assistant.world.call("PATCH", "/page_template", {
          body: { body: `<p>${mark} of ${seed}</p>${buttons}`, css: "" },
        });
      await save("first");
      return {
        tool: "publish_template",
        args: {},
        edit: async (mark) => {
          const { body } = await save(mark);
          return body.live_version?.body.includes(`of ${seed}<`)
            ? "after the act"
            : "before the act";
        },
        isOnce: true,
        isDone: ({ page_template }) => page_template !== undefined,
        readLive: ({ page_template }) => page_template.live_version.body,
      };
    },
  ],
  [
    "delete a link",
    async (seed) => {
      const link = await assistant.plant("link", { path: `delete-${seed}`, name: "first" });
      return {
        tool: "delete_link",
        args: { id: link.id },
        edit: async (name) => {
          const body = { name };
          const reply = await assistant.world.call("PATCH", `/links/${link.id}`, { body });
          return reply.status === 200 ? "before the act" : "refused";
        },
        isOnce: true,
        isDone: ({ deleted }) => deleted !== undefined,
      };
    },
  ],
  [
    "lead a link elsewhere",
    async (seed) => {
      const old = "https://old.example/";
      const fields = { path: `move-${seed}`, name: "first", url: old };
      const { id } = await assistant.plant("link", fields);
      return {
        tool: "update_link",
        args: { id, url: "https://new.example/" },
        edit: async (name) => {
          const reply = await assistant.world.call("PATCH", `/links/${id}`, { body: { name } });
          return reply.body.url === old ? "before the act" : "after the act";
        },
        isOnce: false,
        isDone: ({ link }) => link !== undefined,
      };
    },
  ],
  [
    "change an app's team",
    async (seed) => {
      const bundle_id = `com.example.a${seed}`;
      const team_id = "ABCDE12345";
      const { id } = await assistant.plant("ios_app", { bundle_id, team_id, name: "first" });
      return {
        tool: "update_ios_app",
        args: { id, team_id: "OTHER12345" },
        edit: async (name) => {
          const body = { ios_app: { name } };
          const reply = await assistant.world.call("PATCH", `/ios_apps/${id}`, { body });
          return reply.body.team_id === team_id ? "before the act" : "after the act";
        },
        isOnce: false,
        isDone: ({ ios_app }) => ios_app !== undefined,
      };
    },
  ],
  [
    "overwrite a link by its path",
    async (seed) => {
      const old = "https://old.example/";
      const path = `upsert-${seed}`;
      const { id } = await assistant.plant("link", { path, name: "first", url: old });
      return {
        tool: "upsert_link",
        args: { path, url: "https://new.example/" },
        edit: async (name) => {
          const reply = await assistant.world.call("PATCH", `/links/${id}`, { body: { name } });
          return reply.body.url === old ? "before the act" : "after the act";
        },
        isOnce: false,
        isDone: ({ link }) => link !== undefined,
      };
    },
  ],
];

describe.each(scenes)("to %s", (_, setUp) => {
  test(`is done as it was shown, in ${seedsEach} orders`, async () => {
    let done = 0;
    let changed = 0;
    for (let seed = 0; seed < seedsEach; seed += 1) {
      // No budget is spent for the next seed.
      for (const clock of [assistant, assistant.world]) clock.advance(10 * 60_000);
      const scene = await setUp(seed);
      const { acts, edits } = await play(scene, createDice(seed));
      done += acts;
      changed += edits;
    }
    // Orders in which nothing happens prove nothing.
    expect(done).toBeGreaterThan(seedsEach / 4);
    expect(changed).toBeGreaterThan(seedsEach / 4);
  });
});

/** Plays one order: rounds of what happens side by side, until the act is done or given up. */
async function play(scene: Scene, dice: Dice): Promise<{ acts: number; edits: number }> {
  const approved: string[] = [];
  let shown = await ask(scene);
  let lastBefore = "first";
  let acts = 0;
  let edits = 0;
  for (let round = 0; round < 6 && acts === 0; round += 1) {
    const steps = dice.shuffle(
      ["approve", "approve", "edit", "act", "act"].filter(() => dice.roll(2) > 0),
    );
    await Promise.all(
      steps.map(async (step, index) => {
        await pass(dice.roll(12));
        if (step === "approve" && shown !== undefined) {
          const { url, preview } = shown;
          const { html } = await assistant.press(url, "approve");
          if (html.includes("Approved")) approved.push(preview);
        } else if (step === "edit") {
          const mark = `mark-${round}-${index}-${dice.roll(1000)}`;
          edits += 1;
          if ((await scene.edit(mark)) === "before the act") lastBefore = mark;
        } else if (step === "act") {
          const again = await call(scene);
          if (scene.isDone(again)) {
            acts += 1;
            const live = scene.readLive?.(again);
            if (live !== undefined) expectApproved(approved, /<p>(\S+) of/.exec(live)?.[1] ?? "");
          } else shown = readShown(again) ?? shown;
        }
      }),
    );
  }
  // Whatever the target was when it was acted on, a person has approved of just that.
  if (acts > 0 && scene.readLive === undefined) expectApproved(approved, lastBefore);
  // What is as it was asked for already changes nothing, and asks nobody.
  if (scene.isOnce) expect(acts).toBeLessThanOrEqual(approved.length);
  return { acts, edits };
}

function expectApproved(approved: readonly string[], mark: string): void {
  expect(approved.filter((preview) => preview.includes(mark))).not.toEqual([]);
}

type Shown = { readonly url: string; readonly preview: string };

async function call({ tool, args }: Scene): Promise<Structured> {
  return (await assistant.callTool(tool, args)).structured;
}

async function ask(scene: Scene): Promise<Shown | undefined> {
  return readShown(await call(scene));
}

function readShown({ error }: Structured): Shown | undefined {
  const { url, preview } = error?.approval ?? {};
  return url === undefined ? undefined : { url, preview };
}

/** Lets so many turns of the event loop pass. */
async function pass(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

type Dice = {
  readonly roll: (sides: number) => number;
  readonly shuffle: <Item>(items: readonly Item[]) => Item[];
};

function createDice(seed: number): Dice {
  let state = seed * 2_654_435_769 + 1;
  const roll = (sides: number) => {
    state = Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e37_79b9;
    return ((state ^ (state >>> 13)) >>> 0) % sides;
  };
  return { roll, shuffle: (items) => items.toSorted(() => roll(3) - 1) };
}
