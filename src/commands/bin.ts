import { emptyProjectBin, listDeleted, nameIdentifier, type DeletedItem } from "../admin/bin.ts";
import { journal, type Operator } from "../admin/operator.ts";
import { clock } from "../app/process/embedded.ts";
import { requireProject } from "../app/process/find-project.ts";
import { readTimeZone } from "../app/process/time-zone.ts";
import { withOperator } from "../app/process/with-operator.ts";
import { UsageFault, type Config } from "../config.ts";
import type { AndroidApp, IosApp } from "../contract/apps.ts";
import type { JsonObject } from "../contract/json.ts";
import { writeLocalTime, type TimeZone } from "../contract/local-time.ts";
import type { Link } from "../contract/links.ts";
import { findKindNamed } from "../contract/resource-kind.ts";
import { isBlank } from "../contract/text.ts";
import { androidAppKind, iosAppKind } from "../service/app-kinds.ts";
import { restoreDeletedApp, restoreDeletedLink } from "../service/restore-deleted.ts";
import { countBin, findBinKind } from "../store/bin.ts";
import type { StoredProject } from "../store/projects.ts";
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
  readonly operator: Operator;
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
  const { config } = options;
  return withOperator(config, async (operator) =>
    run({ config, operator, project: await requireProject(operator.store.db, flags.project) }),
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
  const { config, operator, project } = session;
  const tenant = { db: operator.store.db, projectId: project.id };
  const limit = entriesPerPage;
  const { items, meta } = await listDeleted(tenant, clock.now(), { page, limit });
  const { count, last } = meta;
  if (isJson) return printJson({ bin: items.map(present), meta });
  if (count === 0) return say("The bin is empty.");
  const heads = ["KIND", "ID", "NAME", "PATH OR IDENTIFIER", "DELETED", "KEPT UNTIL"];
  const zone = readTimeZone(config);
  print(formatTable([heads, ...items.map((item) => writeItem(item, zone))]));
  if (last > 1) {
    say(`Page ${page} of ${last}, ${count} entries in total. Use --page N to see another page.`);
  }
}

function present({ kind, id, name, identifier, deleted_at, until }: DeletedItem) {
  return {
    kind,
    id,
    name,
    [nameIdentifier(kind)]: identifier,
    deleted_at: new Date(deleted_at).toISOString(),
    until: new Date(until).toISOString(),
  };
}

function writeItem(item: DeletedItem, zone: TimeZone): readonly string[] {
  const { kind, id, name, identifier, deleted_at, until } = item;
  const texts = [name === null ? "" : quote(name), quote(identifier)];
  return [kind, id, ...texts, ...[deleted_at, until].map((time) => writeLocalTime(time, zone))];
}

async function restore(session: Session, id: string, isJson: boolean): Promise<void> {
  const { operator, project } = session;
  const { store } = operator;
  const kind = await findBinKind({ db: store.db, projectId: project.id }, id);
  if (kind === undefined) throw refuseMissing(id);
  const { restored, chore } = await journal(
    operator,
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
  const name = [record["name"], record[nameIdentifier(kind)]].find((text) => !isBlank(text));
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
  { operator, project }: Session,
  terminal: Terminal,
  { isSure, isJson }: { readonly isSure: boolean; readonly isJson: boolean },
): Promise<boolean> {
  // What is deleted while the person thinks is not what they were asked about.
  const upTo = clock.now();
  const count = await countBin({ db: operator.store.db, projectId: project.id }, upTo);
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
  await emptyProjectBin(operator, project.id, upTo, count);
  conclude(count, `Deleted ${count === 1 ? "1 entry" : `${count} entries`} permanently.`);
  return true;
}

function confirm(terminal: Terminal): Promise<boolean> {
  if (terminal.input.isTTY) say("Deleted entries cannot be restored.");
  return confirmUntilStopped(terminal);
}
