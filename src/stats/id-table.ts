import { idWords } from "./link-ids.ts";

/** Places for ids among numbers, open addressed: a Map of millions would take seconds. */
export type IdTable = {
  readonly slots: number;
  readonly keys: Uint32Array;
};

/** Never filled by more than a half. */
export function createIdTable(mostIds: number): IdTable {
  const slots = 2 ** Math.ceil(Math.log2(Math.max(mostIds, 1) * 2));
  return { slots, keys: new Uint32Array(slots * idWords) };
}

/** The slot that has the id, or the free one where it belongs. The last bytes are random. */
export function seekId({ keys, slots }: IdTable, ids: Uint32Array, at: number): number {
  const one = ids[at] ?? 0;
  const two = ids[at + 1] ?? 0;
  const three = ids[at + 2] ?? 0;
  const four = ids[at + 3] ?? 0;
  let slot = (four ^ three) & (slots - 1);
  for (;;) {
    const place = slot * idWords;
    const last = keys[place + 3];
    if (last === four && keys[place + 2] === three && keys[place + 1] === two) {
      if (keys[place] === one) return slot;
    }
    if (last === 0 && keys[place] === 0 && keys[place + 1] === 0) return slot;
    slot = (slot + 1) & (slots - 1);
  }
}

/** No id is all zeros. */
export function isTaken({ keys }: IdTable, slot: number): boolean {
  const at = slot * idWords;
  return keys[at] !== 0 || keys[at + 1] !== 0 || keys[at + 3] !== 0;
}

export function putId({ keys }: IdTable, slot: number, ids: Uint32Array, at: number): void {
  const to = slot * idWords;
  keys[to] = ids[at] ?? 0;
  keys[to + 1] = ids[at + 1] ?? 0;
  keys[to + 2] = ids[at + 2] ?? 0;
  keys[to + 3] = ids[at + 3] ?? 0;
}

export function clearSlot({ keys }: IdTable, slot: number): void {
  const at = slot * idWords;
  keys[at] = 0;
  keys[at + 1] = 0;
  keys[at + 2] = 0;
  keys[at + 3] = 0;
}
