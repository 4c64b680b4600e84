import { readId } from "./link-ids.ts";
import type { Sum } from "./sums.ts";

/** Sums by link of millions of packed ids: a table of numbers, where a Map would take seconds. */
export type LinkSums = {
  /** Adds to the link whose sixteen bytes are at that place. */
  readonly add: (ids: Buffer, place: number, click: number, open: number, install: number) => void;
  readonly find: (id: string) => Sum | undefined;
  /** So many links with the most clicks, and the others together. */
  readonly listBest: (most: number) => {
    readonly best: readonly (readonly [string, Sum])[];
    readonly others: Sum & { readonly links: number };
  };
};

const idBytes = 16;
const firstSlots = 4096;
/** Of what is told of a link. */
const numbers = 3;

type Table = {
  readonly keys: Int32Array;
  readonly sums: Float64Array;
  readonly slots: number;
};

export function createLinkSums(): LinkSums {
  let table = createTable(firstSlots);
  let links = 0;

  function findSlot(key: readonly [number, number, number, number]): number {
    const slot = seek(table, key);
    if (isTaken(table, slot)) return slot;
    if (links * 2 >= table.slots) {
      table = grow(table);
      return findSlot(key);
    }
    links += 1;
    table.keys.set(key, slot * 4);
    return slot;
  }

  const readSum = (slot: number): Sum => {
    const [click = 0, open = 0, install = 0] = table.sums.subarray(
      slot * numbers,
      slot * numbers + numbers,
    );
    return { click, open, install };
  };

  return {
    add: (ids, place, click, open, install) => {
      const at = findSlot(readKey(ids, place)) * numbers;
      const { sums } = table;
      sums[at] = (sums[at] ?? 0) + click;
      sums[at + 1] = (sums[at + 1] ?? 0) + open;
      sums[at + 2] = (sums[at + 2] ?? 0) + install;
    },
    find: (id) => {
      const slot = seek(table, readKey(Buffer.from(id.replaceAll("-", ""), "hex"), 0));
      return isTaken(table, slot) ? readSum(slot) : undefined;
    },
    listBest: (most) => {
      const best: number[] = [];
      const others = { click: 0, open: 0, install: 0, links: 0 };
      for (let slot = 0; slot < table.slots; slot += 1) {
        if (!isTaken(table, slot)) continue;
        let out: number | undefined = slot;
        const last = best.at(-1);
        if (best.length < most || (last !== undefined && compareSlots(table, slot, last) < 0)) {
          const place = best.findIndex((other) => compareSlots(table, slot, other) < 0);
          best.splice(place < 0 ? best.length : place, 0, slot);
          out = best.length > most ? best.pop() : undefined;
        }
        if (out === undefined) continue;
        const { click, open, install } = readSum(out);
        others.click += click;
        others.open += open;
        others.install += install;
        others.links += 1;
      }
      return { best: best.map((slot) => [writeKey(table, slot), readSum(slot)] as const), others };
    },
  };
}

function createTable(slots: number): Table {
  return { keys: new Int32Array(slots * 4), sums: new Float64Array(slots * numbers), slots };
}

function readKey(ids: Buffer, place: number): [number, number, number, number] {
  const at = place * idBytes;
  return [0, 4, 8, 12].map((offset) => ids.readInt32BE(at + offset)) as [
    number,
    number,
    number,
    number,
  ];
}

/** No id is all zeros. */
function isTaken({ keys }: Table, slot: number): boolean {
  const at = slot * 4;
  return (keys[at] ?? 0) !== 0 || (keys[at + 1] ?? 0) !== 0 || (keys[at + 3] ?? 0) !== 0;
}

/** The slot that has the key, or the free one where it belongs. The last bytes are random. */
function seek(table: Table, key: readonly [number, number, number, number]): number {
  const { keys, slots } = table;
  let slot = (key[3] ^ key[2]) & (slots - 1);
  while (isTaken(table, slot)) {
    const at = slot * 4;
    const isOne =
      keys[at + 3] === key[3] &&
      keys[at + 2] === key[2] &&
      keys[at + 1] === key[1] &&
      keys[at] === key[0];
    if (isOne) return slot;
    slot = (slot + 1) & (slots - 1);
  }
  return slot;
}

function grow(table: Table): Table {
  const larger = createTable(table.slots * 2);
  for (let slot = 0; slot < table.slots; slot += 1) {
    if (!isTaken(table, slot)) continue;
    const [one = 0, two = 0, three = 0, four = 0] = table.keys.subarray(slot * 4, slot * 4 + 4);
    const to = seek(larger, [one, two, three, four]);
    larger.keys.set(table.keys.subarray(slot * 4, slot * 4 + 4), to * 4);
    larger.sums.set(table.sums.subarray(slot * numbers, slot * numbers + numbers), to * numbers);
  }
  return larger;
}

/** Clicks first, then opens and installs, and at last the ids, so that the order is always one. */
function compareSlots({ keys, sums }: Table, one: number, other: number): number {
  for (let number = 0; number < numbers; number += 1) {
    const more = (sums[other * numbers + number] ?? 0) - (sums[one * numbers + number] ?? 0);
    if (more !== 0) return more;
  }
  for (let part = 0; part < 4; part += 1) {
    const less = ((keys[one * 4 + part] ?? 0) >>> 0) - ((keys[other * 4 + part] ?? 0) >>> 0);
    if (less !== 0) return less;
  }
  return 0;
}

function writeKey({ keys }: Table, slot: number): string {
  const bytes = Buffer.alloc(idBytes);
  for (let part = 0; part < 4; part += 1) bytes.writeInt32BE(keys[slot * 4 + part] ?? 0, part * 4);
  return readId(bytes, 0);
}
