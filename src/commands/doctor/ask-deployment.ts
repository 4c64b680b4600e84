import { CallFailure } from "../../client/call-failure.ts";
import { createClient, type Client } from "../../client/client.ts";
import type { Deployment } from "../../app/process/deployment.ts";
import { clock, random } from "../../app/process/embedded.ts";
import type { Note } from "../../app/process/findings.ts";
import { contract } from "../../contract/index.ts";
import { Problem } from "../../contract/problem.ts";
import { readAnswer } from "../../contract/server-answer.ts";

/**
 * One harmless request: whether the deployment answers, and what it says of the key. False where
 * there is no use in going on.
 */
export async function askDeployment(
  deployment: Deployment,
  key: string | undefined,
  note: Note,
): Promise<boolean> {
  const { origin, own } = deployment;
  const client = openClient(deployment, key);
  try {
    await client.call(contract.links.index, { limit: 1 });
    if (own === undefined) note({ about: "remote server", said: `${origin} answers` });
    note({ about: "key", said: "works" });
    return true;
  } catch (error) {
    if (error instanceof CallFailure) {
      note({ about: "remote server", fault: `${error.message} (WAYPOST_BASE_URL)` });
      return false;
    }
    if (!(error instanceof Problem)) throw error;
    if (own === undefined) note({ about: "remote server", said: `${origin} answers` });
    if (key === undefined) return true;
    const { message } = error;
    const isRejected = /invalid\.|suspended/i.test(readAnswer(message));
    note({ about: "key", said: `is accepted (${message})`, ...(isRejected && { fault: message }) });
    return !isRejected;
  }
}

export function openClient({ origin, send, own }: Deployment, key: string | undefined): Client {
  const target = { origin, key, checksConditions: own !== undefined };
  return createClient({ target, send, clock, random, sleep: skip });
}

/** A person waits for the answer, so that a second try follows at once. */
const skip = () => Promise.resolve();
