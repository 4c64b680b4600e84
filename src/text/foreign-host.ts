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
  if (ours === undefined) return `whether ${quote(host)} is its host is not known here`;
  const { place, there } = ours;
  const told =
    there === undefined
      ? `There is nothing at ${quote(place)}`
      : `At ${quote(place)} is the link ${quote(there)}`;
  return `${quote(host)} is not its host, which is ${quote(ours.host)}. ${told}`;
}
