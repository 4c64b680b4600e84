import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { UsageFault, type Config } from "../../config.ts";
import { databaseUrlRule, isAddress, isDatabaseUrl } from "../../network/database-url.ts";
import { isPlainPath } from "../../text/escape.ts";
import { findOwnerKeyFile } from "./data-folder.ts";
import { explainFileFault } from "./file-fault.ts";

/** Reads secrets from an environment variable, a file that a variable names, or the data folder. */

/** Where the data is: in the database if its URL is set, otherwise in the data folder. */
export type DataLocation = Pick<Config, "data"> & {
  readonly secrets?: Pick<Config["secrets"], "database_url" | "database_url_file">;
};

/** Reads the API key. The key in the data folder is never sent to a remote server. */
export function readApiKey(config: Config): string | undefined {
  const { data, base_url } = config;
  const own = () => (base_url === undefined ? readIfThere(findOwnerKeyFile(data)) : undefined);
  return readGivenSecret(config, "api_key") ?? own();
}

export function requireKey(config: Config): string {
  const key = readApiKey(config);
  if (key !== undefined) return key;
  throw new UsageFault("no key is set; set WAYPOST_API_KEY or WAYPOST_API_KEY_FILE");
}

export function readGivenSecret(
  { secrets }: Pick<Config, "secrets">,
  name: "api_key" | "http_token" | "metrics_token",
): string | undefined {
  const variable = `WAYPOST_${name.toUpperCase()}`;
  const [secret, file] = [secrets[name], secrets[`${name}_file`]];
  if (secret !== undefined) return checkSecret(secret, variable);
  return file === undefined ? undefined : readSecretFile(file, `${variable}_FILE`);
}

/** Returns the database URL, with its password. Returns undefined if none is configured. */
export function readDatabaseUrl({ secrets }: DataLocation): string | undefined {
  const { database_url, database_url_file } = secrets ?? {};
  if (database_url !== undefined || database_url_file === undefined) return database_url;
  const url = readSecretFile(database_url_file, "WAYPOST_DATABASE_URL_FILE");
  if (isDatabaseUrl(url)) return url;
  throw new UsageFault(`the address read from WAYPOST_DATABASE_URL_FILE ${databaseUrlRule}`);
}

export function readIfThere(path: string): string | undefined {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  return readSecretFile(path, path);
}

function readSecretFile(path: string, name: string): string {
  if (isAddress(path)) {
    throw new UsageFault(
      `${name} must be the name of a file, not an address; save the address in a file`,
    );
  }
  try {
    return checkSecret(readFileSync(path, "utf8").trim(), name);
  } catch (error) {
    if (error instanceof UsageFault) throw error;
    const fault = `cannot be read: ${explainFileFault(error)}`;
    throw new UsageFault(`${nameFile(path, name)} ${fault}`, { cause: error });
  }
}

/** The variable may hold the secret itself instead of a path, so most messages omit its value. */
function nameFile(path: string, name: string): string {
  if (name === path) return path;
  const isShown = name === "WAYPOST_DATABASE_URL_FILE" && isPlainPath(path);
  return isShown ? `${resolve(path)} (${name})` : `the file named in ${name}`;
}

/** Checks that a secret is valid in an HTTP header. The message does not show the secret. */
function checkSecret(secret: string, name: string): string {
  if (/^[\x21-\x7e]+$/.test(secret)) return secret;
  throw new UsageFault(`${name} must contain one word of ASCII characters, without spaces`);
}
