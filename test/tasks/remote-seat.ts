import { expect } from "vitest";
import { createAssistantWorld, type Era } from "../support/assistant-world.ts";
import { sendByFetch } from "../support/stage.ts";
import { createWorld, linkOrigin, origin } from "../support/world.ts";
import { alterRecord } from "./altered-records.ts";
import { listOptions, openSeat } from "./embedded-seat.ts";
import type { Seat } from "./run-task.ts";
import { answerAsSpecified } from "./specified-server.ts";
import type { Setting } from "./task.ts";

/** A client of a remote server without what only Waypost has, which may also alter records. */

export type Server = "specified" | "altering";

export async function openSpecifiedSeat(era: Era, setting: Setting, server: Server): Promise<Seat> {
  const asked: string[] = [];
  const faults: string[] = [];
  let writes = 0;
  const world = await createWorld();
  const change = server === "altering" ? alterRecord : undefined;
  const answer = answerAsSpecified(world.fetch, faults, change);
  const assistant = await createAssistantWorld({
    ...listOptions(era, setting, asked),
    beside: world,
    remote: {
      url: origin,
      send: sendByFetch(async (request) => {
        const response = await answer(request);
        // Probes of what a key may do are refused, because they change unknown ids.
        if (request.method !== "GET" && response.ok) writes += 1;
        return response;
      }),
    },
    linkHost: linkOrigin.replace("{subdomain}", "default"),
  });
  const opened = { era, setting, asked, assistant, countWrites: () => writes };
  const seat = await openSeat({ ...opened, colleague: world.key });
  return {
    ...seat,
    [Symbol.asyncDispose]: async () => {
      expect(faults).toEqual([]);
      await seat[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}
