import { UsageFault } from "../../config.ts";
import { StoreUnusable } from "../../sql/faults.ts";

/** What was looked at, and what is wrong with it, may become so, or is to be said of it. */
export type Finding = {
  readonly about: string;
  readonly fault?: string;
  readonly warning?: string;
  readonly said?: string;
};

export type Note = (finding: Finding) => void;

export function noteUsageFault(about: string, error: unknown, note: Note): void {
  if (!(error instanceof UsageFault) && !(error instanceof StoreUnusable)) throw error;
  note({ about, fault: error.message });
}
