import type { Config } from "../../config.ts";
import type { Statement } from "./answer-processes.ts";
import { findListener } from "./find-listener.ts";
import { findSigner } from "./folder-note.ts";

/** A listener of this machine answers at once. */
const answerWithin_ms = 5000;

/** What the process says of itself that listens for the folder; undefined where none does. */
export async function findStatement({
  data,
  port,
}: Pick<Config, "data" | "port">): Promise<Statement | undefined> {
  const signer = findSigner(data);
  if (signer === undefined) return undefined;
  const signal = AbortSignal.timeout(answerWithin_ms);
  const usual = { host: "127.0.0.1", port };
  const { listener } = await findListener({ data, signer, usual, signal });
  listener?.letGo();
  return listener?.statement;
}
