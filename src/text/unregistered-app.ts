import { findNearest } from "./nearest-name.ts";
import { quote } from "./show-hidden.ts";

/** What is said of an app that a link names and nobody has registered: which others there are. */

/** An app by what a person calls it, and by the name that it has in its store. */
export type NamedApp = { readonly name?: unknown; readonly identifier?: unknown };

type Missing = {
  /** `iOS app`. */
  readonly label: string;
  readonly identifier: string;
  /** What only whoever makes the app knows of it: `Team ID`. */
  readonly needs: string;
};

/** More are found with the list of apps. */
const mostTold = 5;

export function describeUnregistered(
  { label, identifier }: Pick<Missing, "label" | "identifier">,
  registered: readonly NamedApp[],
): string {
  const named = registered.map(writeNamedApp).toSorted();
  const told = named.slice(0, mostTold);
  const more = registered.length - told.length;
  const all = more > 0 ? [...told, `${more} more`] : told;
  const others = all.length === 0 ? "" : `; registered: ${all.join(", ")}`;
  return `The ${label} ${writeIdentifier(identifier)} is not registered${others}`;
}

/** A model that is told only what is missing makes it up. */
export function adviseUnregistered(
  { identifier, needs }: Missing,
  registered: readonly NamedApp[],
): string {
  const meant = findMeant(identifier, registered);
  const hint = meant === undefined ? "" : `did you mean ${writeNamedApp(meant)}? `;
  return `${hint}A new app needs its exact ${needs} from the developer: do not guess`;
}

/** `"Acme Shop" (com.acme.shop)`. */
export function writeNamedApp({ name, identifier }: NamedApp): string {
  const told = typeof identifier === "string" ? writeIdentifier(identifier) : undefined;
  if (typeof name !== "string" || name.trim() === "") return told ?? "an app without a name";
  return told === undefined ? quote(name) : `${quote(name)} (${told})`;
}

/** One that another deployment lets in may be any text. */
function writeIdentifier(identifier: string): string {
  return /^[\w.-]{1,80}$/.test(identifier) ? identifier : quote(identifier);
}

function findMeant(wanted: string, registered: readonly NamedApp[]): NamedApp | undefined {
  const called = new Map<string, NamedApp>();
  for (const app of registered) {
    for (const text of [app.name, app.identifier]) {
      if (typeof text === "string") called.set(text, app);
    }
  }
  const nearest = findNearest(wanted, called.keys());
  return nearest === undefined ? undefined : called.get(nearest);
}
