import { expect } from "vitest";
import {
  createAssistantWorld,
  type AssistantClient,
  type AssistantOptions,
  type AssistantWorld,
  type Era,
} from "../support/assistant-world.ts";
import { approve } from "../support/mcp-clients.ts";
import { day } from "../support/planting.ts";
import type { World } from "../support/world.ts";
import type { Seat } from "./run-task.ts";
import { slowDown } from "./slow-jobs.ts";
import type { Place, Setting } from "./task.ts";

/** A client of the embedded service, with a new project. */

const second = 1000;

export async function openEmbeddedSeat(era: Era, setting: Setting = {}): Promise<Seat> {
  const asked: string[] = [];
  const assistant = await createAssistantWorld(listOptions(era, setting, asked));
  return openSeat({ era, setting, asked, assistant, countWrites: () => assistant.writes.length });
}

/** The options of an assistant whose user approves, and notes in `asked` what was shown. */
export function listOptions(era: Era, setting: Setting, asked: string[]): AssistantOptions {
  const { mode = "guarded", person = "form", isSlow = false } = setting;
  const elicit = (message: string) => {
    asked.push(message);
    return approve();
  };
  return {
    era,
    mode,
    ...(person === "form" && { elicit }),
    ...(isSlow && { spacing_ms: second }),
  };
}

type Opened = {
  readonly era: Era;
  readonly setting: Setting;
  readonly asked: string[];
  readonly assistant: AssistantWorld;
  readonly countWrites: () => number;
  /** The colleague's key. By default a new one, whose changes only Waypost shows to others. */
  readonly colleague?: string;
};

export async function openSeat({ era, setting, asked, ...opened }: Opened): Promise<Seat> {
  const { assistant, countWrites, colleague } = opened;
  const { scopes, isMaster = false, isSlow = false } = setting;
  const { world } = assistant;
  const key = isMaster ? world.master : scopes && (await world.addKey({ scopes }));
  const own = listOptions(era, setting, asked);
  const client = key === undefined ? assistant : await assistant.connect({ ...own, key });
  return {
    client: isSlow ? slowDown(assistant, second) : letTimePass(client, assistant.advance),
    asked,
    place: openPlace(world),
    join: async () =>
      assistant.connect({ era, elicit: approve, key: colleague ?? (await world.addKey()) }),
    approve: async (url) => {
      asked.push((await assistant.visit(url)).html);
      await assistant.press(url, "approve");
    },
    // Plans and jobs do not affect other tasks, but changes of the project do.
    isUntouched: () => countWrites() === 0,
    [Symbol.asyncDispose]: async () => {
      expect(assistant.reported).toEqual([]);
      await assistant[Symbol.asyncDispose]();
    },
  };
}

/** Lets time pass between calls, as a model would think. */
function letTimePass(client: AssistantClient, advance: AssistantWorld["advance"]): AssistantClient {
  const callTool: AssistantClient["callTool"] = (...call) => {
    advance(second);
    return client.callTool(...call);
  };
  return { ...client, callTool };
}

function openPlace(world: World): Place {
  const api: Place["api"] = (method, path, body) => {
    // Creating the start state must not use up the rate limit.
    world.advance(second);
    return world.call(method, path, body && { body });
  };
  const plant: Place["plant"] = async ({ clicks = 0, age = 0, created_via = "api", ...body }) => {
    const reply = await api("POST", "/links", body);
    expect(reply.status, JSON.stringify([body, reply.body])).toBe(201);
    const { id } = reply.body;
    const created_at = world.now() - age * day;
    await world.store.write((db) =>
      db
        .updateTable("links")
        .set({ clicks, created_via, created_at })
        .where("id", "=", id)
        .execute(),
    );
    return id;
  };
  return { api, plant };
}
