import type { KnownKey } from "../contract/access.ts";
import type { Client } from "../client/client.ts";
import type { LinkFields } from "../contract/links.ts";
import type { FieldProblem } from "../contract/problem.ts";
import type { Endpoint } from "../contract/endpoint.ts";

/** The key that owns plans and jobs, with everything needed to call the server. */
export type Owner = {
  readonly key_print: string;
  /**
   * The key's id in the embedded service, which lets a restarted server resume the key's jobs.
   * Empty for a key of a remote server.
   */
  readonly key_id?: string;
  readonly origin: string;
  readonly call: Client["call"];
  /** The id of the request that started the work, for the logs. */
  readonly requestId?: string | undefined;
  /** Finds destinations that are not allowed. By default, every destination is allowed. */
  readonly checkDestinations?: CheckDestinations;
  /** Whether IDs that are not UUIDs are accepted. Remote servers may use them. */
  readonly takesAnyId?: boolean;
  readonly known?: KnownKey | undefined;
  /** Throws if the key is known to lack the permission for the endpoint. */
  readonly requireRight?: ((endpoint: Endpoint) => void) | undefined;
};

/** Lists the fields whose new value redirects to a forbidden host. */
export type CheckDestinations = (
  fields: LinkFields,
  before?: Readonly<Record<string, unknown>>,
) => readonly FieldProblem[];

/** Hides the plans and jobs of other keys. */
export function onlyOwn<Saved extends { readonly key_print: string }>(
  saved: Saved | undefined,
  { key_print }: Owner,
): Saved | undefined {
  return saved?.key_print === key_print ? saved : undefined;
}
