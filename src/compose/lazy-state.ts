import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { openState, type State } from "../state/state.ts";
import { prepareDataFolder, stateFile } from "./data-folder.ts";
import { clock, random } from "./embedded.ts";
import { removeEndedFiles } from "./export-files.ts";

/** Opened when it is first needed: most sessions destroy nothing, and leave no file behind. */
export type LazyState = {
  /** Whether the file is there, made by this process or an earlier one. */
  readonly exists: () => boolean;
  readonly open: () => Promise<State>;
  /** Whether what is open has the tables of this version; what was never needed is not opened. */
  readonly isCurrent: () => Promise<boolean>;
  /** Undefined where nothing is open. */
  readonly peek: () => State | undefined;
  readonly close: () => Promise<void>;
};

/** What is kept for a while goes soon after its end, and at the latest with the next start. */
const removeEvery_ms = 60_000;

/** A mere look makes no file, and changes none of an earlier version. */
export function createLazyState({ data }: Pick<Config, "data">, isLook = false): LazyState {
  const file = join(data, stateFile);
  let opening: Promise<State> | undefined;
  let opened: State | undefined;
  let removing: NodeJS.Timeout | undefined;

  async function open(): Promise<State> {
    if (!isLook) prepareDataFolder(data);
    const state = await openState(file, { clock, random }, isLook);
    opened = state;
    if (isLook) return state;
    const remove = () => {
      // What cannot be removed now, because the disk is full, say, is removed later.
      removeEnded(state, data).catch(() => undefined);
    };
    remove();
    removing = setInterval(remove, removeEvery_ms).unref();
    return state;
  }

  return {
    exists: () => existsSync(file),
    open: () => {
      opening ??= open().catch((error: unknown) => {
        // The next call tries again.
        opening = undefined;
        throw error;
      });
      return opening;
    },
    peek: () => opened,
    isCurrent: async () => opening === undefined || (await opening).isCurrent(),
    close: async () => {
      clearInterval(removing);
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}

async function removeEnded({ approvals, exports, previews }: State, data: string): Promise<void> {
  await removeEndedFiles(data, clock.now());
  await approvals.removeEnded();
  await exports.removeEnded();
  await previews.removeEnded();
}
