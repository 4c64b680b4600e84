import { UsageFault, type Config } from "../../config.ts";
import type { Listening } from "../../mcp/access/listening.ts";
import { readCode } from "../data-folder.ts";
import { clock } from "../embedded.ts";
import { sleep } from "../open-client.ts";
import { handedOver } from "./answer-processes.ts";
import { askListener, type FoundListener } from "./ask-listener.ts";
import { findListener, type Looked } from "./find-listener.ts";
import {
  findSigner,
  isSamePlace,
  openSigner,
  readNote,
  replaceNote,
  type Note,
} from "./folder-note.ts";
import { holdPort, loopback, type HeldPort, type MakeHandlers } from "./hold-port.ts";
import type { Signer } from "./signer.ts";

/** Follows the process that listens for a data folder, or listens where none does. */

/** What one process knows and holds; while it settles it has neither of the two. */
export type ListenerState = {
  readonly config: Config;
  readonly report: (error: unknown) => unknown;
  /** Aborted when the process ends. */
  readonly signal: AbortSignal;
  readonly settle: () => Promise<void>;
  /** Ports that are left, and answer what was asked before. */
  readonly leaving: Set<Promise<void>>;
  makeHandlers: MakeHandlers | undefined;
  held: HeldPort | undefined;
  followed: FoundListener | undefined;
  signer: Signer | undefined;
  /** Ports that were passed over, for nobody answered there in time. */
  readonly silent: Set<number>;
  /** By the monotonic clock: until then the port is for `serve`. */
  reservedUntil: number;
};

/** `serve` has so long to come after it asked for the port. */
const reservedFor_ms = 900;
const lookAgain_ms = 25;
/** A port that nobody answers at may be about to become free, and be had a moment later. */
const mostRefusals = 10;
/** Whoever does not answer by then is passed over. */
const answerWithin_ms = 2000;
/** By then a port is had, or none can be. */
const settleWithin_ms = 6000;

export function readCurrent({ held, followed }: ListenerState): Listening | undefined {
  return held?.listening ?? followed?.statement;
}

export async function lookOrListen(state: ListenerState): Promise<void> {
  const { config, signal, silent } = state;
  const { data, port, serve } = config;
  const signer = serve ? openSigner(data) : findSigner(data);
  // Where nobody has ever listened, there is nobody to be found.
  if (signer === undefined) return;
  state.signer = signer;
  const refusals = new Map<number, number>();
  const started = clock.monotonic();
  let waiting = started;
  while (!signal.aborted) {
    // A silent port was waited for once: another takes over without that.
    const usual = silent.has(port) ? undefined : { host: loopback, port };
    const looked = await findListener({ data, signer, usual, signal });
    const isLate = clock.monotonic() - waiting > answerWithin_ms;
    const { listener, foreign, unclear } = looked;
    if (listener !== undefined) {
      for (const other of looked.silent) silent.add(other);
      return follow(state, listener);
    }
    if (isLate) for (const other of unclear) silent.add(other);
    for (const refused of [...foreign, ...silent]) refusals.set(refused, mostRefusals);
    const isUnclear = unclear.length > 0 && !isLate;
    const isReserved = isUnclear || clock.monotonic() < state.reservedUntil;
    if (!isReserved) {
      const tried = serve ? await listen(state, signer, looked, refusals) : "settled";
      if (tried === "settled") return;
      // Then another one has come to listen, and has its time to answer.
      if (tried === "outrun") waiting = clock.monotonic();
    }
    if (clock.monotonic() - started > settleWithin_ms) {
      throw new UsageFault("no port became free in time");
    }
    await sleep(lookAgain_ms, signal).catch(() => undefined);
  }
}

/** Settled is who listens or may not, refused who has not got the port. */
type Tried = "settled" | "refused" | "outrun";

async function listen(
  state: ListenerState,
  signer: Signer,
  { note }: Looked,
  refusals: Map<number, number>,
): Promise<Tried> {
  const { config, makeHandlers, signal } = state;
  if (makeHandlers === undefined) return "settled";
  const port = choosePort([config.port, note.place?.port ?? 0], refusals);
  let own: HeldPort;
  try {
    const onAskedToLeave = (asked: HeldPort) => handOver(state, asked);
    own = await holdPort(port, { config, signer, makeHandlers, onAskedToLeave });
  } catch (error) {
    if (port === 0) throw error;
    // The next look tells whose it is.
    const isTaken = readCode(error) === "EADDRINUSE";
    refusals.set(port, isTaken ? (refusals.get(port) ?? 0) + 1 : mostRefusals);
    return "refused";
  }
  state.held = own;
  if (!signal.aborted && isNoted(state, own, note)) return "settled";
  leavePort(state, own);
  return "outrun";
}

/** Of several that found nobody one alone is noted; the others look again, and find it. */
function isNoted({ config, report }: ListenerState, own: HeldPort, known: Note): boolean {
  try {
    return replaceNote(config.data, known, own.place);
  } catch (error) {
    // Nothing can be written there. Others still find it where the settings have it.
    report(error);
    return true;
  }
}

/** The folder's last port comes before any other, so that addresses that were told go on. */
function choosePort(candidates: readonly number[], refusals: ReadonlyMap<number, number>): number {
  const isOpen = (port: number) => port !== 0 && (refusals.get(port) ?? 0) < mostRefusals;
  return candidates.find(isOpen) ?? 0;
}

/** Who was too busy to answer may have been passed over: the one that is noted goes on. */
export async function checkNote(state: ListenerState): Promise<void> {
  const { config, held, signal, signer } = state;
  if (held === undefined || signer === undefined) return;
  const note = readNote(config.data);
  if (note.place === undefined || isSamePlace(held.place, note.place)) return;
  const found = await askListener(note.place, { signer, signal });
  const isStillHeld = state.held === held;
  if (typeof found !== "string") {
    if (!isStillHeld) return found.letGo();
    leavePort(state, held);
    follow(state, found);
  } else if (isStillHeld && (found === "nobody" || found === "foreign")) {
    replaceNote(config.data, note, held.place);
  }
}

function handOver(state: ListenerState, own: HeldPort): void {
  if (state.held !== own) return;
  state.reservedUntil = clock.monotonic() + reservedFor_ms;
  leavePort(state, own, handedOver);
  void state.settle();
}

export function leavePort(state: ListenerState, own: HeldPort, farewell?: typeof handedOver): void {
  const { leaving } = state;
  state.held = undefined;
  const left = own.leave(farewell).finally(() => leaving.delete(left));
  leaving.add(left);
}

function follow(state: ListenerState, found: FoundListener): void {
  state.followed = found;
  void found.ended.then(({ isHandedOver }) => {
    if (state.followed !== found) return;
    state.followed = undefined;
    if (isHandedOver) state.reservedUntil = clock.monotonic() + reservedFor_ms;
    // Once whoever found it is done with that.
    if (!state.signal.aborted) setImmediate(() => void state.settle());
  });
}
