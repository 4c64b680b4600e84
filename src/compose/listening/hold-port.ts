import type { Config } from "../../config.ts";
import type { Listening } from "../../mcp/access/listening.ts";
import { describeLinkOrigin } from "../addresses.ts";
import {
  closeHttpServer,
  createHttpServer,
  setRequestHandlers,
  type RequestHandlers,
} from "../http-server.ts";
import { createProcessAnswers, type handedOver } from "./answer-processes.ts";
import type { Place } from "./folder-note.ts";
import { listenOnBoth } from "../listen-on-both.ts";
import type { Signer } from "./signer.ts";

/** A port that a stdio process holds for its data folder, on loopback only. */
export type HeldPort = {
  readonly place: Place;
  readonly listening: Listening;
  /** Listens no more from the call on; resolves when what was asked before is answered. */
  readonly leave: (farewell?: typeof handedOver) => Promise<void>;
};

export type MakeHandlers = (listening: Listening) => RequestHandlers;

type Holding = {
  readonly config: Config;
  readonly signer: Signer;
  readonly makeHandlers: MakeHandlers;
  /** `serve` needs the port. */
  readonly onAskedToLeave: (held: HeldPort) => void;
};

export const loopback = "127.0.0.1";

/** Throws where the port cannot be had. */
export async function holdPort(wanted: number, holding: Holding): Promise<HeldPort> {
  const { config, signer, makeHandlers, onAskedToLeave } = holding;
  const server = createHttpServer();
  const port = await listenOnBoth(server, { host: loopback, port: wanted, hasLocalLinks: true });
  const listening: Listening = {
    url: `http://${loopback}:${port}`,
    links: describeLinkOrigin(config, port),
    isTemporary: config.port !== 0 && port !== config.port,
  };
  const processes = createProcessAnswers({
    signer,
    port,
    readStatement: () => ({ kind: "stdio", ...listening }),
    onAskedToLeave: () => onAskedToLeave(held),
  });
  setRequestHandlers(server, { ...makeHandlers(listening), answerProcess: processes.answer });
  const held: HeldPort = {
    place: { host: loopback, port },
    listening,
    leave: (farewell) => {
      const closed = closeHttpServer(server);
      // Those who follow may try to listen as soon as they hear of it.
      processes.end(farewell);
      return closed;
    },
  };
  return held;
}
