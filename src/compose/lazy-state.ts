import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { openState, type State } from "../state/state.ts";
import { prepareDataFolder, stateFile } from "./data-folder.ts";
import { clock, random } from "./embedded.ts";

/** Opened when it is first needed: most sessions destroy nothing, and leave no file behind. */
export type LazyState = {
  /** Whether the file is there, made by this process or an earlier one. */
  readonly exists: () => boolean;
  readonly open: () => Promise<State>;
  readonly close: () => Promise<void>;
};

/** A mere look makes no file, and changes none of an earlier version. */
export function createLazyState({ data }: Pick<Config, "data">, isLook = false): LazyState {
  const file = join(data, stateFile);
  let opening: Promise<State> | undefined;

  async function open(): Promise<State> {
    if (!isLook) prepareDataFolder(data);
    return openState(file, { clock, random }, isLook);
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
    close: async () => {
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}
