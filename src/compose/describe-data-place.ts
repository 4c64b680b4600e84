import { join, resolve } from "node:path";
import type { Config } from "../config.ts";
import { describeDatabase } from "../network/database-url.ts";
import { databaseFile, hasDatabase } from "./data-folder.ts";
import { readDatabaseUrl } from "./secrets.ts";

/** Undefined when the data is in the data folder. Users may expect that of an older file there. */
export function describeDataPlace(config: Config): string | undefined {
  const url = readDatabaseUrl(config);
  if (url === undefined) return undefined;
  const place = `The data is in the database ${describeDatabase(url)}.`;
  if (!hasDatabase(config.data)) return place;
  const file = join(resolve(config.data), databaseFile);
  const advice = "To move or delete its data, see: waypost help backup-and-upgrade";
  return `${place} ${file} is not used. ${advice}`;
}
