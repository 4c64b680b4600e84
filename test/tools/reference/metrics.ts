import { contract } from "../../../src/contract/index.ts";
import { createMetrics } from "../../../src/metrics/metrics.ts";
import { code, listCodes, writeTable } from "./table.ts";

/** Waypost's own metrics, read from a page with a sample of each. */
export async function writeMetrics(): Promise<string> {
  const text = await scrapeSample();
  const rows = [...text.matchAll(/^# HELP (waypost_\w+) (.+)$/gm)].map(
    ([, name = "", help = ""]) => {
      const type = new RegExp(`^# TYPE ${name} (\\w+)$`, "m").exec(text)?.[1] ?? "";
      return [code(name), type, listCodes(listLabels(text, name)), `${help}.`];
    },
  );
  return writeTable(["metric", "type", "labels", "meaning"], rows.toSorted(compareNames));
}

function compareNames([one = ""]: readonly string[], [other = ""]: readonly string[]): number {
  return one < other ? -1 : 1;
}

async function scrapeSample(): Promise<string> {
  const { countRequest, countCall, countVisit, countMessage, write } = createMetrics();
  const endpoint = contract.links.index;
  const request = { method: "GET", url: "/links", headers: {}, address: "192.0.2.1" };
  countRequest({ endpoint, request }, 200, 0);
  countRequest({ endpoint, request }, 429, 0);
  countCall("get_link", "ok", 0);
  countVisit(200, 0);
  countMessage(200);
  return write({
    commits: { links: 0 },
    pool: { open: 0, idle: 0, waiting: 0 },
    clicks: { counted: 0, written: 0, waiting: 0, lost: 0 },
    jobs: { running: 0, waiting: 0, ended: { done: 0 } },
    approvals: { asked: 0, given: 0, refused: 0, expired: 0 },
    connections: { sessions: 0, streams: 0, calls: 0 },
    deliveries: { delivered: 0, failed: 0, given_up: 0 },
    events: { waiting: 0, given_up: 0, dropped: 0 },
  });
}

/** `le` is the bucket of a histogram. */
function listLabels(text: string, name: string): readonly string[] {
  const samples = [...text.matchAll(new RegExp(`^${name}(?:_count)?(?:\\{(.+)\\})? `, "gm"))];
  const names = samples.flatMap(([, labels = ""]) => labels.match(/\w+(?==")/g) ?? []);
  return [...new Set(names)].filter((label) => label !== "le");
}
