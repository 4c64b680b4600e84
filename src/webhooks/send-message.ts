import type { SetAlarm } from "../contract/clock.ts";
import { limitTime } from "../network/hosts/limit-time.ts";
import {
  describeEnd,
  findAddresses,
  NotAsked,
  openPinned,
  type Reach,
} from "../network/hosts/pinned-connection.ts";
import { isPublicAddress } from "../network/public-address.ts";
import { isUsualPort } from "./reach.ts";
import { signMessage, type Message } from "./sign.ts";

/** One attempt to hand a message over. Whatever a receiver answers, nothing of it is read. */

export type Receiver = { readonly url: string; readonly secret: string };

export type Sending = {
  readonly reach: Reach;
  readonly setAlarm: SetAlarm;
  readonly now: () => number;
};

/** For the name, the connection and the answer together. */
export const attempt_ms = 10_000;

/** Undefined where the receiver took it; else why not, for people. */
export async function sendMessage(
  message: Message,
  { url, secret }: Receiver,
  { reach, setAlarm, now }: Sending,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { signal: ended, stop } = limitTime(signal, attempt_ms, setAlarm);
  try {
    const status = await post(new URL(url), message.body, {
      headers: signMessage(message, secret, now()),
      reach,
      signal: ended,
    });
    return judge(status);
  } catch (error) {
    return describeEnd(error, ended);
  } finally {
    stop();
  }
}

function judge(status: number): string | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status >= 300 && status < 400) return `status ${status}: redirects are not followed`;
  return `status ${status}`;
}

type Post = {
  readonly headers: Readonly<Record<string, string>>;
  readonly reach: Reach;
  readonly signal: AbortSignal;
};

async function post(url: URL, body: string, { headers, reach, signal }: Post): Promise<number> {
  const addresses = await findAddresses(url, reach, signal);
  requireSafe(url, addresses);
  const agent = openPinned(addresses, reach);
  try {
    const { origin, pathname, search } = url;
    const answer = await agent.request({
      origin,
      path: pathname + search,
      method: "POST",
      headers: { ...headers, "content-type": "application/json", "user-agent": "waypost" },
      body,
      signal,
    });
    answer.body.on("error", () => undefined).destroy();
    return answer.statusCode;
  } finally {
    await agent.destroy();
  }
}

/** Networks that the operator named may be spoken to as they like it. */
function requireSafe({ protocol, port }: URL, addresses: readonly string[]): void {
  if (!addresses.some(isPublicAddress)) return;
  if (protocol !== "https:") throw new NotAsked("plain http is not allowed on the public internet");
  if (!isUsualPort(port)) throw new NotAsked("the port is not allowed");
}
