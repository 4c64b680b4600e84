import { domainToUnicode } from "node:url";
import { foldLookAlikes } from "../text/fold-look-alikes.ts";
import { countEdits } from "../text/nearest-name.ts";

/**
 * Finds the known host that another one is written almost like, without a look at each of them:
 * they are filed by what a slip of the pen leaves as it is.
 */
export function createTwinSearch(known: readonly string[]): (host: string) => string | undefined {
  const byLook = new Map<string, string>();
  const byRest = new Map<string, string[]>();
  // The first of a look is the commonest.
  for (const host of known.toReversed()) byLook.set(readLook(host), host);
  for (const host of known) {
    for (const { rest } of listRests(host)) {
      byRest.set(rest, [...(byRest.get(rest) ?? []), host]);
    }
  }
  return (host) => {
    if (isAddress(host)) return undefined;
    const alike = byLook.get(readLook(host));
    if (alike !== undefined && alike !== host) return alike;
    for (const { rest, label, place } of listRests(host)) {
      const isMeant = (other: string) => isSlip(label, other.split(".")[place] ?? "", rest);
      const meant = byRest.get(rest)?.find(isMeant);
      if (meant !== undefined) return meant;
    }
    return undefined;
  };
}

/** A part of a host's name, and the others with a gap in its place. */
type Rest = { readonly rest: string; readonly label: string; readonly place: number };

function listRests(host: string): readonly Rest[] {
  const labels = host.split(".");
  return labels.map((label, place) => {
    return { rest: labels.with(place, "*").join("."), label, place };
  });
}

/** How the name looks at a glance, where a dot more or less is not seen. */
function readLook(host: string): string {
  return foldLookAlikes(domainToUnicode(host) || host).replace(/[.-]/g, "");
}

/** In a shorter part each letter tells: `us` is not `uk`. More so below a domain. */
const shortest = { bought: 4, before: 6 } as const;
/** Domains that people write so often that they leave a letter out. */
const commonEnds: ReadonlySet<string> = new Set(["com", "org", "net", "app", "info"]);

/** Parts that differ in their numbers alone are meant to. */
function isSlip(label: string, meant: string, rest: string): boolean {
  const isEnd = rest.endsWith(".*") && commonEnds.has(meant) && !commonEnds.has(label);
  const least = /^\*\.[^.]+$/.test(rest) ? shortest.bought : shortest.before;
  if (!isEnd && Math.min(label.length, meant.length) < least) return false;
  const isNumbered = label.replace(/\d+/g, "") === meant.replace(/\d+/g, "");
  return !isNumbered && countEdits(label, meant, 2) === 1;
}

function isAddress(host: string): boolean {
  return host.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(host);
}
