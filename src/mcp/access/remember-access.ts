import type { KeptValues } from "../../state/kept-values.ts";
import type { Access } from "./key-access.ts";
import type { KnownTool } from "./learned-access.ts";

/** Where it is kept; a mere look saves nothing. */
export type KeptAccess = Pick<KeptValues, "list" | "save" | "remove">;

/** What was learned of one key at one remote server, kept for later processes. */
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
  readonly openMemory: (() => Promise<KeptAccess>) | undefined;
  readonly report: (error: unknown) => unknown;
};

export function createAccessMemory(options: MemoryOptions): AccessMemory {
  const { key_print, origin, report } = options;
  const owner = `${key_print} ${origin}`;
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
    const kept = await openMemory();
    const saving = rows.map((known) => {
      const key = `${owner} ${known.tool}`;
      const isForgotten = known.until <= known.at;
      if (isForgotten) return kept.remove("known_access", [key]);
      return kept.save("known_access", key, known, { owner, at: known.at });
    });
    await Promise.all(saving);
  }

  return {
    recall: async (access) => {
      if (isRecalled) return;
      isRecalled = true;
      const known = await openMemory?.()
        .then(({ list }) => list("known_access", owner))
        .catch(giveUp);
      // They were saved by `write`.
      access.recall((known ?? []).map(({ value }) => value as KnownTool));
    },
    isRecalled: () => isRecalled,
    note: (known) => noted.set(known.tool, known),
    write: () => {
      writing = writing.then(writeNoted).catch(giveUp);
      return writing;
    },
  };
}
