import type { SetAlarm } from "../contract/clock.ts";
import { writeVisits, type Noted } from "../store/installs.ts";
import type { Store } from "../store/store.ts";

/** Resolves when it is written, or there is no way to. */
export type WriteNoted = (noted: Noted) => Promise<void>;

type Options = {
  readonly store: Pick<Store, "write">;
  readonly setAlarm: SetAlarm;
  readonly report: (error: unknown) => unknown;
};

/** Pages tell their visits by themselves and at once: those of one moment share a write. */
const moment_ms = 50;
/** A store that takes nothing must not fill the memory: from here on, nothing is noted. */
const mostGathered = 2000;

export function createNotedWriter({ store, setAlarm, report }: Options): WriteNoted {
  let gathered = new Map<string, Noted>();
  let writing: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  let isFailing = false;

  async function write(): Promise<void> {
    const batch = [...gathered.values()];
    gathered = new Map();
    next = undefined;
    try {
      await store.write((db) => writeVisits(db, batch));
      isFailing = false;
    } catch (error) {
      // They are lost; one report is enough.
      if (!isFailing) report(error);
      isFailing = true;
    }
  }

  /** One write at a time: while the store is slow, more are gathered. */
  function writeSoon(): Promise<void> {
    const waited = new Promise<void>((resolve) => {
      setAlarm(moment_ms, resolve);
    });
    writing = Promise.all([waited, writing]).then(write);
    return writing;
  }

  return (noted) => {
    const { project_id, id } = noted.visit;
    const name = `${project_id} ${id}`;
    const known = gathered.get(name);
    if (known === undefined && gathered.size >= mostGathered) return Promise.resolve();
    if (known === undefined || noted.isWhole) gathered.set(name, noted);
    next ??= writeSoon();
    return next;
  };
}
