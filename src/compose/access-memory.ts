import type { KnownAccess } from "../state/known-access.ts";
import type { State } from "../state/state.ts";

/**
 * What is learned of keys, in the state that may be closed soon after: `finish` waits for it. A
 * mere look writes nothing down.
 */
export function openAccessMemory(
  openState: () => Promise<Pick<State, "knownAccess">>,
  isLook: boolean,
) {
  const writing = new Set<Promise<void>>();
  return {
    open: async (): Promise<KnownAccess> => {
      const { knownAccess } = await openState();
      return {
        recall: knownAccess.recall,
        remember: (place, learned) => {
          if (isLook) return Promise.resolve();
          const written = knownAccess.remember(place, learned);
          writing.add(written);
          return written.finally(() => writing.delete(written));
        },
      };
    },
    finish: async (): Promise<void> => {
      await Promise.allSettled(writing);
    },
  };
}
