import { basename, dirname } from "node:path";
import { clock, requireData, requireOwn } from "../app/process/embedded.ts";
import { explainUncopied } from "../app/process/explain-copies.ts";
import { describePlace, fillTarget, lockSource, type Source } from "../app/process/move-data.ts";
import type { DataLocation } from "../app/data/secrets.ts";
import { UsageFault, type Config } from "../config.ts";
import { countRows } from "../copies/copy-database.ts";
import { databaseUrlRule, isAddress, isDatabaseUrl } from "../network/database-url.ts";
import { quote } from "../text/show-hidden.ts";
import { Interrupted, listenForStop } from "./terminal/ask-to-go-on.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { openScreen, printJson, printTable, say } from "./terminal/output.ts";
import { createProgress } from "./terminal/progress-bar.ts";

/** `waypost migrate` moves all data to another folder or database. */

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

async function run({ config, flags, runtime }: Invocation<typeof migrateFlags>): Promise<void> {
  const place = readTarget(flags.to, config);
  requireOwn(config);
  requireData(config);
  const signal = listenForStop(runtime);
  const target = describePlace(place);
  let isFilled = false;
  const fill = async (sources: readonly Source[]) => {
    let total = 0;
    for (const { known, db } of sources) {
      for (const table of known.tables) total += await countRows(db, table);
    }
    const screen = openScreen();
    const progress = createProgress(screen, { ended: 0, total }, clock);
    let ended = 0;
    const follow = (rows: number) => {
      ended += rows;
      if (screen.isTTY) progress.show({ ended, total });
    };
    const filling = { sources, from: config, follow, signal };
    const tables = await fillTarget(place, filling).finally(progress.end);
    isFilled = true;
    return tables;
  };
  const tables = await lockSource(config, target, fill).catch((error: unknown) => {
    if (isFilled) {
      const reason = error instanceof Error ? error.message : "unknown error";
      throw new UsageFault(
        `everything was copied to ${target}, but the old data was not marked as moved: ` +
          `${reason}; run the same command again before you use either of them`,
        { cause: error },
      );
    }
    if (signal.aborted) throw new Interrupted("stopped; nothing was copied");
    throw explainUncopied(error, place.data);
  });
  if (flags.json === true) return printJson({ migrate: { to: target, tables } });
  const filled = tables.filter(({ rows }) => rows > 0);
  const cells = filled.map(({ table, rows }) => [table, String(rows)]);
  printTable(["TABLE", "ROWS"], cells);
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const next =
    place.secrets === undefined
      ? `--data ${quote(place.data, 200)}`
      : "WAYPOST_DATABASE_URL_FILE or WAYPOST_DATABASE_URL";
  say(`Copied ${rows} rows to ${target}. Start with ${next} from now on.`);
  say("The old data is marked as moved: Waypost does not start with it any more.");
}

function readTarget(to: string | undefined, { data }: Config): DataLocation {
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
