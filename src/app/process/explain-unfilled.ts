import { UsageFault } from "../../config.ts";
import { CopyFault } from "../../copies/copy-fault.ts";
import { isFull, isIoFault, OutcomeUnknown } from "../../sql/faults.ts";
import { quote } from "../../text/show-hidden.ts";
import { readCode } from "../data/data-folder.ts";
import { isDiskFault } from "../data/whole-file.ts";

const mayBeCopied =
  "the database stopped responding, and the copy may or may not be complete; run the same " +
  "command again";

/** Why the source of a complete copy was not marked as moved. */
export function explainUnmarked(error: unknown, target: string): UsageFault {
  const reason = error instanceof Error ? error.message : "unknown error";
  const message =
    `everything was copied to ${target}, but the old data was not marked as moved: ${reason}; ` +
    "run the same command again before you use either of them";
  return new UsageFault(message, { cause: error });
}

/** Why a folder or database was not filled. */
export function explainUnfilled(error: unknown, data: string): unknown {
  if (error instanceof OutcomeUnknown) return new UsageFault(mayBeCopied, { cause: error });
  const place = quote(data, 200);
  const fail = (message: string) =>
    new UsageFault(`Nothing was copied: ${message}`, { cause: error });
  if (error instanceof CopyFault) return fail(error.message);
  const code = isFull(error) ? "ENOSPC" : readCode(error);
  if (isIoFault(error) || code === "EIO") {
    return fail(`the disk with ${place} reports errors; choose another disk`);
  }
  if (!isFull(error) && !isDiskFault(error)) return error;
  const cause = code === "ENOSPC" ? "the disk is full; free some space" : `${code}; fix this`;
  return fail(`cannot write to ${place}: ${cause}, and run the same command again`);
}
