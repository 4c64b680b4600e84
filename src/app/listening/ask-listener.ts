import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { UsageFault, type Config } from "../../config.ts";
import { createToken } from "../../service/ids.ts";
import { isSameSecret } from "../../text/secrets.ts";
import { checkToken, findListenerKeyFile, keepToken } from "../data/data-folder.ts";
import { readCode } from "../data/file-fault.ts";
import { readIfThere } from "../data/secrets.ts";
import { findReachableHost, hasLocalLinks } from "../http/addresses.ts";
import type { AnswerProcess, HttpServer } from "../http/http-server.ts";
import { listenOnBoth, type ListenAddress } from "../http/listen-on-both.ts";
import { respondJson } from "../http/respond-json.ts";
import type { ListenerDescription } from "../http/watch-proxies.ts";
import { clock, random } from "../process/embedded.ts";

/**
 * Processes of a data folder ask each other over HTTP which of them listens on a port. They sign
 * the requests with the folder's secret, so that the secret itself is never sent.
 */

const purposes = ["ask", "leave"] as const;
type Purpose = (typeof purposes)[number];

export type Statement = Listening & ListenerDescription;

/** The current URLs of a data folder's links and pages, whichever process serves them. */
export type Listening = {
  /** The origin of pages for users, such as approvals, without a trailing slash. */
  readonly url: string;
  /** The origin of links, with `{subdomain}`; null if a remote server serves the links. */
  readonly links: string | null;
  /** True if another program uses the configured port. The port of the links may then change. */
  readonly isTemporary: boolean;
};

/** `changing`: a process of the data folder is starting or stopping. `foreign`: another program. */
type PortHolder = Statement | "changing" | "foreign";

const noteFile = "listener.json";
const mostServedAddresses = 4;
const nonceHeader = "waypost-nonce";
const proofHeader = "waypost-proof";
/** The maximum age of a request, so that another program on the port cannot replay it later. */
const validFor_ms = 10_000;
/** A Waypost process responds and releases a port within this time. */
const within_ms = 3000;

async function askListener(
  purpose: Purpose,
  { host, port }: Pick<Config, "host" | "port">,
  folder: string,
): Promise<PortHolder> {
  const secret = findSecret(folder);
  if (secret === undefined) return "foreign";
  const nonce = `${clock.now()} ${randomBytes(16).toString("base64url")}`;
  const headers = { [nonceHeader]: nonce, [proofHeader]: sign(secret, purpose, port, nonce) };
  const signal = AbortSignal.timeout(within_ms);
  const place = { host: findReachableHost(host), port, path: `/listener/${purpose}` };
  try {
    const asked = request({ ...place, method: "POST", headers, agent: false, signal }).end();
    const [response]: IncomingMessage[] = await once(asked, "response");
    // Waypost returns this status while it starts.
    if (response?.statusCode === 503) return "changing";
    let text = "";
    for await (const chunk of response?.setEncoding("utf8") ?? []) {
      text += chunk;
      if (text.length > 4096) return "foreign";
    }
    const { said: statement, proof } = JSON.parse(text);
    const isOurs = isSameSecret(String(proof), sign(secret, "answer", port, nonce, statement));
    // Only a process that uses the same data folder can create this signature.
    return isOurs ? (JSON.parse(statement) as Statement) : "foreign";
  } catch (error) {
    // A process that is shutting down may reset the connection.
    const isGone = ["ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(readCode(error));
    return isGone ? "changing" : "foreign";
  }
}

export async function findStatement(config: Config): Promise<Statement | undefined> {
  const places = [...readServedAddresses(config.data), config];
  const holders = await Promise.all(places.map((place) => askListener("ask", place, config.data)));
  const found = holders.filter((holder) => typeof holder === "object");
  return found.find(({ kind }) => kind === "serve") ?? found[0];
}

type ServedAddress = Pick<Config, "host" | "port">;

/** Saves the host and port of `serve`, because later commands may run without its `--port` flag. */
export function noteServedAddress(data: string, place: ServedAddress): void {
  const others = readServedAddresses(data).filter(({ port }) => port !== place.port);
  const places = [place, ...others].slice(0, mostServedAddresses);
  writeFileSync(join(data, noteFile), `${JSON.stringify(places)}\n`, { mode: 0o600 });
}

/** Lists where `serve` listened, newest first. Other programs may use these ports by now. */
function readServedAddresses(data: string): readonly ServedAddress[] {
  try {
    // Earlier versions stored only one place.
    return [JSON.parse(readFileSync(join(data, noteFile), "utf8"))].flat();
  } catch {
    return [];
  }
}

/** `leave` is called when `serve` requests the port. Only stdio processes pass it. */
export function createAnswerProcess(
  { data, port }: Pick<Config, "data" | "port">,
  readStatement: () => Statement,
  leave?: () => void,
): AnswerProcess {
  const secret = openSecret(data);
  return ({ method, url, headers }, response) => {
    const purpose = purposes.find((each) => url === `/listener/${each}`);
    if (method !== "POST" || purpose === undefined) return false;
    const nonce = String(headers[nonceHeader]);
    const isRecent = Math.abs(clock.now() - Number.parseInt(nonce, 10)) < validFor_ms;
    const expected = sign(secret, purpose, port, nonce);
    if (!isRecent || !isSameSecret(String(headers[proofHeader]), expected)) return false;
    const said = JSON.stringify(readStatement());
    respondJson(response, 200, { said, proof: sign(secret, "answer", port, nonce, said) });
    if (purpose === "leave") leave?.();
    return true;
  };
}

/** A signature is valid for one purpose on one port. */
function sign(secret: string, ...signed: readonly [Purpose | "answer", ...unknown[]]): string {
  return createHmac("sha256", secret).update(JSON.stringify(signed)).digest("base64url");
}

/** Returns the folder's secret. The first process that listens creates the secret. */
export function openSecret(folder: string): string {
  return findSecret(folder) ?? keepToken(findListenerKeyFile(folder), createToken(random));
}

function findSecret(folder: string): string | undefined {
  const path = findListenerKeyFile(folder);
  const secret = readIfThere(path);
  // A weak secret would let any program on this machine impersonate Waypost.
  return secret === undefined ? undefined : checkToken(path, secret);
}

const tryEvery_ms = 25;

/** Listens on a port. If a process of the folder keeps it, returns that process's statement. */
export async function takePort(
  server: HttpServer,
  place: ListenAddress,
  purpose: Purpose,
  data: string,
  isStopped = () => false,
): Promise<number | Statement> {
  const until = clock.monotonic() + within_ms;
  for (;;) {
    try {
      return await listenOnBoth(server, place);
    } catch (error) {
      // After other errors, such as a missing permission, no process can release the port.
      if (readCode(error) !== "EADDRINUSE") throw error;
      const asked = { host: findHost(error, place.host), port: place.port };
      const holder = await askListener(purpose, asked, data);
      const leaves = purpose === "leave" && typeof holder === "object" && holder.kind === "stdio";
      if (typeof holder === "object" && !leaves) return holder;
      // Another program may return 503 like a starting Waypost process, but forever.
      if (holder === "foreign" || isStopped() || clock.monotonic() > until) throw error;
      await setTimeout(tryEvery_ms);
    }
  }
}

/** Returns the address that is in use. It may be the other loopback address instead of the host. */
function findHost(error: unknown, host: string): string {
  return error instanceof Error && "address" in error ? String(error.address) : host;
}

/** Listens for `serve`, and asks a stdio process of the folder to release the port. */
export async function claimPort(server: HttpServer, config: Config): Promise<number> {
  const { base_url, data, port } = config;
  const place = { ...config, hasLocalLinks: hasLocalLinks(config) };
  // A gateway serves no links of the data folder, so it must not take the port from a process that
  // serves them.
  const take = () =>
    base_url === undefined ? takePort(server, place, "leave", data) : listenOnBoth(server, place);
  const taken = await take().catch((error: unknown) => error);
  if (typeof taken === "number") return taken;
  const host = findHost(taken, config.host);
  const code = taken instanceof Error ? readCode(taken) : "EADDRINUSE";
  throw new UsageFault(
    code === "EADDRINUSE"
      ? `port ${port} on ${host} is in use; stop the other process or pass --port`
      : `cannot listen on ${host}, port ${port} (${code}); check --host and --port`,
  );
}
