/** An API key, as people are told of it: nothing of these words lets anybody use it. */

/** By the end of its id, for its beginning may only be a time. */
export function nameKey({ id }: { readonly id: string }): string {
  return `…${id.slice(-8)}`;
}

/** No scopes are all of them. */
export function describeKeyAccess(role: string, scopes: readonly string[]): string {
  return `role ${role}, ${scopes.length === 0 ? "all scopes" : scopes.join(", ")}`;
}
