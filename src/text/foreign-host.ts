import { quote } from "./show-hidden.ts";

/**
 * Explains that an address is not on the project's link host. The user may have meant the same path
 * on the link host, but only the user can confirm that.
 */
export function describeForeignHost(
  host: string,
  /**
   * The link host, the address of the same path on it, and the name of the link at that address.
   */
  ours: { readonly host: string; readonly place: string; readonly there?: string } | undefined,
): string {
  if (ours === undefined) return `Waypost does not know whether ${quote(host)} is the link host`;
  const { place, there } = ours;
  const existing =
    there === undefined
      ? `No link exists at ${quote(place)}`
      : `The link at ${quote(place)} is ${quote(there)}`;
  return `the link host is ${quote(ours.host)}, not ${quote(host)}. ${existing}`;
}
