import type { Client } from "../client/client.ts";

/** Whose plans and jobs these are, and how calls are made for them. */
export type Owner = {
  readonly key_print: string;
  /** The deployment's address. */
  readonly origin: string;
  readonly call: Client["call"];
};

/** How something is asked for an owner, until nobody wants it any more. */
export type Asking = { readonly call: Client["call"]; readonly signal: AbortSignal };

/** Another key is told nothing, not even that there is something. */
export function onlyOwn<Kept extends { readonly key_print: string }>(
  kept: Kept | undefined,
  { key_print }: Owner,
): Kept | undefined {
  return kept?.key_print === key_print ? kept : undefined;
}
