import type { Config } from "../../config.ts";
import { createToken } from "../../service/ids.ts";
import { findHttpTokenFile, keepToken, prepareDataFolder } from "../data/data-folder.ts";
import { readGivenSecret, readIfThere } from "../data/secrets.ts";
import { random } from "./embedded.ts";

/**
 * Returns the token that a gateway's callers must send: the operator's, or else one that is
 * generated and stored in the data folder.
 */
export function openGatewayToken(config: Config): string {
  prepareDataFolder(config.data);
  const path = findHttpTokenFile(config.data);
  const given = readGivenSecret(config, "http_token") ?? readIfThere(path);
  return given ?? keepToken(path, createToken(random));
}
