import { readId } from "./link-ids.ts";
import type { Sum } from "./sums.ts";

/** Sums by link of millions of packed ids: a table of numbers, where a Map would take seconds. */
export type LinkSums = {
  /** Adds to links whose ids are packed: three numbers for each, clicks, opens and installs. */
  readonly add: (ids: Buffer, sums: readonly number[]) => void;
  readonly find: (id: string) => Sum | undefined;
  /** So many links with the most clicks, and the others together. */
  readonly listBest: (most: number) => {
    readonly best: readonly (readonly [string, Sum])[];
    readonly others: Sum & { readonly links: number };
  };
};

const idBytes = 16;
/** An id is so many numbers of 32 bits. */
const words = 4;
const firstSlots = 256;
/** Of what is told of a link. */
const numbers = 3;

type Table = {
  readonly keys: Int32Array;
  readonly sums: Float64Array;
  readonly slots: number;
};

/** Sums of a share of the links, which is small enough to stay near the processor. */
type Share = {
  table: Table;
  links: number;
  /** What waits to be added: id and numbers, one link behind the other. */
  readonly waiting: Int32Array;
  filled: number;
};

export function createLinkSums(): LinkSums {
  const shares = Array.from({ length: shareCount }, createShare);

  const listShares = (): readonly Share[] => {
    shares.forEach(addWaiting);
    return shares;
  };

  return {
    add: (packed, sums) => {
      const ids = readWords(packed);
      for (let at = 0, from = 0; at < ids.length; at += words, from += numbers) {
        const share = shares[((ids[at + 2] ?? 0) >>> 24) % shareCount];
        if (share === undefined) continue;
        const { waiting } = share;
        const to = share.filled;
        for (let word = 0; word < words; word += 1) waiting[to + word] = ids[at + word] ?? 0;
        for (let number = 0; number < numbers; number += 1) {
          waiting[to + words + number] = sums[from + number] ?? 0;
        }
        share.filled += entry;
        if (share.filled === waiting.length) addWaiting(share);
      }
    },
    find: (id) => {
      const ids = readWords(Buffer.from(id.replaceAll("-", ""), "hex"));
      const share = listShares()[((ids[2] ?? 0) >>> 24) % shareCount] ?? createShare();
      const slot = seek(share.table, ids, 0);
      return isTaken(share.table, slot) ? readSum(share.table, slot) : undefined;
    },
    listBest: (most) => joinBest(listShares(), most),
  };
}

const shareCount = 64;
const entry = words + numbers;
const mostWaiting = 1024;

function createShare(): Share {
  const waiting = new Int32Array(mostWaiting * entry);
  return { table: createTable(firstSlots), links: 0, waiting, filled: 0 };
}

function addWaiting(share: Share): void {
  const { waiting, filled } = share;
  for (let at = 0; at < filled; at += entry) {
    const slot = seek(share.table, waiting, at);
    const { keys, sums } = share.table;
    if (!isTaken(share.table, slot)) {
      share.links += 1;
      keys.set(waiting.subarray(at, at + words), slot * words);
    }
    for (let number = 0; number < numbers; number += 1) {
      const place = slot * numbers + number;
      sums[place] = (sums[place] ?? 0) + (waiting[at + words + number] ?? 0);
    }
    if (share.links * 2 >= share.table.slots) share.table = grow(share.table);
  }
  share.filled = 0;
}

function joinBest(shares: readonly Share[], most: number): ReturnType<LinkSums["listBest"]> {
  const others = { click: 0, open: 0, install: 0, links: 0 };
  const leave = ({ click, open, install }: Sum, links: number) => {
    others.click += click;
    others.open += open;
    others.install += install;
    others.links += links;
  };
  const found = shares.flatMap(({ table }) => {
    const { best, left } = partBest(table, most);
    leave(left, left.links);
    return best.map((slot) => [writeKey(table, slot), readSum(table, slot)] as const);
  });
  const sorted = found.toSorted(
    ([id, sum], [otherId, other]) =>
      other.click - sum.click ||
      other.open - sum.open ||
      other.install - sum.install ||
      (id < otherId ? -1 : 1),
  );
  for (const [, sum] of sorted.slice(most)) leave(sum, 1);
  return { best: sorted.slice(0, most), others };
}

function partBest(table: Table, most: number) {
  const best: number[] = [];
  const left = { click: 0, open: 0, install: 0, links: 0 };
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
    const { click, open, install } = readSum(table, out);
    left.click += click;
    left.open += open;
    left.install += install;
    left.links += 1;
  }
  return { best, left };
}

function createTable(slots: number): Table {
  return { keys: new Int32Array(slots * words), sums: new Float64Array(slots * numbers), slots };
}

/** Where the bytes lie as numbers do, nothing is copied. */
function readWords(packed: Buffer): Int32Array {
  const { buffer, byteOffset, byteLength } =
    packed.byteOffset % words === 0 ? packed : new Uint8Array(packed);
  return new Int32Array(buffer, byteOffset, byteLength / words);
}

/** No id is all zeros. */
function isTaken({ keys }: Table, slot: number): boolean {
  const at = slot * words;
  return keys[at] !== 0 || keys[at + 1] !== 0 || keys[at + 3] !== 0;
}

/** The slot that has the key, or the free one where it belongs. The last bytes are random. */
function seek({ keys, slots }: Table, ids: Int32Array, at: number): number {
  const one = ids[at] ?? 0;
  const two = ids[at + 1] ?? 0;
  const three = ids[at + 2] ?? 0;
  const four = ids[at + 3] ?? 0;
  let slot = (four ^ three) & (slots - 1);
  for (;;) {
    const place = slot * words;
    const last = keys[place + 3];
    if (last === four && keys[place + 2] === three && keys[place + 1] === two) {
      if (keys[place] === one) return slot;
    }
    if (last === 0 && keys[place] === 0 && keys[place + 1] === 0) return slot;
    slot = (slot + 1) & (slots - 1);
  }
}

function grow(table: Table): Table {
  const larger = createTable(table.slots * 2);
  for (let slot = 0; slot < table.slots; slot += 1) {
    if (!isTaken(table, slot)) continue;
    const to = seek(larger, table.keys, slot * words);
    larger.keys.set(table.keys.subarray(slot * words, (slot + 1) * words), to * words);
    larger.sums.set(table.sums.subarray(slot * numbers, (slot + 1) * numbers), to * numbers);
  }
  return larger;
}

/** Clicks first, then opens and installs, and at last the ids, so that the order is always one. */
function compareSlots({ keys, sums }: Table, one: number, other: number): number {
  for (let number = 0; number < numbers; number += 1) {
    const more = (sums[other * numbers + number] ?? 0) - (sums[one * numbers + number] ?? 0);
    if (more !== 0) return more;
  }
  for (let part = 0; part < words; part += 1) {
    const less = (keys[one * words + part] ?? 0) - (keys[other * words + part] ?? 0);
    if (less !== 0) return less;
  }
  return 0;
}

function readSum({ sums }: Table, slot: number): Sum {
  const at = slot * numbers;
  return { click: sums[at] ?? 0, open: sums[at + 1] ?? 0, install: sums[at + 2] ?? 0 };
}

function writeKey({ keys }: Table, slot: number): string {
  const own = keys.slice(slot * words, (slot + 1) * words);
  return readId(Buffer.from(own.buffer, 0, idBytes), 0);
}
