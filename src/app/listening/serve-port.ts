import { setTimeout } from "node:timers/promises";
import { UsageFault, type Config } from "../../config.ts";
import { hasLocalLinks } from "../http/addresses.ts";
import { readCode } from "../data/data-folder.ts";
import { clock } from "../process/embedded.ts";
import type { HttpServer } from "../http/http-server.ts";
import { listenOnBoth } from "../http/listen-on-both.ts";
import { askListener, askToLeave, type Place } from "./ask-listener.ts";
import { findSigner } from "./folder-signer.ts";

/** A stdio process leaves the port as soon as it is asked. */
const handOverWithin_ms = 1500;
const tryAgain_ms = 20;

/** Listens for `serve`. A stdio process of the folder that has the port is asked to leave it. */
export async function claimPort(server: HttpServer, config: Config): Promise<number> {
  const { host, port } = config;
  const until = clock.monotonic() + handOverWithin_ms;
  for (;;) {
    try {
      return await listenOnBoth(server, { host, port, hasLocalLinks: hasLocalLinks(config) });
    } catch (error) {
      const place = { host: readAddress(error) ?? host, port };
      const isTaken = readCode(error) === "EADDRINUSE";
      const isInTime = isTaken && clock.monotonic() < until;
      const isComing = isInTime && (await askForPort(config, place));
      if (!isComing) throw explain(place, error, isTaken);
      await setTimeout(tryAgain_ms);
    }
  }
}

/** The address that could not be used: the host, or the other loopback address. */
function readAddress(error: unknown): string | undefined {
  if (!(error instanceof Error && "address" in error)) return undefined;
  return typeof error.address === "string" ? error.address : undefined;
}

function explain({ host, port }: Place, error: unknown, isTaken: boolean): UsageFault {
  return new UsageFault(
    isTaken
      ? `port ${port} on ${host} is in use; stop the other process or pass --port`
      : `cannot listen on ${host}, port ${port} (${readCode(error)}); check --host and --port`,
  );
}

/** Whether the port may become free soon. */
async function askForPort({ base_url, data }: Config, place: Place): Promise<boolean> {
  // The folder of a gateway has no listener.
  const signer = base_url === undefined ? findSigner(data) : undefined;
  if (signer === undefined) return false;
  const found = await askListener(place, signer);
  if (typeof found === "string") return found !== "foreign";
  const isStdio = found.kind === "stdio";
  if (isStdio) await askToLeave(place, found, signer);
  return isStdio;
}
