import type { TestServer } from "../support/mcp-http.ts";
import { openEmbeddedSeat } from "./embedded-seat.ts";
import { runTask, type Seat, type Spent } from "./run-task.ts";
import type { Line, Setting, Task, Place } from "./task.ts";
import { connectCommand } from "./command-client.ts";
import { expect } from "vitest";

/** A client of the built command, which uses a remote `serve` with a key of a new project. */
async function openRemoteSeat(
  { serving, addTenant }: TestServer,
  line: Line,
  setting: Setting,
): Promise<Seat> {
  const { key } = await addTenant({ scopes: setting.scopes ?? [] });
  const env = { WAYPOST_BASE_URL: serving.places.url, WAYPOST_API_KEY: key };
  const api: Place["api"] = async (method, path, body) => {
    const [place = "", query] = path.split("?");
    return serving.call(method, place, { key, ...(body && { body }), ...(query && { query }) });
  };
  const plant: Place["plant"] = async ({
    clicks: _clicks,
    age: _age,
    created_via: _via,
    ...link
  }) => {
    const { status, body } = await api("POST", "/links", link);
    expect([status, body]).toMatchObject([201, {}]);
    return body.id;
  };
  return { ...(await connectCommand(line, setting, env)), place: { api, plant } };
}

/** A client that has started the built command on an empty folder, as on a user's first day. */
async function openStdioSeat(line: Line, setting: Setting): Promise<Seat> {
  const place = { api: refuse, plant: refuse };
  return { ...(await connectCommand(line, setting, { WAYPOST_PORT: "0" })), place };
}

function refuse(): Promise<never> {
  return Promise.reject(new Error("over stdio there is no API"));
}

export function openUsualSeat(
  line: Line,
  setting: Setting,
  readTestServer: () => TestServer,
): Promise<Seat> {
  if (setting.isRemote) return openRemoteSeat(readTestServer(), line, setting);
  if (setting.isStdio) return openStdioSeat(line, setting);
  return openEmbeddedSeat(line, setting);
}

type UnchangedSeat = {
  readonly start: Task["start"];
  readonly setting: string;
  readonly seat: Seat;
};

/** Runs each task with a new project, or with one that an earlier task did not change. */
export function createSeats(open: (setting: Setting) => Promise<Seat>) {
  const untouched: UnchangedSeat[] = [];

  async function take({ start, setting = {} }: Task): Promise<Seat> {
    const text = JSON.stringify(setting);
    const place = untouched.findIndex((kept) => kept.start === start && kept.setting === text);
    const [kept] = place < 0 ? [] : untouched.splice(place, 1);
    if (kept !== undefined) return kept.seat;
    const seat = await open(setting);
    await start?.(seat.place);
    return seat;
  }

  return {
    run: async (task: Task): Promise<Spent> => {
      const seat = await take(task);
      const spent = await runTask(task, seat);
      const { start, setting = {} } = task;
      if (seat.isUntouched()) untouched.push({ start, setting: JSON.stringify(setting), seat });
      else await seat[Symbol.asyncDispose]();
      return spent;
    },
    close: async () => {
      for (const { seat } of untouched) await seat[Symbol.asyncDispose]();
    },
  };
}
