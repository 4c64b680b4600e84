import { findNearest } from "./nearest-name.ts";
import { quote } from "./show-hidden.ts";

/** Messages about unregistered apps that a link refers to. */

/** An app's display name, and its bundle ID or package name. */
export type NamedApp = { readonly name?: unknown; readonly identifier?: unknown };

type UnregisteredApp = {
  /** `iOS app` or `Android app`. */
  readonly label: string;
  readonly identifier: string;
  /** The values that only the app's developer knows, such as the Team ID. */
  readonly needs: string;
};

const mostListed = 5;

export function describeUnregistered(
  { label, identifier }: Pick<UnregisteredApp, "label" | "identifier">,
  registered: readonly NamedApp[],
): string {
  const named = registered.map(writeNamedApp).toSorted();
  const listed = named.slice(0, mostListed);
  const more = registered.length - listed.length;
  const all = more > 0 ? [...listed, `${more} more`] : listed;
  const others = all.length === 0 ? "" : `; registered: ${all.join(", ")}`;
  return `The ${label} ${writeIdentifier(identifier)} is not registered${others}`;
}

/** Advises assistants not to invent the values that are missing. */
export function adviseUnregistered(
  { identifier, needs }: UnregisteredApp,
  registered: readonly NamedApp[],
): string {
  const similar = findSimilar(identifier, registered);
  const hint = similar === undefined ? "" : `did you mean ${writeNamedApp(similar)}? `;
  return `${hint}A new app needs its exact ${needs} from the developer: do not guess`;
}

/** Formats an app as `"Acme Shop" (com.acme.shop)`. */
export function writeNamedApp({ name, identifier }: NamedApp): string {
  const written = typeof identifier === "string" ? writeIdentifier(identifier) : undefined;
  if (typeof name !== "string" || name.trim() === "") return written ?? "an app without a name";
  return written === undefined ? quote(name) : `${quote(name)} (${written})`;
}

/** Quoted unless plain, because a remote server may accept any text as an identifier. */
function writeIdentifier(identifier: string): string {
  return /^[\w.-]{1,80}$/.test(identifier) ? identifier : quote(identifier);
}

function findSimilar(identifier: string, registered: readonly NamedApp[]): NamedApp | undefined {
  const byName = new Map<string, NamedApp>();
  for (const app of registered) {
    for (const text of [app.name, app.identifier]) {
      if (typeof text === "string") byName.set(text, app);
    }
  }
  const nearest = findNearest(identifier, byName.keys());
  return nearest === undefined ? undefined : byName.get(nearest);
}
