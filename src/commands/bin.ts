import { clock, withKnownEmbedded } from "../compose/embedded.ts";
import { requireProject } from "../compose/find-project.ts";
import { journalCommand } from "../compose/journal-command.ts";
import { readTimeZone } from "../compose/time-zone.ts";
import { UsageFault, type Config } from "../config.ts";
import type { AndroidApp, IosApp } from "../contract/apps.ts";
import type { JsonObject } from "../contract/json.ts";
import { writeLocalTime, type TimeZone } from "../contract/local-time.ts";
import type { Link } from "../contract/links.ts";
import { findKindNamed } from "../contract/resource-kind.ts";
import { isBlank } from "../contract/text.ts";
import { androidAppKind, iosAppKind } from "../service/app-kinds.ts";
import { restoreDeletedApp, restoreDeletedLink } from "../service/restore-deleted.ts";
import { countBin, emptyBin, findBinKind, listBin, type BinEntry } from "../store/bin.ts";
import type { StoredProject } from "../store/projects.ts";
import type { Store } from "../store/store.ts";
import type { BinKind, ChoreTable, Tenant } from "../store/tables.ts";
import { quote } from "../text/show-hidden.ts";
import { confirmUntilStopped, type Terminal } from "./terminal/ask-to-go-on.ts";
import type { FlagsOf } from "./terminal/command-list.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { formatTable, print, printJson, say } from "./terminal/output.ts";

type BinFlags = FlagValues<FlagsOf<"bin">>;

type BinOptions = Terminal & { readonly config: Config };

type Session = {
  readonly config: Config;
  readonly store: Store;
  readonly project: StoredProject;
};

const entriesPerPage = 100;
/** What is not done in this time is done by the next `serve`. */
const longestChore_ms = 60_000;

/** `waypost bin list|restore|empty`. False where a person did not want to go on. */
export async function runBin(
  options: BinOptions,
  [subcommand = "list", id, ...rest]: readonly string[],
  flags: BinFlags,
): Promise<boolean | void> {
  const run = chooseRun(options, [subcommand, id, ...rest], flags);
  return withKnownEmbedded(options.config, async (store) =>
    run({
      config: options.config,
      store,
      project: await requireProject(store.db, flags.project),
    }),
  );
}

function chooseRun(
  options: BinOptions,
  [subcommand, id, ...rest]: readonly (string | undefined)[],
  flags: BinFlags,
): (session: Session) => Promise<boolean | void> {
  const isJson = flags.json === true;
  if (subcommand === "list" && id === undefined) {
    const page = readPage(flags.page);
    return (session) => showBin(session, page, isJson);
  }
  if (subcommand === "restore" && id !== undefined && rest.length === 0) {
    return (session) => restore(session, id.toLowerCase(), isJson);
  }
  if (subcommand === "empty" && id === undefined) {
    return (session) => empty(session, options, { isSure: flags.yes === true, isJson });
  }
  throw new UsageFault("use bin list, bin restore ID or bin empty (see waypost --help)");
}

function readPage(text = "1"): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageFault("--page must be a whole number, 1 or more");
}

async function showBin(session: Session, page: number, isJson: boolean): Promise<void> {
  const { config, store, project } = session;
  const tenant = { db: store.db, projectId: project.id };
  const now = clock.now();
  const count = await countBin(tenant, now);
  const limit = entriesPerPage;
  const entries = await listBin(tenant, now, { offset: (page - 1) * limit, limit });
  const meta = { page, limit, count, last: Math.max(1, Math.ceil(count / limit)) };
  if (isJson) return printJson({ bin: entries.map(present), meta });
  if (count === 0) return say("The bin is empty.");
  const heads = ["KIND", "ID", "NAME", "PATH OR IDENTIFIER", "DELETED", "KEPT UNTIL"];
  const zone = readTimeZone(config);
  print(formatTable([heads, ...entries.map((entry) => writeEntry(entry, zone))]));
  if (meta.last > 1) {
    say(
      `Page ${page} of ${meta.last}, ${count} entries in total. Use --page N to see another page.`,
    );
  }
}

/** The field that tells one of a kind from another. */
const identifiers = {
  link: "path",
  ios_app: iosAppKind.identifier,
  android_app: androidAppKind.identifier,
} as const satisfies Record<BinKind, string>;

function present({ kind, id, row, deleted_at, until }: BinEntry) {
  const identifier = identifiers[kind];
  return {
    kind,
    id,
    name: row["name"] ?? null,
    [identifier]: row[identifier],
    deleted_at: new Date(deleted_at).toISOString(),
    until: new Date(until).toISOString(),
  };
}

function writeEntry(entry: BinEntry, zone: TimeZone): readonly string[] {
  const { kind, id, row, deleted_at, until } = entry;
  const identifier = row[identifiers[kind]];
  const texts = [row["name"], identifier].map((text) =>
    typeof text === "string" ? quote(text) : "",
  );
  return [kind, id, ...texts, ...[deleted_at, until].map((time) => writeLocalTime(time, zone))];
}

async function restore(session: Session, id: string, isJson: boolean): Promise<void> {
  const { config, store, project } = session;
  const kind = await findBinKind({ db: store.db, projectId: project.id }, id);
  if (kind === undefined) throw refuseMissing(id);
  const { restored, chore } = await journalCommand(
    config,
    { tool: "bin restore", realm: project.id, kind, id, name: null, isRestore: true },
    () => store.write((db) => restoreOne({ db, projectId: project.id }, project, { kind, id })),
    (done) => ({ id, name: done.restored.name, before: null, after: done.restored }),
  );
  if (chore !== undefined) await store.finishChore(chore, longestChore_ms);
  if (isJson) return printJson(restored);
  print(restored.id);
  say(`Restored ${describe(kind, restored)} in project ${quote(project.subdomain)}.`);
}

/** `the link "Newsletter"`; without a name, its path or identifier. */
function describe(kind: BinKind, restored: RestoredOne["restored"]): string {
  const { label = kind } = findKindNamed(kind) ?? {};
  const record: JsonObject = { ...restored };
  const name = [record["name"], record[identifiers[kind]]].find((text) => !isBlank(text));
  return typeof name === "string" ? `the ${label} ${quote(name)}` : `the ${label}`;
}

type RestoredOne = {
  readonly restored: Link | IosApp | AndroidApp;
  readonly chore?: ChoreTable | undefined;
};

async function restoreOne(
  tenant: Tenant,
  project: StoredProject,
  { kind, id }: { readonly kind: BinKind; readonly id: string },
): Promise<RestoredOne> {
  const now = clock.now();
  if (kind === "link") {
    const link = await restoreDeletedLink(tenant, project, id, now);
    if (link !== undefined) return { restored: link };
  } else {
    const found =
      kind === "ios_app"
        ? await restoreDeletedApp(tenant, iosAppKind.apps, id, now)
        : await restoreDeletedApp(tenant, androidAppKind.apps, id, now);
    if (found !== undefined) return { restored: found.app, chore: found.chore };
  }
  throw refuseMissing(id);
}

function refuseMissing(id: string): UsageFault {
  return new UsageFault(
    `the bin has no entry with the ID ${quote(id)}; waypost bin list shows the IDs`,
  );
}

async function empty(
  { config, store, project }: Session,
  terminal: Terminal,
  { isSure, isJson }: { readonly isSure: boolean; readonly isJson: boolean },
): Promise<boolean> {
  // What is deleted while the person thinks is not what they were asked about.
  const upTo = clock.now();
  const count = await countBin({ db: store.db, projectId: project.id }, upTo);
  const conclude = (emptied: number, sentence: string) => {
    if (isJson) printJson({ emptied });
    (isJson ? say : print)(sentence);
  };
  if (count === 0) {
    conclude(0, "The bin is empty.");
    return true;
  }
  say(`The bin of the project ${project.subdomain} has ${count} deleted links and apps.`);
  if (!isSure && !(await confirm(terminal))) {
    conclude(0, "Nothing was changed.");
    return false;
  }
  await journalCommand(
    config,
    { tool: "bin empty", realm: project.id, kind: "bin", id: project.id, name: null, note: lost },
    () => emptyBin(store, project.id, upTo),
    () => ({ id: project.id, name: null, before: { entries: count }, after: { entries: 0 } }),
  );
  conclude(count, `Deleted ${count === 1 ? "1 entry" : `${count} entries`} permanently.`);
  return true;
}

const lost = "The bin was emptied in the CLI. Its entries cannot be restored.";

function confirm(terminal: Terminal): Promise<boolean> {
  if (terminal.input.isTTY) say("Deleted entries cannot be restored.");
  return confirmUntilStopped(terminal);
}
