import { UsageFault } from "../../config.ts";

/** The text of a flag as one of the names that it takes. */
export function readChoice<Name extends string>(
  flag: string,
  text: string,
  names: readonly Name[],
): Name {
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  throw new UsageFault(`${flag} cannot be "${text}"; choose one of ${names.join(", ")}`);
}
