import { basename, dirname } from "node:path";
import { clock, requireData, requireOwn } from "../app/process/embedded.ts";
import { explainUncopied } from "../app/process/explain-copies.ts";
import { describePlace, fillTarget, lockSource, type Source } from "../app/process/move-data.ts";
import type { DataPlace } from "../app/data/secrets.ts";
import { UsageFault, type Config } from "../config.ts";
import { countRows } from "../copies/copy-database.ts";
import { databaseUrlRule, isAddress, isDatabaseUrl } from "../network/database-url.ts";
import { quote } from "../text/show-hidden.ts";
import { Interrupted, listenForStop } from "./terminal/ask-to-go-on.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { openScreen, printJson, printTable, say } from "./terminal/output.ts";
import { createProgress } from "./terminal/progress-bar.ts";

const migrateFlags = {
  "--to URL":
    "`sqlite:FOLDER`, an empty data folder (Waypost writes two database files there), or " +
    "`postgres://user@host:5432/name`, an empty database. Pass its password in `PGPASSWORD`, " +
    "where other users cannot read it. If the copy stops, run it again",
  "--json": "print `{migrate}`: the tables with their row counts",
};

export const migrate: Command<typeof migrateFlags> = {
  usages: {
    "migrate --to URL": [
      "move everything to another folder or database, while Waypost is stopped",
      run,
    ],
  },
  flags: migrateFlags,
};

async function run({ config, flags, host }: Invocation<typeof migrateFlags>): Promise<void> {
  const place = readTarget(flags.to, config);
  requireOwn(config);
  requireData(config);
  const signal = listenForStop(host);
  const target = describePlace(place);
  let isFilled = false;
  const fill = async (sources: readonly Source[]) => {
    const progress = followRows(await countAll(sources));
    const filling = { sources, from: config, follow: progress.follow, signal };
    const tables = await fillTarget(place, filling).finally(progress.end);
    isFilled = true;
    return tables;
  };
  const tables = await lockSource(config, target, fill).catch((error: unknown) => {
    if (isFilled) throw explainUnmarked(error, target);
    if (signal.aborted) throw new Interrupted("stopped; nothing was copied");
    throw explainUncopied(error, place.data);
  });
  if (flags.json === true) return printJson({ migrate: { to: target, tables } });
  const filled = tables.filter(({ rows }) => rows > 0);
  const cells = filled.map(({ table, rows }) => [table, String(rows)]);
  printTable(["TABLE", "ROWS"], cells);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  say(`Copied ${rows} rows to ${target}. ${nextStep(place)}`);
  say("The old data is marked as moved: Waypost does not start with it any more.");
}

/** The copy is complete, but its source could not be marked as moved. */
function explainUnmarked(error: unknown, target: string): UsageFault {
  const reason = error instanceof Error ? error.message : "unknown error";
  return new UsageFault(
    `everything was copied to ${target}, but the old data was not marked as moved: ${reason}; ` +
      "run the same command again before you use either of them",
    { cause: error },
  );
}

/** Shows the progress if stderr is a terminal. */
function followRows(total: number) {
  const screen = openScreen();
  if (!screen.isTTY) return { follow: () => {}, end: () => {} };
  let done = 0;
  const count = () => ({ done, rejected: 0, unknown: 0, left: total - done });
  const bar = createProgress(screen, count(), clock);
  const follow = (rows: number) => {
    done += rows;
    bar.show(count());
  };
  return { follow, end: bar.end };
}

async function countAll(sources: readonly Source[]): Promise<number> {
  let rows = 0;
  for (const { known, db } of sources) {
    for (const table of known.tables) rows += await countRows(db, table);
  }
  return rows;
}

/** Parses the target: a data folder, which has two files, or a database. */
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

function nextStep({ data, secrets }: DataPlace): string {
  return secrets?.database_url === undefined
    ? `Start with --data ${quote(data, 200)} from now on.`
    : "Start with WAYPOST_DATABASE_URL_FILE or WAYPOST_DATABASE_URL from now on.";
}
