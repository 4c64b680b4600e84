import { basename, dirname, resolve } from "node:path";
import { isHeldElsewhere, listDatabases, withDatabases } from "../compose/copied-databases.ts";
import { refuseOtherVersions, requireData, requireOwn } from "../compose/embedded.ts";
import type { DataPlace } from "../compose/secrets.ts";
import { UsageFault, type Config } from "../config.ts";
import type { CopiedDatabase, CopiedSum } from "../copies/copied-database.ts";
import { copyRows } from "../copies/copy-rows.ts";
import { countRows, withSnapshots } from "../copies/snapshots.ts";
import { databaseUrlRule, isAddress, isDatabaseUrl } from "../network/database-url.ts";
import { describeDatabase } from "../sql/postgres.ts";
import { quote } from "../text/show-hidden.ts";
import { fillPlace, readSecrets } from "./copies/fill-place.ts";
import {
  addRows,
  followRows,
  listenForStop,
  presentSums,
  printSums,
  toReadSignal,
} from "./copies/report-copy.ts";
import { refuseBusy, requireStill } from "./copies/require-still.ts";
import type { FlagsOf } from "./terminal/command-list.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { printJson, say } from "./terminal/output.ts";

type MigrateOptions = {
  readonly config: Config;
  /** Resolves when the person stops the command. */
  readonly stopped: Promise<void>;
};

/** `waypost migrate --to URL`: everything into another folder or database. */
export async function runMigrate(
  { config, stopped }: MigrateOptions,
  { to, json }: FlagValues<FlagsOf<"migrate">>,
): Promise<void> {
  const place = readTarget(to, config);
  requireOwn(config);
  requireData(config);
  await refuseOtherVersions(config);
  if (isHeldElsewhere(config)) throw refuseBusy();
  const signal = listenForStop(stopped);
  const sums = await withDatabases(config, listDatabases(config), (databases) =>
    copy({ config, databases, place, signal }),
  );
  const target = describeTarget(place);
  if (json === true) return printJson({ migrate: { to: target, tables: presentSums(sums) } });
  printSums(sums);
  say(`Copied ${addRows(sums)} rows to ${target}. ${nextStep(place)}`);
  say("The old data is unchanged. Do not use it any more.");
}

type Copy = {
  readonly config: Config;
  readonly databases: readonly CopiedDatabase[];
  readonly place: DataPlace;
  readonly signal: AbortSignal;
};

async function copy({ config, databases, place, signal }: Copy): Promise<readonly CopiedSum[]> {
  const { hold, requireUnchanged } = await requireStill(databases);
  const held = { signal: toReadSignal(signal), begin: hold };
  return withSnapshots(databases, held, async (snapshots) => {
    const progress = followRows(await countRows(snapshots));
    const names = databases.map(({ name }) => name);
    const secrets = readSecrets(config.data);
    try {
      return await fillPlace({ place, names, secrets, signal }, (target) =>
        copyRows({ ...target, snapshots, requireUnchanged, follow: progress.follow, signal }),
      );
    } finally {
      progress.end();
    }
  });
}

/** A folder, for the store and what Waypost remembers are two files; or a database. */
function readTarget(to: string | undefined, { data }: Config): DataPlace {
  if (to !== undefined && isDatabaseUrl(to)) {
    return { data, secrets: { database_url: to, database_url_file: undefined } };
  }
  if (to?.startsWith("postgres") === true) throw new UsageFault(`--to ${databaseUrlRule}`);
  const [, path = ""] = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(to ?? "") ?? [];
  if (path === "" || isAddress(path)) {
    throw new UsageFault(
      "use migrate --to sqlite:FOLDER, or --to postgres://user@host:5432/database with the " +
        "password in PGPASSWORD",
    );
  }
  if (basename(path) === "waypost.db") return { data: dirname(path) };
  if (!/\.(db|sqlite3?)$/i.test(path)) return { data: path };
  const fault = "must be a data folder, or the waypost.db in it";
  throw new UsageFault(`--to ${quote(path, 200)} ${fault}`);
}

function describeTarget({ data, secrets }: DataPlace): string {
  const url = secrets?.database_url;
  return url === undefined ? `sqlite:${resolve(data)}` : describeDatabase(url);
}

function nextStep({ data, secrets }: DataPlace): string {
  return secrets?.database_url === undefined
    ? `Start with --data ${quote(data, 200)} from now on.`
    : "Start with WAYPOST_DATABASE_URL_FILE or WAYPOST_DATABASE_URL from now on.";
}
