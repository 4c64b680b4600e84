import type { KnownAccess, KnownTool } from "../../state/known-access.ts";
import type { Access } from "./key-access.ts";

/** What was learned of one key at one deployment, kept for later processes. */
export type AccessMemory = {
  /** Tells it what earlier processes have learned; once. */
  readonly recall: (access: Access) => Promise<void>;
  readonly isRecalled: () => boolean;
  readonly note: (known: KnownTool) => void;
  /** Writes down what was noted. */
  readonly write: () => Promise<void>;
};

type MemoryOptions = {
  readonly key_print: string;
  readonly origin: string;
  /** Undefined where nothing is learned: of no key, and of those that are known. */
  readonly openMemory: (() => Promise<KnownAccess>) | undefined;
  readonly report: (error: unknown) => unknown;
};

export function createAccessMemory(options: MemoryOptions): AccessMemory {
  const { key_print, origin, report } = options;
  const place = { key_print, origin };
  let { openMemory } = options;
  let isRecalled = false;
  let writing: Promise<void> = Promise.resolve();
  /** The latest of each tool. */
  const noted = new Map<string, KnownTool>();

  /** Where the data folder cannot be used, each process learns for itself. */
  function giveUp(error: unknown): void {
    openMemory = undefined;
    report(error);
  }

  async function writeNoted(): Promise<void> {
    if (openMemory === undefined || noted.size === 0) return;
    const rows = [...noted.values()];
    noted.clear();
    await (await openMemory()).remember(place, rows);
  }

  return {
    recall: async (access) => {
      if (isRecalled) return;
      isRecalled = true;
      const known = await openMemory?.()
        .then(({ recall }) => recall(place))
        .catch(giveUp);
      access.recall(known ?? []);
    },
    isRecalled: () => isRecalled,
    note: (known) => noted.set(known.tool, known),
    write: () => {
      writing = writing.then(writeNoted).catch(giveUp);
      return writing;
    },
  };
}
