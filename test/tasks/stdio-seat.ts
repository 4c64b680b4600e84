import { connectCommand } from "./command-client.ts";
import type { Seat } from "./run-task.ts";
import type { Line, Setting } from "./task.ts";

/** A client that has started the built command on an empty folder, as on a user's first day. */
export async function openStdioSeat(line: Line, setting: Setting): Promise<Seat> {
  const place = { api: refuse, plant: refuse };
  return { ...(await connectCommand(line, setting, { WAYPOST_PORT: "0" })), place };
}

function refuse(): Promise<never> {
  return Promise.reject(new Error("over stdio there is no API"));
}
