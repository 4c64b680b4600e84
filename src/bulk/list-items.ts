/** The rows of a JSON file: the list itself, or the one list of objects inside an answer. */
export function listItems(given: unknown): readonly unknown[] | undefined {
  if (Array.isArray(given)) return given;
  if (typeof given !== "object" || given === null) return undefined;
  // `links` is what we, Bitly and Short.io call it, whatever else is beside it.
  if ("links" in given && Array.isArray(given.links)) return given.links;
  const lists = Object.values(given).filter(isListOfObjects);
  return lists.length === 1 ? lists[0] : undefined;
}

function isListOfObjects(value: unknown): value is readonly object[] {
  const isList = Array.isArray(value) && value.length > 0;
  return isList && value.every((item) => typeof item === "object" && item !== null);
}
