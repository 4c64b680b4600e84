import {
  describeEnd,
  findAddresses,
  NotAsked,
  openPinned,
  type Reach,
} from "./pinned-connection.ts";

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
export type Internet = Reach & { readonly ports: ReadonlySet<number> };

const mostRedirects = 3;

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
  requireUsual(url, internet);
  const agent = openPinned(await findAddresses(url, internet, signal), internet);
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

function requireUsual(
  { protocol, port, username, password }: URL,
  { ports }: Pick<Internet, "ports">,
): void {
  const usual = { "http:": 80, "https:": 443 }[protocol];
  if (usual === undefined) throw new NotAsked("no web address");
  if (username + password !== "") throw new NotAsked("a user name in the address");
  if (!ports.has(port === "" ? usual : Number(port))) throw new NotAsked("an unusual port");
}
