import { randomUUID } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listDatabases, withDatabases } from "../../compose/copied-databases.ts";
import { keptFiles, listData, prepareDataFolder, readCode } from "../../compose/data-folder.ts";
import { clock, refuseOtherVersions } from "../../compose/embedded.ts";
import { readDatabaseUrl, readIfThere, type DataPlace } from "../../compose/secrets.ts";
import { isDiskFault } from "../../compose/whole-file.ts";
import { UsageFault } from "../../config.ts";
import {
  CopyFault,
  databaseNames,
  TargetTaken,
  type CopiedDatabase,
  type DatabaseName,
} from "../../copies/copied-database.ts";
import { isHalfFilled, type Claim } from "../../copies/fill-database.ts";
import { copyUnderWay } from "../../sql/copy-mark.ts";
import {
  Duplicate,
  isFull,
  isIoFault,
  OutcomeUnknown,
  StoreBusy,
  StoreUnusable,
} from "../../sql/faults.ts";
import { describeDatabase } from "../../sql/postgres.ts";
import { quote } from "../../text/show-hidden.ts";
import { Interrupted } from "../terminal/ask-to-go-on.ts";

/** A place that holds nothing, and a copy that is put there whole or not at all. */

type Secret = { readonly file: string; readonly text: string };

type Copy = {
  readonly place: DataPlace;
  /** Which databases the copy has. */
  readonly names: readonly DatabaseName[];
  readonly secrets: readonly Secret[];
  readonly signal: AbortSignal;
};

/** What the work needs to fill the databases. */
export type Target = {
  readonly databases: readonly CopiedDatabase[];
  readonly claim: Claim;
  readonly complete: () => void;
  readonly undo: () => void;
};

export async function fillPlace<Result>(
  copy: Copy,
  work: (target: Target) => Promise<Result>,
): Promise<Result> {
  const { place, signal } = copy;
  prepareDataFolder(place.data);
  await refuseOtherVersions(place).catch((error: unknown) => {
    // An interrupted copy is filled again.
    const isCopy = error instanceof StoreUnusable && error.message === copyUnderWay;
    if (!isCopy) throw error;
  });
  const names = findTargets(copy);
  const secrets = readSecrets(place.data);
  try {
    return await withDatabases(place, names, async (databases) => {
      await requireNoOtherSecret(copy, secrets, databases);
      return work({
        databases,
        claim: { id: randomUUID(), now: clock.now },
        complete: () => keepSecrets(copy, secrets),
        undo: () => removeNew(place.data, secrets),
      });
    });
  } catch (error) {
    if (signal.aborted) throw new Interrupted("stopped; nothing was copied");
    throw explainFault(error, place);
  }
}

/** The copy's databases, and any that an earlier try has left in the folder. */
function findTargets({ place, names }: Copy): readonly DatabaseName[] {
  const { data } = place;
  const present = listDatabases(place);
  const isTried = present.length > 0;
  const isFolder = readDatabaseUrl(place) === undefined;
  const foreign = listData(data).find((name) => !isTried || !isSecret(name));
  if (isFolder && foreign !== undefined) throw refuseFull(data, foreign);
  return databaseNames.filter((name) => names.includes(name) || present.includes(name));
}

function isSecret(name: string): boolean {
  return keptFiles.some((kept) => kept === name);
}

export function readSecrets(data: string): readonly Secret[] {
  return keptFiles.flatMap((file) => {
    const text = readIfThere(join(data, file));
    return text === undefined ? [] : [{ file, text }];
  });
}

/** One that is not the copy's is somebody's, unless a try that was ended has left it. */
async function requireNoOtherSecret(
  copy: Copy,
  secrets: readonly Secret[],
  databases: readonly CopiedDatabase[],
): Promise<void> {
  const other = secrets.find((secret) => !hasSame(copy.secrets, secret));
  const last = databases.at(-1);
  if (other === undefined || (last !== undefined && (await isHalfFilled(last)))) return;
  throw refuseFull(copy.place.data, other.file);
}

function hasSame(secrets: readonly Secret[], { file, text }: Secret): boolean {
  return secrets.some((secret) => secret.file === file && secret.text === text);
}

function keepSecrets({ place: { data }, secrets: wanted }: Copy, found: readonly Secret[]): void {
  for (const { file } of found.filter((one) => !hasSame(wanted, one))) remove(data, file);
  for (const secret of wanted.filter((one) => !hasSame(found, one))) {
    const { file, text } = secret;
    writeFileSync(join(data, file), `${text}\n`, { mode: 0o600, flag: "wx", flush: true });
  }
}

/** Those that were there before stay. */
function removeNew(data: string, found: readonly Secret[]): void {
  for (const file of keptFiles) {
    if (!found.some((secret) => secret.file === file)) remove(data, file);
  }
}

function remove(data: string, file: string): void {
  rmSync(join(data, file), { force: true });
}

const advice = "choose an empty folder or database";

function refuseFull(data: string, name: string): UsageFault {
  return new UsageFault(`${quote(data, 200)} is not empty: it contains ${quote(name)}; ${advice}`);
}

const goesAgain = "if a copy was interrupted, the same command reports how many seconds to wait";

const mayBeCopied =
  "the database stopped responding, and the copy may or may not be complete; run the same " +
  "command again: it starts over, or reports that the complete copy already exists";

function explainFault(error: unknown, target: DataPlace): unknown {
  const place = quote(target.data, 200);
  const fail = (message: string) =>
    new UsageFault(`Nothing was copied: ${message}`, { cause: error });
  if (error instanceof TargetTaken) {
    const url = readDatabaseUrl(target);
    const [kind, name] =
      url === undefined ? ["folder", place] : ["database", describeDatabase(url)];
    return fail(`the ${kind} ${name} already contains Waypost data. Use an empty ${kind}.`);
  }
  if (error instanceof CopyFault) return fail(error.message);
  if (error instanceof StoreBusy && error.outage !== "busy") {
    return fail(`${error.message}; ${goesAgain}`);
  }
  if (error instanceof OutcomeUnknown) return new UsageFault(mayBeCopied, { cause: error });
  if (error instanceof Duplicate) {
    return fail("the data has duplicate rows");
  }
  if (isIoFault(error)) return fail(`the disk of ${place} reports errors; choose another disk`);
  if (!isFull(error) && !isDiskFault(error)) return error;
  const code = isFull(error) ? "the disk is full" : readCode(error);
  return fail(
    `${place} cannot be written (${code}); free some space, and run the same command again`,
  );
}
