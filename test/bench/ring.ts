/** Returns the items in turns, and starts again after the last one. */
export function createRing<Item>(items: readonly Item[]): () => Item {
  let turn = 0;
  return () => pickTurn(items, turn++);
}

export function pickTurn<Item>(items: readonly Item[], turn: number): Item {
  const item = items[turn % items.length];
  if (item === undefined) throw new Error("there is nothing to take in turns");
  return item;
}
