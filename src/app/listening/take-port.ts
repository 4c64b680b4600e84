import { setTimeout } from "node:timers/promises";
import { UsageFault, type Config } from "../../config.ts";
import { readCode } from "../data/file-fault.ts";
import { hasLocalLinks } from "../http/addresses.ts";
import type { HttpServer } from "../http/http-server.ts";
import { listenOnBoth, type ListenPlace } from "../http/listen-on-both.ts";
import { clock } from "../process/embedded.ts";
import { askListener, type Purpose, type Statement } from "./ask-listener.ts";

const tryEvery_ms = 25;
/** How long to wait for a process that is starting on the port or giving it up. */
const changeWithin_ms = 3000;

type TakeOptions = {
  readonly purpose: Purpose;
  readonly data: string;
  readonly isStopped?: () => boolean;
};

/** Listens on a port, or returns the statement of the folder's process that keeps it. */
export async function takePort(
  server: HttpServer,
  place: ListenPlace,
  { purpose, data, isStopped = () => false }: TakeOptions,
): Promise<number | Statement> {
  const until = clock.monotonic() + changeWithin_ms;
  for (;;) {
    try {
      return await listenOnBoth(server, place);
    } catch (error) {
      // If this user may not use the port, no process of the folder has it either.
      if (readCode(error) !== "EADDRINUSE") throw error;
      const asked = { host: findHost(error, place), port: place.port };
      const holder = await askListener(purpose, asked, data);
      const leaves = purpose === "leave" && typeof holder === "object" && holder.kind === "stdio";
      if (typeof holder === "object" && !leaves) return holder;
      // Another program may respond forever like a Waypost process that is starting.
      if (holder === "foreign" || isStopped() || clock.monotonic() > until) throw error;
      await setTimeout(tryEvery_ms);
    }
  }
}

/** Node's errors contain the address: the host, or the other loopback address. */
function findHost(error: unknown, { host }: Pick<ListenPlace, "host">): string {
  return error instanceof Error && "address" in error ? String(error.address) : host;
}

/** Listens for `serve`, and asks a stdio process of the folder to give up the port. */
export async function claimPort(server: HttpServer, config: Config): Promise<number> {
  const { base_url, data, port } = config;
  const place = { ...config, hasLocalLinks: hasLocalLinks(config) };
  // A gateway serves no links of the folder, so it does not take the port of a process that does.
  const take = () =>
    base_url === undefined
      ? takePort(server, place, { purpose: "leave", data })
      : listenOnBoth(server, place);
  const taken = await take().catch((error: unknown) => error);
  if (typeof taken === "number") return taken;
  const host = findHost(taken, config);
  const code = taken instanceof Error ? readCode(taken) : "EADDRINUSE";
  throw new UsageFault(
    code === "EADDRINUSE"
      ? `port ${port} on ${host} is in use; stop the other process or pass --port`
      : `cannot listen on ${host}, port ${port} (${code}); check --host and --port`,
  );
}
