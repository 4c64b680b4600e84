import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { isJsonFile, readJsonFile } from "../bulk/files/json-file.ts";
import type { Unit } from "../bulk/rows/check-rows.ts";
import type { RowSource } from "../bulk/rows/read-rows.ts";
import { explainFileFault } from "../app/data/file-fault.ts";
import { UsageFault } from "../config.ts";
import { planOperations } from "../state/plans.ts";
import { quote } from "../text/show-hidden.ts";
import { confirmAndApply } from "./bulk/apply-plan.ts";
import { refuseReadOnly, withBulk, type BulkSession } from "./bulk/bulk-session.ts";
import { readChoice, yesHelp, type Command, type Invocation } from "./terminal/command.ts";
import { say } from "./terminal/output.ts";

/** `waypost import` changes many links from the rows of a file. */

const importFlags = {
  FILE:
    "CSV with columns named like the fields of a link, a JSON list of links, or an export of " +
    "Firebase Dynamic Links, Bitly, Branch or Short.io; `-` is stdin",
  "--operation NAME": "upsert (create, or overwrite the link with the same path), update or delete",
  "--yes": yesHelp,
  "--json": "print `{plan, job}`",
};

export const importCommand: Command<typeof importFlags> = {
  usages: {
    "import FILE": ["change many links from CSV or JSON; shows the plan and asks first", run],
  },
  flags: importFlags,
  notes:
    "If a row is invalid, nothing is changed. Ctrl-C stops after the rows already in progress.",
};

/** Returns false if some rows of the file were not applied. */
async function run(invocation: Invocation<typeof importFlags>, file: string): Promise<boolean> {
  const { config, flags } = invocation;
  const { input } = invocation.runtime;
  const operation = readChoice("--operation", flags.operation ?? "upsert", planOperations);
  refuseReadOnly(config, "import");
  const work = async (session: BulkSession) => {
    const { source, unit } = await openRows(file, input, session.signal);
    say("Comparing the file with the existing links. Nothing is changed yet.");
    const request = { operation, source, ...(file !== "-" && { file: basename(file) }) };
    const plan = await session.bulk.plan(request, session.owner, session.signal);
    const answers = file === "-" ? undefined : input;
    return confirmAndApply(session, plan, { ...flags, unit, input: answers });
  };
  return withBulk(invocation, work, { mayCreate: true });
}

/** The maximum size of a JSON file. Parsing it takes several times its size in memory. */
const mostJsonBytes = 256 * 1024 * 1024;

async function openRows(
  file: string,
  input: Readable,
  signal: AbortSignal,
): Promise<{ readonly source: RowSource; readonly unit: Unit }> {
  const stream = addAbortSignal(signal, file === "-" ? input : createReadStream(file));
  const name = file === "-" ? "stdin" : quote(file);
  const chunks = readChunks(name, stream);
  const { value: first = new Uint8Array() } = await chunks.next();
  const whole = prepend(first, chunks);
  return isJsonFile(file, first)
    ? { source: { rows: await readJson(name, whole) }, unit: "row" }
    : { source: { csv: whole }, unit: "line" };
}

async function* readChunks(name: string, stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* stream as AsyncIterable<Uint8Array>;
  } catch (error) {
    const fault = `${name} cannot be read: ${explainFileFault(error)}; nothing was changed`;
    throw new UsageFault(fault, { cause: error });
  }
}

async function* prepend(first: Uint8Array, rest: AsyncGenerator<Uint8Array>) {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

async function readJson(name: string, chunks: AsyncIterable<Uint8Array>): Promise<unknown> {
  const bytes = await buffer(chunks);
  if (bytes.length > mostJsonBytes) {
    throw new UsageFault(`${name} is too large for JSON; use CSV, which has no size limit`);
  }
  const read = readJsonFile(bytes);
  if ("value" in read) return read.value;
  throw new UsageFault(`${name} ${read.fault}; nothing was changed`);
}
