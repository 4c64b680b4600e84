import type { KnownKey } from "../contract/access.ts";
import { messages } from "../contract/messages.ts";
import { isClientToken } from "../text/client-token.ts";
import type { Deployment } from "./deployment.ts";

/** What is known of a key that our own service takes for no call. */

const invalidKey: KnownKey = {
  facts: undefined,
  refusal: messages.key_invalid,
  linkHost: undefined,
  hasSecondHost: false,
};
const clientKey: KnownKey = { ...invalidKey, refusal: messages.client_key_here };

/** A remote server says by itself whether a key is valid; our own knows all of them. */
export function describeRefused(
  own: Deployment["own"] | undefined,
  key: string,
): KnownKey | undefined {
  if (own === undefined) return undefined;
  return isClientToken(key) ? clientKey : invalidKey;
}
