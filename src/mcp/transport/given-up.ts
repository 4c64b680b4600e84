import type { Id } from "./open-ids.ts";

/** What a client gives up while a message is on its way: requests of that may be among it. */
export type GivenUp = {
  readonly ids: ReadonlySet<Id>;
  /** To be called when the message is there. */
  readonly leave: () => void;
};

/** Of one session's client. */
export type GivenUps = {
  readonly listen: () => GivenUp;
  /** For an id that nobody knows. */
  readonly add: (id: Id) => void;
};

/** So many are remembered for a message. */
const mostIds = 16;

export function trackGivenUp(): GivenUps {
  const listening = new Set<Set<Id>>();
  return {
    listen: () => {
      const ids = new Set<Id>();
      listening.add(ids);
      return { ids, leave: () => void listening.delete(ids) };
    },
    add: (id) => {
      for (const ids of listening) if (ids.size < mostIds) ids.add(id);
    },
  };
}
