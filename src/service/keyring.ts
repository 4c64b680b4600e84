import type { Clock } from "../contract/world.ts";
import { findKeyHolder, type KeyHolder } from "../store/keys.ts";
import type { Store } from "../store/store.ts";

/** The keys that were used lately, so that a request need not look its key up again. */
export type Keyring = {
  readonly find: (tokenHash: string) => Promise<KeyHolder | undefined>;
};

/** How long another process's change may stay unseen: a revoked key ends within this time. */
const trusted_ms = 250;
const keptKeys = 1000;

/**
 * Whatever this process writes is seen at once, and what another one writes when the store is
 * asked for its version again. Any change at all empties the ring: plans, roles and suspensions
 * stand in it too.
 */
export function createKeyring(store: Store, { monotonic }: Pick<Clock, "monotonic">): Keyring {
  const kept = new Map<string, KeyHolder>();
  let version = -1;
  let writes = -1;
  let askedAt = -Infinity;

  function isTrusted(): boolean {
    return monotonic() - askedAt < trusted_ms && writes === store.countWrites();
  }

  async function refresh(): Promise<void> {
    const now = monotonic();
    const written = store.countWrites();
    const current = await store.readVersion();
    writes = written;
    askedAt = now;
    if (current === version && kept.size < keptKeys) return;
    version = current;
    kept.clear();
  }

  return {
    find: async (tokenHash) => {
      if (!isTrusted()) await refresh();
      const known = kept.get(tokenHash);
      if (known !== undefined) return known;
      const before = version;
      const holder = await findKeyHolder(store.db, tokenHash);
      // Meanwhile the ring may have been emptied for a change that this answer does not know.
      if (holder !== undefined && before === version) kept.set(tokenHash, holder);
      return holder;
    },
  };
}
