import { randomBytes } from "node:crypto";
import { request, type IncomingMessage } from "node:http";
import {
  followPath,
  handedOver,
  headerNames,
  leavePath,
  type Statement,
} from "./answer-processes.ts";
import type { Place } from "./folder-note.ts";
import type { Signer } from "./signer.ts";

/** Asks who listens at a place, and stays connected to a process of ours until it ends. */

export type FoundListener = {
  readonly statement: Statement;
  /** Resolves when it listens no more, and says whether the port is for `serve` now. */
  readonly ended: Promise<Ending>;
  /** Asks it to give the port to `serve`. */
  readonly askToLeave: () => Promise<void>;
  readonly letGo: () => void;
};

type Ending = {
  readonly isHandedOver: boolean;
  /** Whether it was ended as it was meant to be: one of ours has said who it is by then. */
  readonly isWhole: boolean;
};

/** Unclear is who is about to begin or to end, silent who is very busy: both are asked again. */
export type Found = FoundListener | "nobody" | "foreign" | "unclear" | "silent";

type Asking = {
  readonly signer: Signer;
  readonly signal?: AbortSignal | undefined;
};

/** One of ours answers at once, unless its machine is very busy; a stranger may never answer. */
const answerWithin_ms = 1000;
const mostCharacters = 4096;

export function askListener(place: Place, { signer, signal }: Asking): Promise<Found> {
  const nonce = randomBytes(16).toString("base64url");
  const proof = signer.sign("ask", place.port, nonce);
  return new Promise((resolve) => {
    const asked = openRequest(place, followPath, { nonce, proof }, signal);
    const settle = (found: Found) => {
      clearTimeout(timer);
      resolve(found);
    };
    const giveUp = (found: Found) => {
      settle(found);
      asked.destroy();
    };
    const timer = setTimeout(() => giveUp("silent"), answerWithin_ms);
    asked.on("error", (error) => settle(explainError(error)));
    asked.once("response", (response) => {
      const { statusCode } = response;
      if (statusCode !== 200) return giveUp(statusCode === 503 ? "unclear" : "foreign");
      const ended = readLines(response, (line) => {
        const read = readStatement(line, place, { nonce, signer });
        if (read === undefined) return giveUp("foreign");
        const { challenge, statement } = read;
        // To know of its end must not keep a process alive that has nothing else to do.
        response.socket.unref();
        settle({
          statement,
          ended,
          askToLeave: () => askToLeave(place, challenge, signer),
          letGo: () => asked.destroy(),
        });
      });
      void ended.then(({ isWhole }) => settle(isWhole ? "foreign" : "unclear"));
    });
    asked.end();
  });
}

function openRequest(
  { host, port }: Place,
  path: string,
  { nonce, proof }: { readonly nonce: string; readonly proof: string },
  signal?: AbortSignal,
) {
  const headers = { [headerNames.nonce]: nonce, [headerNames.proof]: proof };
  return request({
    host,
    port,
    path,
    method: "POST",
    headers,
    agent: false,
    ...(signal !== undefined && { signal }),
  });
}

/** A connection that breaks may have been to one of ours that ends. */
function explainError(error: NodeJS.ErrnoException): Found {
  const { code = "" } = error;
  if (code === "ECONNRESET" || code === "EPIPE") return "unclear";
  return code.startsWith("HPE_") ? "foreign" : "nobody";
}

/** Calls back with the first line; resolves when no more comes. */
function readLines(response: IncomingMessage, onFirst: (line: string) => void): Promise<Ending> {
  return new Promise((resolve) => {
    let text = "";
    let isRead = false;
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.length > mostCharacters) response.destroy();
      const end = text.indexOf("\n");
      if (isRead || end < 0) return;
      isRead = true;
      onFirst(text.slice(0, end));
    });
    // A listener that was killed breaks the connection.
    response.on("error", () => undefined);
    response.once("close", () => {
      resolve({
        isHandedOver: text.endsWith(`\n${handedOver}`),
        isWhole: response.complete,
      });
    });
  });
}

type Read = { readonly statement: Statement; readonly challenge: string };

/** Undefined for what only the folder's secret could have signed, and was not. */
function readStatement(
  line: string,
  { port }: Place,
  { nonce, signer }: { readonly nonce: string; readonly signer: Signer },
): Read | undefined {
  try {
    const { said, proof } = JSON.parse(line);
    if (typeof said !== "string" || !signer.isSigned(proof, "answer", port, nonce, said)) {
      return undefined;
    }
    // createProcessAnswers wrote it, in another process.
    const { challenge, ...statement } = JSON.parse(said) as Statement & { challenge: string };
    return { statement, challenge };
  } catch {
    return undefined;
  }
}

/** Resolves when it was heard; whether the port is free then, the next try to listen shows. */
function askToLeave(place: Place, challenge: string, signer: Signer): Promise<void> {
  const proof = signer.sign("leave", place.port, challenge);
  return new Promise((resolve) => {
    const asked = openRequest(place, leavePath, { nonce: challenge, proof });
    asked.setTimeout(answerWithin_ms, () => asked.destroy());
    asked.once("response", (response) => response.resume());
    asked.on("error", () => undefined).once("close", resolve);
    asked.end();
  });
}
