/** Describes an API key to people without revealing it. */

/** Uses the end of the id, because its start may only be a time. */
export function nameKey({ id }: { readonly id: string }): string {
  return `…${id.slice(-8)}`;
}

/** An empty list means all scopes. */
export function describeKeyAccess(role: string, scopes: readonly string[]): string {
  return `role ${role}, ${scopes.length === 0 ? "all scopes" : scopes.join(", ")}`;
}
