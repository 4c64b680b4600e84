import type { Clock } from "../contract/world.ts";
import { watchChanges } from "../store/changes.ts";
import { findKeyHolder, type KeyHolder } from "../store/keys.ts";
import type { Store } from "../store/store.ts";

/** The keys that were used lately, so that a request need not look its key up again. */
export type Keyring = {
  readonly find: (tokenHash: string) => Promise<KeyHolder | undefined>;
};

const keptKeys = 1000;

/**
 * A revoked key ends when the change is seen. Any change at all empties the ring: plans, roles and
 * suspensions stand in it too.
 */
export function createKeyring(store: Store, clock: Pick<Clock, "monotonic">): Keyring {
  const changes = watchChanges(store, clock);
  const kept = new Map<string, KeyHolder>();
  let epoch = -1;

  return {
    find: async (tokenHash) => {
      const current = await changes.read();
      if (current !== epoch || kept.size >= keptKeys) kept.clear();
      epoch = current;
      const known = kept.get(tokenHash);
      if (known !== undefined) return known;
      const holder = await findKeyHolder(store.db, tokenHash);
      // Meanwhile the ring may have been emptied for a change that this answer does not know.
      if (holder !== undefined && current === epoch) kept.set(tokenHash, holder);
      return holder;
    },
  };
}
