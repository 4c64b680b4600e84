import type { Config } from "../../config.ts";
import { createToken } from "../../service/ids.ts";
import { prepareDataFolder } from "../data/data-folder.ts";
import { random } from "./embedded.ts";
import { readHttpToken } from "../data/secrets.ts";

/** What callers of a gateway show: the operator's own, or the folder's, made on the first start. */
export function openGatewayToken(config: Config): string {
  prepareDataFolder(config.data);
  return readHttpToken(config, () => createToken(random));
}
