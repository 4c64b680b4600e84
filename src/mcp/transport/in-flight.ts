/** What was begun and is not over yet, so that a stop can wait for it. */
export type InFlight<Id> = {
  readonly begin: (id: Id) => void;
  readonly end: (id: Id) => void;
  readonly count: () => number;
  /** Resolves when nothing runs any more, or the patience is over. */
  readonly finish: (patience_ms: number) => Promise<void>;
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
    finish: async (patience_ms) => {
      if (ids.size === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, patience_ms);
        onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}
