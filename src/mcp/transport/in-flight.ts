/** What has begun and not ended, so that a stop can wait for it. */
export type InFlight<Id> = {
  readonly begin: (id: Id) => void;
  readonly end: (id: Id) => void;
  readonly count: () => number;
  /** Resolves when all has ended, or the time is up. */
  readonly finish: (timeout_ms: number) => Promise<void>;
};

export function trackInFlight<Id>(): InFlight<Id> {
  const ids = new Set<Id>();
  let onIdle: (() => void) | undefined;
  return {
    begin: (id) => void ids.add(id),
    end: (id) => {
      ids.delete(id);
      if (ids.size === 0) onIdle?.();
    },
    count: () => ids.size,
    finish: async (timeout_ms) => {
      if (ids.size === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeout_ms);
        onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}
