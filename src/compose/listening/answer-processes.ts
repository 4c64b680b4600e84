import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Listening } from "../../mcp/access/listening.ts";
import type { ServedBy } from "../watch-proxies.ts";
import type { Signer } from "./signer.ts";

/** What a listener says to other processes of its data folder, which prove that they are. */

/** What the listener says of itself. */
export type Statement = Listening & ServedBy;

export type ProcessAnswers = {
  /** Whether that was for us; else it is a request like any other. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Ends the connections by which others see that we are there. */
  readonly end: (farewell?: typeof handedOver) => void;
};

type AnswerOptions = {
  readonly signer: Signer;
  readonly port: number;
  readonly readStatement: () => Statement;
  /** Called for `serve`, which needs the port; left out where it is not given away. */
  readonly onAskedToLeave?: () => void;
};

export const followPath = "/listener/follow";
export const leavePath = "/listener/leave";
export const headerNames = {
  nonce: "waypost-nonce",
  proof: "waypost-proof",
} as const;
/** The last line for those who follow: the port is for `serve` now, and not for them. */
export const handedOver = "handed over\n";

/** More are never there; whoever asks has proved that it may. */
const mostFollowers = 1000;

export function createProcessAnswers(options: AnswerOptions): ProcessAnswers {
  const { signer, port, readStatement, onAskedToLeave } = options;
  /** By what each was told to sign if it wants us to leave. */
  const followers = new Map<string, ServerResponse>();

  /** Answers who we are; the end of the answer is the end of our listening. */
  function answerFollower(nonce: string, response: ServerResponse): void {
    const challenge = randomBytes(16).toString("base64url");
    const said = JSON.stringify({ ...readStatement(), challenge });
    const proof = signer.sign("answer", port, nonce, said);
    followers.set(challenge, response);
    response.once("close", () => followers.delete(challenge));
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
    response.write(`${JSON.stringify({ said, proof })}\n`);
  }

  /** A challenge is signed once: it ends with its connection. */
  function answerLeaving(response: ServerResponse): void {
    response.writeHead(onAskedToLeave === undefined ? 409 : 204).end();
    onAskedToLeave?.();
  }

  return {
    answer: ({ method, url, headers }, response) => {
      const nonce = headers[headerNames.nonce];
      const proof = headers[headerNames.proof];
      if (method !== "POST" || typeof nonce !== "string") return false;
      if (url === followPath && signer.isSigned(proof, "ask", port, nonce)) {
        if (followers.size >= mostFollowers) return false;
        answerFollower(nonce, response);
        return true;
      }
      const isLeaving = url === leavePath && followers.has(nonce);
      if (!isLeaving || !signer.isSigned(proof, "leave", port, nonce)) return false;
      answerLeaving(response);
      return true;
    },
    end: (farewell) => {
      for (const response of followers.values()) response.end(farewell);
    },
  };
}
