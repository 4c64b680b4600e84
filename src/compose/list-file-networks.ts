/** How long the prefix is that a file tells one thing of, this address among them. */
type ReadPrefix = (address: string) => number;

/** The first address of each network that a file tells apart, so many of each family at most. */
export function* listFileNetworks(readPrefix: ReadPrefix, most: number): Generator<string> {
  for (const { start, end, bits, write } of families) {
    let at = start;
    for (let count = 0; count < most && at < end; count += 1) {
      const address = write(at);
      yield address;
      const size = 1n << BigInt(bits - Math.min(bits, readPrefix(address)));
      at = (at / size + 1n) * size;
    }
  }
}

const families = [
  { start: 0n, end: 1n << 32n, bits: 32, write: writeShort },
  // All of it that has been given to anybody: 2000::/3.
  { start: 1n << 125n, end: 1n << 126n, bits: 128, write: writeLong },
] as const;

function writeShort(at: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (at >> shift) & 255n).join(".");
}

function writeLong(at: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => (at >> BigInt(112 - 16 * index)) & 65535n);
  return groups.map((group) => group.toString(16)).join(":");
}
