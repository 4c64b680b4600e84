import { quote } from "./show-hidden.ts";

/**
 * Why an address on another host names none of our links. The same path on our host may be what was
 * meant; a person has to say so.
 */
export function describeForeignHost(
  host: string,
  /** Our own host, the address with the same path there, and what the link there is called. */
  ours: { readonly host: string; readonly place: string; readonly there?: string } | undefined,
): string {
  if (ours === undefined) return `Waypost does not know whether ${quote(host)} is the link host`;
  const { place, there } = ours;
  const told =
    there === undefined
      ? `No link exists at ${quote(place)}`
      : `The link at ${quote(place)} is ${quote(there)}`;
  return `the link host is ${quote(ours.host)}, not ${quote(host)}. ${told}`;
}
