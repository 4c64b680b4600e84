import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  createExportCount,
  exportFormats,
  writeWhole,
  type ExportFormat,
} from "../bulk/files/write-links.ts";
import { selectParts } from "../bulk/select/select-links.ts";
import { explainWriteFault, isFileFault, readCode } from "../app/data/file-fault.ts";
import { writeWholeFile } from "../app/data/whole-file.ts";
import { UsageFault } from "../config.ts";
import { contract } from "../contract/index.ts";
import { quote } from "../text/show-hidden.ts";
import { withKnownBulk } from "./bulk/bulk-session.ts";
import { readFilters, readSearchText } from "./bulk/read-filters.ts";
import { readChoice, type Command, type Invocation } from "./terminal/command.ts";
import { claimStdout, printJson, say } from "./terminal/output.ts";

const exportFlags = {
  "--format csv|json": "csv or json (default: the extension of `--output`, otherwise csv)",
  "--filter NAME=VALUE":
    "a field, a condition and a value, such as `name_cont=spring`; `_in` takes a list (`a,b`), " +
    "and `_null`, `_present` and `_empty` take true or false; with several filters, all must match",
  "--search TEXT":
    "words from a link's name, path, destination or social title, or the link's address",
  "--output FILE": "write to FILE instead of stdout; a failed export leaves no file",
  "--force": "overwrite FILE",
  "--json": "print `{export: {file, count, format}}`, with `--output`",
};

export const exportCommand: Command<typeof exportFlags> = {
  usages: { export: ["write all links, or those that match filters, to one file", run] },
  flags: exportFlags,
};

type ExportInvocation = Invocation<typeof exportFlags>;

async function run(invocation: ExportInvocation): Promise<void> {
  const { flags } = invocation;
  const { output: file, json } = flags;
  const filters = readFilters(flags.filter ?? []);
  const search = readSearchText(flags.search);
  const format = readFormat(flags);
  if (json === true && file === undefined) {
    throw new UsageFault("--json needs --output FILE; to export links as JSON, use --format json");
  }
  if (file !== undefined) await checkPlace(file, flags.force === true);
  const counted = await withKnownBulk(invocation, async ({ owner: { call }, signal }) => {
    // Nothing is written before the server has accepted the key.
    await call(contract.links.index, { limit: 1 }, signal);
    const counting = createExportCount();
    const failed = new AbortController();
    const asking = { call, signal: AbortSignal.any([signal, failed.signal]) };
    const parts = counting.pass(selectParts(asking, filters, search));
    try {
      await write(Readable.from(writeWhole(parts, format)), flags, signal);
    } finally {
      // After a failed write, reading must stop before the deployment is closed.
      failed.abort();
      await parts.return(undefined).catch(() => undefined);
    }
    return counting;
  });
  const count = counted.readCount();
  for (const lack of counted.listMissing()) say(`${lack}.`);
  if (json === true) return printJson({ export: { file, count, format } });
  const links = count === 1 ? "1 link" : `${count} links`;
  say(`${links}${file === undefined ? "" : ` in ${quote(file, 200)}`}.`);
}

function readFormat({ format, output = "" }: ExportInvocation["flags"]): ExportFormat {
  if (format === undefined) return /\.json$/i.test(output) ? "json" : "csv";
  return readChoice("--format", format, exportFormats);
}

/** Throws if the file exists, unless it is a regular file and --force is set. */
async function checkPlace(file: string, isForced: boolean): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isFile()) throw new UsageFault(`${quote(file, 200)} is not a regular file`);
  if (isForced) return;
  throw new UsageFault(`the file ${quote(file, 200)} already exists; pass --force to overwrite it`);
}

/** Writes to the file, or to stdout if no file is given. */
async function write(
  pieces: Readable,
  { output: file, force = false }: ExportInvocation["flags"],
  signal: AbortSignal,
): Promise<void> {
  try {
    if (file === undefined) await pipeline(pieces, claimStdout(), { signal, end: false });
    else await writeWholeFile(file, force, (output) => pipeline(pieces, output, { signal }));
  } catch (error) {
    // The reader closed the pipe early, which is not an error.
    if (file === undefined && readCode(error) === "EPIPE") return;
    // A failure to read the links keeps its own message.
    if (!isFileFault(error)) throw error;
    const place = file === undefined ? "stdout" : quote(file, 200);
    const fault = `cannot write to ${place}: ${explainWriteFault(error)}`;
    throw new UsageFault(fault, { cause: error });
  }
}
