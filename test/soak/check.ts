/** Something that was checked after a fault, and whether it is as required. */
export type Check = {
  readonly what: string;
  readonly seen: string;
  /** Undefined if nothing is required. */
  readonly isRight: boolean | undefined;
};

export function note(what: string, seen: string | number): Check {
  const text = typeof seen === "number" ? seen.toLocaleString("en") : seen;
  return { what, seen: text, isRight: undefined };
}

/** Nothing of this kind may exist; the first found is shown. */
export function none(what: string, found: readonly string[]): Check {
  const [first = ""] = found;
  const seen = found.length === 0 ? "none" : `${found.length}, such as ${first.slice(0, 200)}`;
  return { what, seen, isRight: found.length === 0 };
}

/** Without a limit, the value is only reported. */
export function atMost(what: string, value: number, unit: string, most: number | undefined): Check {
  const seen = `${value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString("en")} ${unit}`;
  if (most === undefined) return { what, seen, isRight: undefined };
  return { what, seen: `${seen} (at most ${most})`, isRight: value <= most };
}
