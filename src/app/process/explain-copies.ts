import { UsageFault } from "../../config.ts";
import { CopyFault } from "../../copies/copy-fault.ts";
import { describeDatabase } from "../../network/database-url.ts";
import { isFull, isIoFault, OutcomeUnknown } from "../../sql/faults.ts";
import { quote } from "../../text/show-hidden.ts";
import { explainWriteFault, isFileFault } from "../data/file-fault.ts";
import { readDatabaseUrl, type DataLocation } from "../data/secrets.ts";

/** Explains why a command could not copy the data. */

/** Throws if the data is in PostgreSQL, which has its own tools for copying data. */
export function requireFiles(place: DataLocation, advice: string): void {
  const url = readDatabaseUrl(place);
  if (url === undefined) return;
  throw new UsageFault(
    `the data is in the database ${describeDatabase(url)}; ${advice} ` +
      "(waypost help backup-and-upgrade)",
  );
}

/** Explains why nothing was copied to a file, folder or database. */
export function explainUncopied(error: unknown, target: string): unknown {
  const fail = (message: string) => new UsageFault(message, { cause: error });
  if (error instanceof OutcomeUnknown) {
    return fail(
      "the database stopped responding, and the copy may or may not be complete; run the same " +
        "command again",
    );
  }
  if (error instanceof CopyFault) return fail(`Nothing was copied: ${error.message}`);
  if (!isFull(error) && !isIoFault(error) && !isFileFault(error)) return error;
  const place = quote(target, 200);
  return fail(`Nothing was copied: cannot write to ${place}: ${explainWriteFault(error)}`);
}
