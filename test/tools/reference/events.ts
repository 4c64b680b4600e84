import { webhookEvents, type WebhookEvent } from "../../../src/contract/webhook-events.ts";
import { code, writeTable } from "./table.ts";

/** Writes the table of webhook events. */
export function writeEvents(): string {
  const rows = webhookEvents.map((event) => {
    const { when, data } = descriptions[event];
    return [code(event), when, data];
  });
  return writeTable(["event", "sent when", "`data` has `project_id` and"], rows);
}

const descriptions: Readonly<
  Record<WebhookEvent, { readonly when: string; readonly data: string }>
> = {
  "link.created": {
    when: "a link is created, or restored from the bin",
    data: "`link`, as the API returns it",
  },
  "link.updated": {
    when: "a link's fields change",
    data: "`link`, and `previous`: the old values of what changed",
  },
  "link.deleted": {
    when: "a link is deleted",
    data: "`link`, as it was",
  },
  "link.clicked": {
    when: "visitors open links; at most once a second",
    data: "`links`: the `id` and the new `clicks` of each, up to 500",
  },
  "install.matched": {
    when: "an app reports its first start, and Waypost finds the link of its visit",
    data: "`link`, `platform`, `confidence` and `match_score`",
  },
  "job.finished": {
    when: "a job ends, or is cancelled",
    data: "`job`: `id`, `plan_id`, `operation`, `state` (`done` or `cancelled`) and `counts`",
  },
  "approval.waiting": {
    when: "a call waits for a person",
    data: "`approval`: `headline`, `expires_at`, and an `id` that opens nothing",
  },
};
