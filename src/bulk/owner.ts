import type { KnownKey } from "../contract/access.ts";
import type { Client } from "../client/client.ts";
import type { Leaving } from "../contract/leaving.ts";
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
  /** Its history holds recent writes. Without a realm, no one sees what is planned. */
  readonly realm?: string | undefined;
  readonly call: Client["call"];
  /** By what the request is known in logs for which the work is done. */
  readonly requestId?: string | undefined;
  /** What leads where links may not lead; left out, they may lead anywhere. */
  readonly checkDestinations?: CheckDestinations;
  /** Where the project's links live, where that is known. */
  readonly linkHost?: string | undefined;
  /** Whether deleted links rest in a bin, from which they return as they were. */
  readonly keepsBin?: boolean;
  /** Whether its ids may be others than UUIDs, as those of a deployment elsewhere may be. */
  readonly takesAnyId?: boolean;
  /** What our own service tells of the key's project and its pricing plan. */
  readonly known?: Pick<KnownKey, "facts" | "linkLimit"> | undefined;
  /** Throws for an endpoint that the key is known to have no right to. */
  readonly requireRight?: ((endpoint: Endpoint) => void) | undefined;
};

/** What of a link's fields leads to a host that is not allowed, and did not before. */
export type CheckDestinations = (
  fields: LinkFields,
  before?: Readonly<Record<string, unknown>>,
) => readonly FieldProblem[];

/** How the deployment is asked for an owner, until the signal is aborted. */
export type Asking = Pick<Owner, "linkHost"> & {
  /** Our own service resolves each path below this origin. */
  readonly ownOrigin?: string | undefined;
  readonly call: Client["call"];
  readonly signal: Leaving;
};

/** Another key does not even learn that the plan or job exists. */
export function onlyOwn<Saved extends { readonly key_print: string }>(
  saved: Saved | undefined,
  { key_print }: Owner,
): Saved | undefined {
  return saved?.key_print === key_print ? saved : undefined;
}
