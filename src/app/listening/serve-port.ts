import { setTimeout } from "node:timers/promises";
import { UsageFault, type Config } from "../../config.ts";
import { hasLocalLinks } from "../http/addresses.ts";
import { readCode } from "../data/data-folder.ts";
import { clock } from "../process/embedded.ts";
import type { HttpServer } from "../http/http-server.ts";
import { listenOnBoth } from "../http/listen-on-both.ts";
import { askListener, type ListenerAddress } from "./ask-listener.ts";

/** A stdio process leaves the port as soon as it is asked. */
const handOverWithin_ms = 1500;
const tryAgain_ms = 20;

/** Listens for `serve`. A stdio process of the folder that has the port is asked to leave it. */
export async function claimPort(server: HttpServer, config: Config): Promise<number> {
  const { data, port } = config;
  const until = clock.monotonic() + handOverWithin_ms;
  for (;;) {
    try {
      return await listenOnBoth(server, { ...config, hasLocalLinks: hasLocalLinks(config) });
    } catch (error) {
      // Node's errors name the address: the host, or the other loopback address.
      const { address: host = config.host } = error as { readonly address?: string };
      const isTaken = readCode(error) === "EADDRINUSE";
      // A gateway serves no links of the folder, so it takes no port from a process that does.
      const mayAsk = isTaken && config.base_url === undefined && clock.monotonic() < until;
      if (!mayAsk || !(await askForPort(data, { host, port }))) {
        const fault = isTaken
          ? `port ${port} on ${host} is in use; stop the other process or pass --port`
          : `cannot listen on ${host}, port ${port} (${readCode(error)}); check --host and --port`;
        throw new UsageFault(fault);
      }
      await setTimeout(tryAgain_ms);
    }
  }
}

/** Asks the process that has the port to leave it. True if the port may become free soon. */
async function askForPort(data: string, place: ListenerAddress): Promise<boolean> {
  const holder = await askListener("leave", place, data);
  return holder === "changing" || (typeof holder === "object" && holder.kind === "stdio");
}
