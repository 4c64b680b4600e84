import type { KnownKey } from "../contract/access.ts";
import type { Client } from "../client/client.ts";
import type { LinkFields } from "../contract/links.ts";
import type { FieldProblem } from "../contract/problem.ts";
import type { Endpoint } from "../contract/endpoint.ts";

/** Identifies the key that owns a plan or job, and hides both from other keys. */

/** The key that owns a plan or job, and what is needed to call the server with this key. */
export type Owner = {
  readonly key_print: string;
  /**
   * The key's ID in the embedded service. A restarted server uses it to resume the key's jobs.
   * Undefined for a key of a remote server.
   */
  readonly key_id?: string;
  readonly origin: string;
  readonly call: Client["call"];
  /** The ID of the request that caused the work, for the logs. */
  readonly requestId?: string | undefined;
  /** Finds destinations that are not allowed. If omitted, every destination is allowed. */
  readonly checkDestinations?: CheckDestinations;
  /** Whether IDs that are not UUIDs are accepted. Remote servers may use such IDs. */
  readonly takesAnyId?: boolean;
  readonly known?: KnownKey | undefined;
  /** Throws if the key certainly lacks the permission for the endpoint. */
  readonly requireRight?: ((endpoint: Endpoint) => void) | undefined;
};

export type CheckDestinations = (
  fields: LinkFields,
  before?: Readonly<Record<string, unknown>>,
) => readonly FieldProblem[];

/** Returns undefined for a plan or job of another key. */
export function keepOwn<Saved extends { readonly key_print: string }>(
  saved: Saved | undefined,
  { key_print }: Owner,
): Saved | undefined {
  return saved?.key_print === key_print ? saved : undefined;
}
