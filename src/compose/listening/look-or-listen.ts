import { UsageFault, type Config } from "../../config.ts";
import type { Listening } from "../../mcp/access/listening.ts";
import { readCode } from "../data-folder.ts";
import { clock } from "../embedded.ts";
import { sleep } from "../open-client.ts";
import { handedOver } from "./answer-processes.ts";
import { askListener, type FoundListener } from "./ask-listener.ts";
import { findListener, type Looked } from "./find-listener.ts";
import { findSigner, isSamePlace, openSigner, readNote, writeNote } from "./folder-note.ts";
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
  /** By the monotonic clock: until then the port is for `serve`. */
  reservedUntil: number;
};

/** `serve` has so long to come after it asked for the port. */
const reservedFor_ms = 900;
const lookAgain_ms = 25;
/** A port that nobody answers at may be about to become free, and be had a moment later. */
const mostRefusals = 10;
/** Whoever does not answer by then is passed over. */
const settleWithin_ms = 2000;
/** Two that begin at the same moment may both note themselves; the later note counts. */
const lookAtNoteAfter_ms = 250;

export function readCurrent({ held, followed }: ListenerState): Listening | undefined {
  return held?.listening ?? followed?.statement;
}

export async function lookOrListen(state: ListenerState): Promise<void> {
  const { config, signal } = state;
  const { data, port, serve } = config;
  const signer = serve ? openSigner(data) : findSigner(data);
  // Where nobody has ever listened, there is nobody to be found.
  if (signer === undefined) return;
  state.signer = signer;
  const usual = { host: loopback, port };
  const refusals = new Map<number, number>();
  const until = clock.monotonic() + settleWithin_ms;
  while (!signal.aborted) {
    const looked = await findListener({ data, signer, usual, signal });
    if (looked.listener !== undefined) return follow(state, looked.listener);
    const isLate = clock.monotonic() > until;
    const passedOver = isLate ? [...looked.foreign, ...looked.unclear] : looked.foreign;
    for (const foreign of passedOver) refusals.set(foreign, mostRefusals);
    const isUnclear = looked.unclear.length > 0 && !isLate;
    const isReserved = isUnclear || clock.monotonic() < state.reservedUntil;
    if (!isReserved && (!serve || (await listen(state, signer, looked, refusals)))) return;
    if (isLate) throw new UsageFault("no port could be had in time");
    await sleep(lookAgain_ms, signal).catch(() => undefined);
  }
}

/** Whether there is nothing more to try: it listens, follows who does, or may not listen. */
async function listen(
  state: ListenerState,
  signer: Signer,
  { noted }: Looked,
  refusals: Map<number, number>,
): Promise<boolean> {
  const { config, makeHandlers, signal } = state;
  if (makeHandlers === undefined) return true;
  const port = choosePort([config.port, noted?.port ?? 0], refusals);
  let own: HeldPort;
  try {
    const onAskedToLeave = (asked: HeldPort) => handOver(state, asked);
    own = await holdPort(port, { config, signer, makeHandlers, onAskedToLeave });
  } catch (error) {
    if (port === 0) throw error;
    // The next look tells whose it is.
    const isTaken = readCode(error) === "EADDRINUSE";
    refusals.set(port, isTaken ? (refusals.get(port) ?? 0) + 1 : mostRefusals);
    return false;
  }
  state.held = own;
  if (signal.aborted) leavePort(state, own);
  else if (!(await yieldToNoted(state, own, signer, noted))) note(state, own, signer);
  return true;
}

/** The folder's last port comes before any other, so that addresses that were told go on. */
function choosePort(candidates: readonly number[], refusals: ReadonlyMap<number, number>): number {
  const isOpen = (port: number) => port !== 0 && (refusals.get(port) ?? 0) < mostRefusals;
  return candidates.find(isOpen) ?? 0;
}

function note(state: ListenerState, own: HeldPort, signer: Signer): void {
  const { config, report } = state;
  try {
    writeNote(config.data, own.place);
  } catch (error) {
    // Others still find it where the settings have it.
    report(error);
  }
  const look = () => void yieldToNoted(state, own, signer).catch(report);
  setTimeout(look, lookAtNoteAfter_ms).unref();
}

/** Of two that listen, the one that the note names goes on. */
export async function checkNote(state: ListenerState): Promise<void> {
  const { held, signer } = state;
  if (held !== undefined && signer !== undefined) await yieldToNoted(state, held, signer);
}

/** Whether another process of ours has come to listen at the same time. */
async function yieldToNoted(
  state: ListenerState,
  own: HeldPort,
  signer: Signer,
  known = own.place,
): Promise<boolean> {
  const noted = readNote(state.config.data);
  const isOther = noted !== undefined && !isSamePlace(own.place, noted);
  if (!isOther || isSamePlace(known, noted)) return false;
  const found = await askListener(noted, { signer, signal: state.signal });
  if (found === "nobody" || found === "foreign") writeNote(state.config.data, own.place);
  if (typeof found === "string") return false;
  if (state.held === own) {
    leavePort(state, own);
    follow(state, found);
  } else {
    found.letGo();
  }
  return true;
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
