import type { KeptAccess } from "../mcp/access/learned-access.ts";
import type { State } from "../state/state.ts";

/**
 * What is learned of keys, in the state that may be closed soon after: `finish` waits for what is
 * being saved. A mere look saves nothing.
 */
export function openAccessMemory(openState: () => Promise<Pick<State, "kept">>, isLook: boolean) {
  const writing = new Set<Promise<void>>();
  const track = async (write: () => Promise<void>): Promise<void> => {
    if (isLook) return;
    const written = write();
    writing.add(written);
    await written.finally(() => writing.delete(written));
  };
  return {
    open: async (): Promise<KeptAccess> => {
      const { kept } = await openState();
      return {
        list: kept.list,
        save: (...saved) => track(() => kept.save(...saved)),
      };
    },
    finish: async (): Promise<void> => {
      await Promise.allSettled(writing);
    },
  };
}
