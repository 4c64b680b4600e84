import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import type { Config } from "../../config.ts";
import type { Listening } from "../../mcp/access/listening.ts";
import { readCode } from "../data/data-folder.ts";
import type { AnswerProcess } from "../http/http-server.ts";
import { respondJson } from "../http/respond-json.ts";
import type { ServedBy } from "../http/watch-proxies.ts";
import { findSigner, type Signer } from "./folder-signer.ts";

/** Processes of one data folder ask each other, over HTTP, which of them listens on a port. */

/** How the listening process describes itself. */
export type Statement = Listening & ServedBy;

type SignedStatement = Statement & {
  /** Signed, it asks this listener to leave the port, and no later one. */
  readonly leave_nonce: string;
};

export type Place = { readonly host: string; readonly port: number };

export type PortHolder = SignedStatement | "starting" | "nobody" | "foreign";

const noteFile = "listener.json";
const askPath = "/listener/ask";
const leavePath = "/listener/leave";
const nonceHeader = "waypost-nonce";
const proofHeader = "waypost-proof";

/** Waypost answers at once unless its machine is very busy. Other programs may never answer. */
const answerWithin_ms = 3000;
const mostCharacters = 4096;

export async function askListener(place: Place, signer: Signer): Promise<PortHolder> {
  const { port } = place;
  const nonce = createNonce();
  try {
    const { status, text } = await post(place, askPath, {
      [nonceHeader]: nonce,
      [proofHeader]: signer.sign("ask", port, nonce),
    });
    // Waypost answers so while it starts.
    if (status === 503) return "starting";
    const { said, proof } = JSON.parse(text);
    const isOurs = signer.isSigned(proof, "answer", port, nonce, said);
    // `createAnswerProcess` in another process wrote it.
    return isOurs ? (JSON.parse(said) as SignedStatement) : "foreign";
  } catch (error) {
    // A listener that ends may reset the connection.
    const isGone = ["ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(readCode(error));
    return isGone ? "nobody" : "foreign";
  }
}

/** Only for a process whose answer was signed: other programs must never get this signature. */
export async function askToLeave(
  place: Place,
  { leave_nonce: nonce }: SignedStatement,
  signer: Signer,
): Promise<void> {
  const proof = signer.sign("leave", place.port, nonce);
  // The next attempt to listen shows whether the port is free.
  await post(place, leavePath, { [nonceHeader]: nonce, [proofHeader]: proof }).catch(() => {});
}

/** The statement of the process that serves the folder, if one does. */
export async function findStatement({
  data,
  host,
  port,
}: Pick<Config, "data" | "host" | "port">): Promise<Statement | undefined> {
  const signer = findSigner(data);
  if (signer === undefined) return undefined;
  for (const place of [readServedPlace(data), { host, port }]) {
    const found = place && (await askListener(place, signer));
    if (typeof found === "object") return found;
  }
  return undefined;
}

/** `serve` notes where it listens, because later commands seldom get the same --port. */
export function noteServedPlace(data: string, place: Place): void {
  writeFileSync(join(data, noteFile), `${JSON.stringify(place)}\n`, { mode: 0o600 });
}

/** The note may be old. Only a signed answer proves that a process of the folder listens there. */
function readServedPlace(data: string): Place | undefined {
  try {
    return JSON.parse(readFileSync(join(data, noteFile), "utf8"));
  } catch {
    return undefined;
  }
}

type AnswerOptions = {
  readonly signer: Signer;
  readonly port: number;
  readonly readStatement: () => Statement;
  /** Gives the port to `serve`. Omitted by `serve` itself, which keeps its port. */
  readonly leave?: () => void;
};

export function createAnswerProcess(options: AnswerOptions): AnswerProcess {
  const { signer, port, readStatement, leave } = options;
  const leave_nonce = createNonce();
  return ({ method, url, headers }, response) => {
    const nonce = headers[nonceHeader];
    const proof = headers[proofHeader];
    if (method !== "POST" || typeof nonce !== "string") return false;
    if (url === askPath && signer.isSigned(proof, "ask", port, nonce)) {
      const said = JSON.stringify({ ...readStatement(), leave_nonce });
      respondJson(response, 200, { said, proof: signer.sign("answer", port, nonce, said) });
      return true;
    }
    if (leave === undefined || url !== leavePath || nonce !== leave_nonce) return false;
    if (!signer.isSigned(proof, "leave", port, nonce)) return false;
    response.writeHead(204).end();
    leave();
    return true;
  };
}

function createNonce(): string {
  return randomBytes(16).toString("base64url");
}

/** The address at which this machine reaches a server that listens on all addresses. */
const reachable: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

type Answer = { readonly status: number | undefined; readonly text: string };

function post({ host, port }: Place, path: string, headers: Record<string, string>) {
  const place = { host: reachable[host] ?? host, port, path, method: "POST", headers };
  const signal = AbortSignal.timeout(answerWithin_ms);
  return new Promise<Answer>((resolve, reject) => {
    request({ ...place, agent: false, signal }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.length > mostCharacters) response.destroy();
      });
      response.on("error", reject);
      response.once("close", () => resolve({ status: response.statusCode, text }));
    })
      .on("error", reject)
      .end();
  });
}
