import type { LookupFunction } from "node:net";
import { Agent } from "undici";

/**
 * Asks whether something answers at a stranger's web address, and reaches nothing but the public
 * internet by it: each name is looked up once, every address that it has must be public, and the
 * connection goes to one of those that were looked at. Redirects are looked at in the same way.
 */

export type Outcome =
  | { readonly kind: "reached" }
  | { readonly kind: "error_status"; readonly status: number }
  /** Another site's host, where the visitor ends. */
  | { readonly kind: "redirects_elsewhere"; readonly host: string }
  | { readonly kind: "unreachable"; readonly reason: string };

/** What is asked of the internet, and how far it goes. */
export type Internet = {
  /** Every address of a host's name. */
  readonly resolve: (hostname: string) => Promise<readonly string[]>;
  readonly isPublic: (address: string) => boolean;
  readonly ports: ReadonlySet<number>;
  /** Whose certificates count; left out, those that the machine trusts. */
  readonly authorities?: readonly string[];
};

const mostRedirects = 3;
const mostHeaders_bytes = 16 * 1024;

export async function askAddress(
  address: string,
  internet: Internet,
  signal: AbortSignal,
): Promise<Outcome> {
  const first = new URL(address);
  let url = first;
  try {
    for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
      const { status, location } = await askOnce(url, internet, signal);
      if (status < 300 || status >= 400 || location === undefined) return judge(status, first, url);
      url = new URL(location, url);
    }
    return { kind: "unreachable", reason: `more than ${mostRedirects} redirects` };
  } catch (error) {
    return { kind: "unreachable", reason: describeEnd(error, signal) };
  }
}

function judge(status: number, first: URL, last: URL): Outcome {
  if (status >= 400) return { kind: "error_status", status };
  if (isSameSite(first.hostname, last.hostname)) return { kind: "reached" };
  return { kind: "redirects_elsewhere", host: last.hostname };
}

/** A host and what is below it: `example.com` may send its visitors to `www.example.com`. */
function isSameSite(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`);
}

type Answer = { readonly status: number; readonly location: string | undefined };

/** Many a server does not know HEAD, or refuses it; the body of a GET is thrown away. */
async function askOnce(url: URL, internet: Internet, signal: AbortSignal): Promise<Answer> {
  const address = await findPublicAddress(url, internet, signal);
  const agent = new Agent({
    connect: {
      lookup: answerAlways(address),
      ...(internet.authorities && { ca: [...internet.authorities] }),
    },
    maxHeaderSize: mostHeaders_bytes,
  });
  const send = async (method: "HEAD" | "GET"): Promise<Answer> => {
    const { origin, pathname, search } = url;
    const sent = { origin, path: pathname + search, method, headers, signal };
    const { statusCode: status, headers: got, body } = await agent.request(sent);
    body.on("error", () => undefined).destroy();
    const { location } = got;
    return { status, location: typeof location === "string" ? location : undefined };
  };
  try {
    const answer = await send("HEAD");
    return answer.status < 400 ? answer : await send("GET");
  } finally {
    await agent.destroy();
  }
}

const headers = { "user-agent": "waypost", accept: "*/*" } as const;

/** What may not be asked. The message is for people, as the end of a sentence. */
class NotAsked extends Error {
  override readonly name = "NotAsked";
}

async function findPublicAddress(
  { protocol, hostname, port, username, password }: URL,
  { resolve, isPublic, ports }: Internet,
  signal: AbortSignal,
): Promise<string> {
  const usual = { "http:": 80, "https:": 443 }[protocol];
  if (usual === undefined) throw new NotAsked("no web address");
  if (username + password !== "") throw new NotAsked("a user name in the address");
  if (!ports.has(port === "" ? usual : Number(port))) throw new NotAsked("an unusual port");
  const literal = /^\[(.*)\]$/.exec(hostname)?.[1] ?? hostname;
  const found = resolve(literal).catch(() => []);
  const [address, ...others] = await orAborted(found, signal);
  // One that is not public among others would be the way around the rule. Nobody is told whether
  // there is such a host: by that, a stranger could learn which names a private network has.
  const isAllowed = address !== undefined && [address, ...others].every(isPublic);
  if (!isAllowed) throw new NotAsked("no host of the public internet");
  return address;
}

/** A lookup cannot be broken off, but nobody has to wait for it. */
function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error("aborted"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

function answerAlways(address: string): LookupFunction {
  const family = address.includes(":") ? 6 : 4;
  return (_hostname, options, callback) => {
    if (options.all === true) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
}

/** Never the error's own words: they may be a stranger's. */
function describeEnd(error: unknown, signal: AbortSignal): string {
  if (error instanceof NotAsked) return error.message;
  if (signal.aborted) return "no answer in time";
  const code = String((error as { readonly code?: unknown } | null)?.code);
  if (code === "ECONNREFUSED") return "the connection was refused";
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_/.test(code)) return "a certificate that is not valid";
  return "no answer that could be read";
}
