import type { JsonObject } from "../contract/json.ts";
import { html, type Html } from "./html.ts";
import { readNumber, readRecord, readText } from "./read.ts";

/** What is told of a job wherever one is shown. */

const states: Readonly<Record<string, readonly [word: string, look: string]>> = {
  running: ["Running", "tag busy"],
  done: ["Done", "tag good"],
  cancelled: ["Cancelled", "tag"],
  interrupted: ["Interrupted", "tag warn"],
};

export function renderState(job: JsonObject): Html {
  const [word, look] = states[readText(job, "state")] ?? ["", "tag"];
  return html`<span class="${look}">${word}</span>`;
}

export function isRunning(job: JsonObject): boolean {
  return readText(job, "state") === "running";
}

/** "Moved 17 links to new.example.com". */
export function describeJob(job: JsonObject): string {
  const what = readText(job, "what");
  return what === "" ? "A job" : what.charAt(0).toUpperCase() + what.slice(1);
}

export type Counts = Readonly<
  Record<"done" | "rejected" | "unknown" | "left" | "failed" | "ended" | "all", number>
>;

export function countRows(job: JsonObject): Counts {
  const counts = readRecord(job, "counts");
  const read = (name: string) => readNumber(counts, name);
  const [done, rejected, unknown, left] = [
    read("done"),
    read("rejected"),
    read("unknown"),
    read("left"),
  ];
  const failed = rejected + unknown;
  const ended = done + failed;
  return { done, rejected, unknown, left, failed, ended, all: ended + left };
}

export function renderProgress(job: JsonObject): Html {
  const { ended, all } = countRows(job);
  return html`<progress
    max="${Math.max(1, all)}"
    value="${ended}"
    aria-label="${describeJob(job)}"
  ></progress>`;
}

/** "3 of 17", and what of it failed. */
export function renderCounts(job: JsonObject): Html {
  const { ended, all, failed } = countRows(job);
  const numbers = `${ended.toLocaleString("en")} of ${all.toLocaleString("en")}`;
  return html`${numbers}${failed === 0 ? "" : html`, <span class="bad">${failed} failed</span>`}`;
}
