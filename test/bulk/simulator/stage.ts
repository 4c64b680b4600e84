import { apiPrefix } from "../../../src/contract/index.ts";
import { origin } from "../../support/world.ts";
import { createChance, type Chance } from "../../support/chance.ts";
import { createSimulatedNetwork, type SimulatedNetwork } from "./simulated-network.ts";
import type { SeedCounts } from "./figures.ts";
import type { Service } from "./shared-service.ts";
import { startInstance, type Instance, type Machine } from "./instance.ts";
import type { Answer } from "./misdeeds.ts";
import { readPath, readTarget, type SimPlan } from "./planned.ts";
import { createTruth, isSameLink, type RowName, type Truth } from "./truth.ts";
import { createVirtualTime, type VirtualTime } from "./virtual-time.ts";

/** An ID that no link has. */
export const missingId = "0190a000-0000-7000-8000-000000000000";

/** The project, time, network and processes of one seed, and the problems found. */
export type Model = {
  readonly seed: number;
  readonly service: Service;
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly truth: Truth;
  readonly door: SimulatedNetwork;
  readonly figures: SeedCounts;
  readonly story: readonly string[];
  readonly complaints: readonly string[];
  readonly note: (text: string) => void;
  readonly complain: (text: string) => void;
  readonly start: () => Instance;
  readonly killAll: () => void;
  readonly askAsOther: (method: string, path: string, body?: unknown) => Promise<Answer>;
  readonly begin: (planned: SimPlan) => void;
  /** The rows for which a request was made, whether or not it was sent. */
  readonly attempted: ReadonlySet<RowName>;
  /** The number of writes when the result of each row was saved. */
  readonly ended: ReadonlyMap<RowName, number>;
  readonly setCancelled: (isCancelled: boolean) => void;
};

export async function openStage(
  service: Service,
  seed: number,
  figures: SeedCounts,
): Promise<Model> {
  const { world, state, clock } = service;
  service.setAhead(0);
  const project = await world.addProject();
  const [key, otherKey] = [await world.addKey({ project }), await world.addKey({ project })];
  const chance = createChance(seed, "events");
  const time = createVirtualTime(world.advance);
  const truth = createTruth();
  const story = startStory(time);
  const { note, complain } = story;
  const watch = createWatch({ truth, complain });
  const door = createSimulatedNetwork({
    world,
    time,
    truth,
    chance,
    key,
    attribute: watch.attribute,
    note,
    complain,
    countFault: (kind) => figures.add(`fault: ${kind}`),
  });
  const random = createChance(seed, "product");
  const parts = { time, state, clock, random, key, keyPrint: project.id, note };
  const machine: Machine = {
    ...parts,
    connect: door.connect,
    watchSent: (name, position) => watch.noteSent(door, name, position),
    watchEnd: watch.noteEnd,
  };
  const crowd: Instance[] = [];
  return {
    seed,
    service,
    time,
    chance,
    truth,
    door,
    figures,
    ...story,
    start: () => {
      const instance = startInstance(machine, `process ${crowd.length + 1}`);
      crowd.push(instance);
      return instance;
    },
    killAll: () => {
      for (const instance of crowd) instance.kill();
    },
    askAsOther: (method, path, body) =>
      time.perform(async () => {
        const reply = await world.answer({
          method,
          url: origin + apiPrefix + path,
          headers: { authorization: `Token ${otherKey}`, "content-type": "application/json" },
          body: body === undefined ? undefined : JSON.stringify(body),
        });
        truth.record({ method, path }, reply);
        if (method !== "GET") note(`another user: ${method} ${path} ${JSON.stringify(body)}`);
        return reply;
      }),
    begin: watch.begin,
    attempted: watch.attempted,
    ended: watch.ended,
    setCancelled: watch.setCancelled,
  };
}

function startStory({ elapsed }: VirtualTime) {
  const story: string[] = [];
  const complaints: string[] = [];
  const note = (text: string) => void story.push(`${String(elapsed()).padStart(9)} ${text}`);
  const complain = (text: string) => {
    complaints.push(text);
    note(`WRONG: ${text}`);
  };
  return { story, complaints, note, complain };
}

type WatchParts = Pick<Model, "truth" | "complain">;

/** Checks each write while it happens, as it cannot be checked afterwards. */
function createWatch({ truth, complain }: WatchParts) {
  const attempted = new Set<RowName>();
  const ended = new Map<RowName, number>();
  let planned: SimPlan | undefined;
  let isCancelled = false;

  const attribute: Parameters<typeof createSimulatedNetwork>[0]["attribute"] = (request, name) => {
    // A request for the missing link is not part of a plan.
    if (readPath(request) === `/links/${missingId}`) return undefined;
    const position = planned?.findRow(request);
    if (planned === undefined || position === undefined) {
      const { method, url } = request;
      complain(`${name} sends an unplanned write: ${method} ${url.split(apiPrefix)[1]}`);
      return undefined;
    }
    const row = planned.name(position);
    attempted.add(row);
    return row;
  };

  /** Checks that a process saw the link as planned just before it sent the row. */
  function noteSent(door: SimulatedNetwork, name: string, position: number): void {
    const row = planned?.rows[position];
    if (planned === undefined || row === undefined) return;
    if (isCancelled) complain(`${planned.name(position)} is started after the job was cancelled`);
    const reading = door.findRead(name, readTarget(row));
    if (reading === undefined) {
      complain(`${planned.name(position)} is sent without having been read again`);
    } else if (!isSameLink(row.before ?? undefined, reading.link)) {
      complain(`${planned.name(position)} is sent over a later change of someone else`);
    }
  }

  return {
    attempted,
    ended,
    attribute,
    noteSent,
    noteEnd: (position: number) => {
      if (planned !== undefined) ended.set(planned.name(position), truth.writes.length);
    },
    begin: (next: SimPlan) => {
      planned = next;
    },
    setCancelled: (is: boolean) => {
      isCancelled = is;
    },
  };
}
