/** Helpers that read and create streams. */

export async function drain<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function* pour<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  yield* items;
}

export function cut(text: string, size: number): AsyncIterable<Uint8Array> {
  const bytes = Buffer.from(text);
  const count = Math.ceil(bytes.length / size);
  const starts = Array.from({ length: count }, (_, index) => index * size);
  return pour(starts.map((start) => bytes.subarray(start, start + size)));
}
