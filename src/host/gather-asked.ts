/**
 * Finds together what is asked for in one turn of the event loop: one statement for many costs less
 * than one for each, and far less where the database is somewhere else.
 */
export function gatherAsked<Found>(
  findAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, Found>>,
): (key: string) => Promise<Found | undefined> {
  let turn: Promise<ReadonlyMap<string, Found>> | undefined;
  let keys = new Set<string>();

  function find(): Promise<ReadonlyMap<string, Found>> {
    const asked = [...keys];
    keys = new Set();
    turn = undefined;
    return findAll(asked);
  }

  return (key) => {
    keys.add(key);
    turn ??= new Promise((resolve) => setImmediate(() => resolve(find())));
    return turn.then((found) => found.get(key));
  };
}
