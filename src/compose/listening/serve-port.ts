import { setTimeout } from "node:timers/promises";
import { UsageFault, type Config } from "../../config.ts";
import type { Listening } from "../../mcp/access/listening.ts";
import { hasLocalLinks } from "../addresses.ts";
import { readCode } from "../data-folder.ts";
import { clock } from "../embedded.ts";
import type { HttpServer } from "../http-server.ts";
import type { ServedBy } from "../watch-proxies.ts";
import { createProcessAnswers, type ProcessAnswers } from "./answer-processes.ts";
import { askListener } from "./ask-listener.ts";
import {
  findSigner,
  isSamePlace,
  openSigner,
  readNote,
  replaceNote,
  type Place,
} from "./folder-note.ts";
import { listenOnBoth } from "../listen-on-both.ts";
import type { Signer } from "./signer.ts";

/** How `serve` comes by its port, and becomes the listener of its data folder. */

/** A stdio process that is asked leaves the port at once. */
const handOverWithin_ms = 1500;
const announceWithin_ms = 1500;
const tryAgain_ms = 20;

/** Where a stdio process of the same folder has the port, it is asked for it. */
export async function claimPort(server: HttpServer, config: Config): Promise<number> {
  const { host, port } = config;
  const until = clock.monotonic() + handOverWithin_ms;
  for (;;) {
    try {
      return await listenOnBoth(server, { host, port, hasLocalLinks: hasLocalLinks(config) });
    } catch (error) {
      const address = readAddress(error) ?? host;
      const isTaken = readCode(error) === "EADDRINUSE";
      const isInTime = isTaken && clock.monotonic() < until;
      const isComing = isInTime && (await askForPort(config, address));
      if (!isComing) throw explain({ host: address, port }, error, isTaken);
      await setTimeout(tryAgain_ms);
    }
  }
}

/** The address that an error of listening is about: the host, or the other loopback address. */
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

/** Whether it is worth another try. */
async function askForPort({ base_url, data, port }: Config, address: string): Promise<boolean> {
  // A gateway's folder has no listener of its own.
  const signer = base_url === undefined ? findSigner(data) : undefined;
  if (signer === undefined) return false;
  const found = await askListener({ host: nameReachable(address), port }, { signer });
  if (typeof found === "string") return found !== "foreign";
  const isStdio = found.statement.kind === "stdio";
  if (isStdio) await found.askToLeave();
  found.letGo();
  return isStdio;
}

/** Where others on this machine reach a server that listens there. */
function nameReachable(host: string): string {
  const anywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  return anywhere[host] ?? host;
}

type Joining = {
  readonly config: Config;
  readonly port: number;
  readonly listening: Listening;
  readonly readServedBy: () => ServedBy;
  readonly report: (error: unknown) => unknown;
};

/** How `serve` stands to the stdio processes of its folder. */
type ServedFolder = ProcessAnswers & {
  /** From now on they find this process, and follow it. */
  readonly announce: () => Promise<void>;
};

/** Undefined where the secret cannot be read: the folder is served all the same. */
export function joinFolder(joining: Joining): ServedFolder | undefined {
  const { config, port, listening, readServedBy, report } = joining;
  const { data, host } = config;
  const own = { host: nameReachable(host), port };
  const signer = tryOpenSigner(data, report);
  if (signer === undefined) return undefined;
  const readStatement = () => ({ ...listening, ...readServedBy() });
  return {
    ...createProcessAnswers({ signer, port, readStatement }),
    announce: async () => {
      const noted = takeNote(signer).catch(report);
      // Whoever holds the note up holds up no server.
      await Promise.race([noted, setTimeout(announceWithin_ms, undefined, { ref: false })]);
    },
  };

  /** Of several servers of the folder, the first one is told of for as long as it is there. */
  async function takeNote(signer: Signer): Promise<void> {
    for (;;) {
      const note = readNote(data);
      const found = await findOther(note.place, signer);
      if (found?.statement.kind === "serve") {
        void found.ended.then(() => takeNote(signer)).catch(report);
        return;
      }
      const isNoted = replaceNote(data, note, own);
      if (isNoted) await found?.askToLeave();
      found?.letGo();
      if (isNoted) return;
      await setTimeout(tryAgain_ms, undefined, { ref: false });
    }
  }

  async function findOther(noted: Place | undefined, signer: Signer) {
    if (noted === undefined || isSamePlace(own, noted)) return undefined;
    const found = await askListener(noted, { signer });
    return typeof found === "string" ? undefined : found;
  }
}

function tryOpenSigner(data: string, report: Joining["report"]): Signer | undefined {
  try {
    return openSigner(data);
  } catch (error) {
    report(error);
    return undefined;
  }
}
