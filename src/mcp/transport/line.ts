import type { SetAlarm } from "../../contract/clock.ts";

/**
 * Lets in so much at a time. What is more waits, and those for whom it waits take turns: one that
 * brings very much waits for itself, and another one never for all of that.
 */
export type Line = {
  /** Undefined where it has to wait. */
  readonly enter: (wanted: Wanted) => Place | undefined;
  /** Its place, as soon as it has one; undefined where it is given up before. */
  readonly wait: (wanted: Wanted, givenUp: AbortSignal) => Promise<Place | undefined>;
};

export type Wanted = {
  readonly who: string;
  /** One, where it is left out. */
  readonly weight?: number;
};

export type Place = {
  /** To be left once; a second time does nothing. */
  readonly leave: () => void;
  /** Gives back what it took beyond that weight, and cannot lose the rest. */
  readonly keep: (weight: number) => void;
};

type Options = {
  readonly most: number;
  readonly mostOfEach?: number;
  /** One that others wait for is lost once it was had for so long, before twice of it. */
  readonly lost?: { readonly after_ms: number; readonly setAlarm: SetAlarm } | undefined;
};

type Waiting = Required<Wanted> & { readonly letIn: (place: Place) => void };

/** For what has to wait for nobody. */
export const noPlace: Place = { leave: () => {}, keep: () => {} };

export function createLine({ most, mostOfEach = most, lost }: Options): Line {
  const room = createRoom(most, mostOfEach, () => letIn());
  const turns = createTurns();
  let isWatching = false;

  return {
    enter: (wanted) => {
      const asked = complete(wanted);
      return turns.count() === 0 && room.fits(asked) ? room.take(asked) : undefined;
    },
    wait: (wanted, givenUp) =>
      new Promise((resolve) => {
        if (givenUp.aborted) return resolve(undefined);
        const one: Waiting = {
          ...complete(wanted),
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
      next.letIn(room.take(next));
    }
    watchHeld();
  }

  /** What is too much for its own share lets others go first; for the room of all they wait. */
  function findNext(): Waiting | undefined {
    for (const one of turns.listFirst()) {
      if (room.fits(one)) return one;
      if (!room.fitsAll(one.weight)) return undefined;
    }
    return undefined;
  }

  function watchHeld(): void {
    if (lost === undefined || isWatching || turns.count() === 0) return;
    const long = room.listLosable();
    isWatching = true;
    lost.setAlarm(lost.after_ms, () => {
      const inTheWay = long.filter(({ who }) => isInTheWay(who));
      for (const { lose } of inTheWay) lose();
      isWatching = false;
      watchHeld();
    });
  }

  /** Whoever waits for a share of its own waits for nobody else. */
  function isInTheWay(who: string): boolean {
    for (const one of turns.listFirst()) {
      if (one.who === who || !room.fitsAll(one.weight)) return true;
    }
    return false;
  }
}

function complete({ who, weight = 1 }: Wanted): Required<Wanted> {
  return { who, weight };
}

type Losable = { readonly who: string; readonly lose: () => void };

/** What is held, by whom. */
function createRoom(most: number, mostOfEach: number, onLeft: () => void) {
  const losable = new Set<Losable>();
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
    fits: ({ who, weight }: Required<Wanted>) =>
      fitsAll(weight) && (heldBy.get(who) ?? 0) + weight <= mostOfEach,
    take: ({ who, weight }: Required<Wanted>): Place => {
      let taken = weight;
      const keep = (most: number) => {
        losable.delete(own);
        if (most >= taken) return;
        add(who, most - taken);
        taken = most;
        onLeft();
      };
      const lose = () => {
        if (losable.has(own)) keep(0);
      };
      const own = { who, lose };
      losable.add(own);
      add(who, taken);
      return { leave: () => keep(0), keep };
    },
    listLosable: () => [...losable],
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
