import type { Deployment } from "../../compose/deployment.ts";
import { explainOwnerKey } from "../../compose/explain-owner-key.ts";
import { findOwnerKey, type OwnerKey } from "../../compose/first-start.ts";
import type { Note } from "../../compose/findings/finding.ts";
import type { Config } from "../../config.ts";
import { nameMakeKey } from "../terminal/command-name.ts";

/** Undefined where the settings name another key, or the folder's own opens the store. */
export async function findUselessKey(
  { secrets }: Config,
  { own }: Deployment,
): Promise<OwnerKey | undefined> {
  const isGiven = secrets.api_key !== undefined || secrets.api_key_file !== undefined;
  if (own === undefined || isGiven) return undefined;
  const key = await findOwnerKey(own);
  return key.state === "opens" ? undefined : key;
}

type Noting = { readonly config: Config; readonly command: string; readonly note: Note };

/** Where another machine has the key, `serve` alone is all that most ask of this one. */
export function noteOwnerKey(key: OwnerKey, { config, command, note }: Noting): void {
  const about = "key";
  const where = explainOwnerKey(key, nameMakeKey(config, command));
  if (key.state === "wrong") note({ about, fault: where });
  else if (key.elsewhere === undefined) {
    note({
      about,
      fault: `no key was found; ${where}, or set WAYPOST_API_KEY or WAYPOST_API_KEY_FILE`,
    });
  } else note({ about, said: `waypost serve needs no key in ${config.data}; ${where}` });
}
