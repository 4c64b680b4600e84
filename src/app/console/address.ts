import { UsageFault, type Config } from "../../config.ts";
import { clock } from "../process/embedded.ts";
import { openGatewayToken } from "../process/gateway-token.ts";
import type { LazyState } from "../process/lazy-state.ts";
import { readApiKey } from "../data/secrets.ts";

/** Creates a one-time URL that signs the user of this terminal in to the console. */
export async function makeConsoleAddress(
  config: Config,
  state: Pick<LazyState, "open">,
  url: string,
): Promise<string> {
  const secret = readSecret(config);
  const { createSessions } = await import("../../console/session.ts");
  const { writeSignInAddress } = await import("../../console/sign-in.ts");
  const openRows = async () => (await state.open()).kept;
  const token = await createSessions({ openRows, clock }).makeAddress(secret);
  return writeSignInAddress(url, token);
}

type AddressOptions = { readonly config: Config; readonly report: (error: unknown) => unknown };

/**
 * Like `makeConsoleAddress`, but returns undefined if the console is off or no key is set, so that
 * the server still starts.
 */
export async function tryConsoleAddress(
  { config, report }: AddressOptions,
  state: Pick<LazyState, "open">,
  url: string,
): Promise<string | undefined> {
  if (!config.console) return undefined;
  try {
    return await makeConsoleAddress(config, state, url);
  } catch (error) {
    if (!(error instanceof UsageFault)) report(error);
    return undefined;
  }
}

/** Reads the API key, or the gateway's access token if this process is a gateway. */
function readSecret(config: Config): string {
  if (config.base_url !== undefined) return openGatewayToken(config);
  const key = readApiKey(config);
  if (key !== undefined) return key;
  throw new UsageFault("this machine has no key to sign in with. Sign in with your own key");
}
