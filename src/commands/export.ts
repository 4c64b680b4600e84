import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createExportCount, exportFormats, writeWhole } from "../bulk/files/write-links.ts";
import { selectParts } from "../lists/select-links.ts";
import { explainWriteFault, isFileFault, readCode } from "../app/data/file-fault.ts";
import { writeWholeFile } from "../app/data/whole-file.ts";
import { UsageFault } from "../config.ts";
import { contract } from "../contract/index.ts";
import { quote } from "../text/show-hidden.ts";
import { withBulk } from "./bulk/bulk-session.ts";
import { readSelection } from "./bulk/read-filters.ts";
import { readChoice, type Command, type Invocation } from "./terminal/command.ts";
import { claimStdout, printJson, say } from "./terminal/output.ts";

/** `waypost export` writes links to a CSV or JSON file. */

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
  const { filters, search } = readSelection(flags);
  const usual = /\.json$/i.test(file ?? "") ? "json" : "csv";
  const format = readChoice("--format", flags.format ?? usual, exportFormats);
  if (json === true && file === undefined) {
    throw new UsageFault("--json needs --output FILE; to export links as JSON, use --format json");
  }
  if (file !== undefined) await refuseExisting(file, flags.force === true);
  const exported = await withBulk(invocation, async ({ owner: { call }, signal }) => {
    // If the server rejects the key, this request fails before anything is written.
    await call(contract.links.index, { limit: 1 }, signal);
    const counts = createExportCount();
    const failed = new AbortController();
    const reading = { call, signal: AbortSignal.any([signal, failed.signal]) };
    const parts = counts.pass(selectParts(reading, filters, search));
    try {
      await write(Readable.from(writeWhole(parts, format)), flags, signal);
    } finally {
      // After a failed write, reading must stop before the deployment is closed.
      failed.abort();
      await parts.return(undefined).catch(() => undefined);
    }
    return counts;
  });
  const count = exported.readCount();
  for (const missing of exported.listMissing()) say(`${missing}.`);
  if (json === true) return printJson({ export: { file, count, format } });
  const links = count === 1 ? "1 link" : `${count} links`;
  say(`${links}${file === undefined ? "" : ` in ${quote(file, 200)}`}.`);
}

async function refuseExisting(file: string, isForced: boolean): Promise<void> {
  const existing = await stat(file).catch(() => undefined);
  if (existing === undefined) return;
  if (!existing.isFile()) throw new UsageFault(`${quote(file, 200)} is not a regular file`);
  if (isForced) return;
  throw new UsageFault(`the file ${quote(file, 200)} already exists; pass --force to overwrite it`);
}

async function write(
  pieces: Readable,
  { output: file, force = false }: ExportInvocation["flags"],
  signal: AbortSignal,
): Promise<void> {
  try {
    if (file === undefined) await pipeline(pieces, claimStdout(), { signal, end: false });
    else await writeWholeFile(file, force, (output) => pipeline(pieces, output, { signal }));
  } catch (error) {
    // A reader such as `head` may close the pipe early.
    if (file === undefined && readCode(error) === "EPIPE") return;
    if (!isFileFault(error)) throw error;
    const place = file === undefined ? "stdout" : quote(file, 200);
    const fault = `cannot write to ${place}: ${explainWriteFault(error)}`;
    throw new UsageFault(fault, { cause: error });
  }
}
