import type { KnownKey } from "../contract/access.ts";
import type { Client } from "../client/client.ts";
import type { Leaving } from "../contract/waiting.ts";
import type { LinkFields } from "../contract/links.ts";
import type { FieldProblem } from "../contract/problem.ts";
import type { Endpoint } from "../contract/endpoint.ts";

/** The key that plans and jobs belong to, and how calls are made with it. */
export type Owner = {
  readonly key_print: string;
  /**
   * The embedded service's own id of the key, and empty for a remote server's key. A start resumes
   * jobs by it; left out, no start does.
   */
  readonly key_id?: string;
  /** The deployment's address. */
  readonly origin: string;
  readonly call: Client["call"];
  /** The id by which logs name the request that the work belongs to. */
  readonly requestId?: string | undefined;
  /** Finds destinations that are not allowed; left out, every destination is. */
  readonly checkDestinations?: CheckDestinations;
  /** The host of the project's links, if known. */
  readonly linkHost?: string | undefined;
  /** Whether the server keeps deleted links in a bin and can restore them unchanged. */
  readonly keepsBin?: boolean;
  /** Whether ids may have other forms than UUIDs, as on a remote server. */
  readonly takesAnyId?: boolean;
  /** The project and pricing plan of the key, if the service is our own. */
  readonly known?: Pick<KnownKey, "facts" | "linkLimit"> | undefined;
  /** Throws for an endpoint that the key is known to have no right to. */
  readonly requireRight?: ((endpoint: Endpoint) => void) | undefined;
};

/** Lists the fields that would newly redirect to a host that is not allowed. */
export type CheckDestinations = (
  fields: LinkFields,
  before?: Readonly<Record<string, unknown>>,
) => readonly FieldProblem[];

/** How the server is called for an owner, until the signal is aborted. */
export type ServerAccess = {
  readonly call: Client["call"];
  readonly signal: Leaving;
};

/** A plan or job of another key is reported as missing. */
export function onlyOwn<Saved extends { readonly key_print: string }>(
  saved: Saved | undefined,
  { key_print }: Owner,
): Saved | undefined {
  return saved?.key_print === key_print ? saved : undefined;
}
