import { open } from "node:fs/promises";
import { basename } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { findEncoding } from "../bulk/files/csv.ts";
import type { Unit } from "../bulk/rows/check-rows.ts";
import type { RowSource } from "../bulk/rows/read-rows.ts";
import { readCode } from "../app/data/data-folder.ts";
import { UsageFault } from "../config.ts";
import { isNestedTooDeep } from "../contract/json.ts";
import { planOperations } from "../state/plans.ts";
import { quote } from "../text/show-hidden.ts";
import { refuseReadOnly, withBulk } from "./bulk/bulk-session.ts";
import { confirmAndApply } from "./bulk/confirm-and-apply.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { yesHelp } from "./terminal/shared-flags.ts";
import { say } from "./terminal/output.ts";
import { readChoice } from "./terminal/read-flags.ts";

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

/** False if some rows of the file were not applied. */
async function run(
  { config, flags, host }: Invocation<typeof importFlags>,
  file: string,
): Promise<boolean> {
  // Either the file itself, or the terminal for the answer.
  const { input } = host;
  const operation = readChoice("--operation", flags.operation ?? "upsert", planOperations);
  refuseReadOnly(config, "import");
  return withBulk({ config, stopped: host.waitForStop() }, async (session) => {
    const { source, unit } = await openRows(file, input, session.signal);
    say("Comparing the file with the existing links. Nothing is changed yet.");
    const wanted = { operation, source, ...(file !== "-" && { file: basename(file) }) };
    const made = await session.bulk.plan(wanted, session.owner, session.signal);
    return confirmAndApply(session, made, {
      unit,
      isJson: flags.json === true,
      isSure: flags.yes === true,
      // If stdin is the file, it cannot have an answer too.
      input: file !== "-" && input.isTTY ? input : undefined,
    });
  });
}

/** JSON is valid only up to its last bracket, so the whole file must fit in memory. */
const mostJsonBytes = 256 * 1024 * 1024;

/** CSV is planned while the file is read, and JSON after all of it was read. */
async function openRows(
  file: string,
  input: Readable,
  signal: AbortSignal,
): Promise<{ readonly source: RowSource; readonly unit: Unit }> {
  const stream = addAbortSignal(signal, file === "-" ? input : await openFile(file));
  const name = file === "-" ? "stdin" : quote(file);
  const chunks = readChunks(name, stream);
  const { first, beginning } = await readBeginning(chunks);
  const whole = prepend(beginning, chunks);
  const isJson = /\.json$/i.test(file) || first === "[" || first === "{";
  return isJson
    ? { source: { rows: await readJson(name, whole) }, unit: "row" }
    : { source: { csv: whole }, unit: "line" };
}

async function openFile(file: string): Promise<Readable> {
  try {
    const handle = await open(file);
    if ((await handle.stat()).isDirectory()) {
      await handle.close();
      throw new UsageFault(`${quote(file)} is a folder; use a file in it`);
    }
    return handle.createReadStream();
  } catch (error) {
    if (error instanceof UsageFault) throw error;
    const code = readCode(error);
    if (code === "ENOENT") throw new UsageFault(`the file ${quote(file)} does not exist`);
    throw new UsageFault(`the file ${quote(file)} cannot be read (${code})`, { cause: error });
  }
}

async function* readChunks(name: string, stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    // A stream without an encoding yields bytes.
    yield* stream as AsyncIterable<Uint8Array>;
  } catch (error) {
    const fault = `${name} could not be read completely (${readCode(error)})`;
    throw new UsageFault(`${fault}; nothing was changed`, { cause: error });
  }
}

/** The chunks up to the first character that is not blank. */
async function readBeginning(chunks: AsyncGenerator<Uint8Array>) {
  const beginning: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await chunks.next();
    if (done === true) return { first: "", beginning };
    beginning.push(value);
    const byte = value.find((each) => !blanks.has(each));
    if (byte !== undefined) return { first: String.fromCharCode(byte), beginning };
  }
}

/** Includes byte order marks, and the zeros of UTF-16. */
const blanks: ReadonlySet<number> = new Set([...Buffer.from(" \t\r\n\ufeff"), 0xff, 0xfe, 0]);

async function* prepend(
  beginning: readonly Uint8Array[],
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* beginning;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

async function readJson(name: string, chunks: AsyncIterable<Uint8Array>): Promise<unknown> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > mostJsonBytes) {
      throw new UsageFault(`${name} is too large for JSON; use CSV, which has no size limit`);
    }
    parts.push(chunk);
  }
  const rows = parseRows(name, Buffer.concat(parts));
  if (!isNestedTooDeep(rows)) return rows;
  throw new UsageFault(`the JSON in ${name} is nested too deeply; nothing was changed`);
}

function parseRows(name: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder(findEncoding(bytes), { fatal: true }).decode(bytes));
  } catch (error) {
    // The message of a SyntaxError has the position and the text there.
    const fault =
      error instanceof SyntaxError
        ? `is not valid JSON: ${quote(error.message, 200)}; nothing was changed`
        : "is not UTF-8 text; save it as UTF-8";
    throw new UsageFault(`${name} ${fault}`, { cause: error });
  }
}
