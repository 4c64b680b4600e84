import type { SetAlarm } from "../../contract/clock.ts";

/**
 * Lets in so much at a time. What is more waits, and those for whom it waits take turns: one that
 * brings very much waits for itself, and another one never for all of that.
 */
export type Line = {
  /** Undefined where it has to wait. */
  readonly enter: (who: string, weight?: number) => Place | undefined;
  /** Its place, as soon as it has one; undefined where it is given up before. */
  readonly wait: (who: string, givenUp: AbortSignal, weight?: number) => Promise<Place | undefined>;
};

export type Place = {
  /** To be left once; a second time does nothing. */
  readonly leave: () => void;
  /** Gives back what it took beyond that weight. */
  readonly lessen: (weight: number) => void;
};

type Options = {
  readonly most: number;
  readonly mostOfEach?: number;
  /** Where others wait, a place is lost after at most twice that time, and what has it goes on. */
  readonly lost?: { readonly after_ms: number; readonly setAlarm: SetAlarm } | undefined;
};

type Waiting = {
  readonly who: string;
  readonly weight: number;
  readonly letIn: (place: Place) => void;
};

/** For what has to wait for nobody. */
export const noPlace: Place = { leave: () => {}, lessen: () => {} };

export function createLine({ most, mostOfEach = most, lost }: Options): Line {
  const room = createRoom(most, mostOfEach, () => letIn());
  const turns = createTurns();
  let isWatching = false;

  return {
    enter: (who, weight = 1) =>
      turns.count() === 0 && room.fits(who, weight) ? room.take(who, weight) : undefined,
    wait: (who, givenUp, weight = 1) =>
      new Promise((resolve) => {
        if (givenUp.aborted) return resolve(undefined);
        const one: Waiting = {
          who,
          weight,
          letIn: (place) => {
            givenUp.removeEventListener("abort", giveUp);
            resolve(place);
          },
        };
        const giveUp = () => {
          turns.remove(one);
          resolve(undefined);
          letIn();
        };
        givenUp.addEventListener("abort", giveUp, { once: true });
        turns.add(one);
        letIn();
      }),
  };

  function letIn(): void {
    for (let next = findNext(); next !== undefined; next = findNext()) {
      turns.pass(next);
      next.letIn(room.take(next.who, next.weight));
    }
    watchHeld();
  }

  /** What is too much for its own share lets others go first; for the room of all they wait. */
  function findNext(): Waiting | undefined {
    for (const one of turns.listFirst()) {
      if (room.fits(one.who, one.weight)) return one;
      if (!room.fitsAll(one.weight)) return undefined;
    }
    return undefined;
  }

  function watchHeld(): void {
    if (lost === undefined || isWatching || turns.count() === 0) return;
    const long = room.list();
    isWatching = true;
    lost.setAlarm(lost.after_ms, () => {
      for (const { leave } of long) leave();
      isWatching = false;
      watchHeld();
    });
  }
}

/** What is held, by whom. */
function createRoom(most: number, mostOfEach: number, onLeft: () => void) {
  const places = new Set<Place>();
  const heldBy = new Map<string, number>();
  let held = 0;

  const fitsAll = (weight: number) => held + weight <= most;
  const add = (who: string, weight: number) => {
    held += weight;
    const own = (heldBy.get(who) ?? 0) + weight;
    if (own === 0) heldBy.delete(who);
    else heldBy.set(who, own);
  };
  return {
    fitsAll,
    fits: (who: string, weight: number) =>
      fitsAll(weight) && (heldBy.get(who) ?? 0) + weight <= mostOfEach,
    take: (who: string, weight: number): Place => {
      let taken = weight;
      const keep = (most: number) => {
        add(who, Math.min(most - taken, 0));
        taken = Math.min(most, taken);
        onLeft();
      };
      const place: Place = {
        leave: () => {
          if (places.delete(place)) keep(0);
        },
        lessen: (most) => {
          if (places.has(place)) keep(most);
        },
      };
      places.add(place);
      add(who, taken);
      return place;
    },
    list: (): readonly Place[] => [...places],
  };
}

/** Who waits: by whom it is, of whom whose turn is next stands first. */
function createTurns() {
  const waiting = new Map<string, Set<Waiting>>();

  function remove(one: Waiting): void {
    const own = waiting.get(one.who);
    own?.delete(one);
    if (own?.size === 0) waiting.delete(one.who);
  }

  return {
    /** Those for whom something waits. */
    count: () => waiting.size,
    add: (one: Waiting) => {
      waiting.set(one.who, (waiting.get(one.who) ?? new Set()).add(one));
    },
    remove,
    /** Has had its turn: others of the same have theirs after everybody else. */
    pass: (one: Waiting) => {
      remove(one);
      const others = waiting.get(one.who);
      if (others === undefined) return;
      waiting.delete(one.who);
      waiting.set(one.who, others);
    },
    /** What has waited for longest, of each. */
    listFirst: function* () {
      for (const [one] of waiting.values()) if (one !== undefined) yield one;
    },
  };
}
