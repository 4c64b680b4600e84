import { basename } from "node:path";
import { UsageFault } from "../config.ts";
import { planOperations } from "../state/plans.ts";
import { refuseReadOnly, withBulk, type BulkSessionOptions } from "./bulk/bulk-session.ts";
import { confirmAndApply } from "./bulk/confirm-and-apply.ts";
import { openRows } from "./bulk/open-rows.ts";
import type { FlagsOf } from "./terminal/command-list.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { say } from "./terminal/output.ts";
import { readChoice } from "./terminal/read-choice.ts";

type ImportFlags = FlagValues<FlagsOf<"import">>;

/** `waypost import FILE`. False where not everything in the file is done. */
export async function runImport(
  /** `input` is the file itself, or where the person answers. */
  options: BulkSessionOptions & { readonly input: NodeJS.ReadStream },
  [file, ...rest]: readonly string[],
  flags: ImportFlags,
): Promise<boolean> {
  const { config, input } = options;
  if (file === undefined || rest.length > 0) {
    throw new UsageFault("import needs one FILE, or - for stdin (see waypost --help)");
  }
  const operation = readChoice("--operation", flags.operation ?? "upsert", planOperations);
  refuseReadOnly(config, "import");
  return withBulk(options, async (session) => {
    const { source, unit } = await openRows(file, input, session.signal);
    say("Comparing the file with the existing links. Nothing is changed yet.");
    const wanted = { operation, source, ...(file !== "-" && { file: basename(file) }) };
    const made = await session.bulk.plan(wanted, session.owner, session.signal);
    return confirmAndApply(session, made, {
      unit,
      isJson: flags.json === true,
      isSure: flags.yes === true,
      // Where stdin is the file, no answer can come from it.
      input: file !== "-" && input.isTTY ? input : undefined,
    });
  });
}
