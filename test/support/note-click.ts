import type { Clicks } from "../../src/host/clicks.ts";
import { describeVisit, type Visit } from "../../src/stats/visit.ts";
import { now } from "./rows.ts";

/** A click of a person at a desk, of whom nothing else is told. */
export function noteClick(
  clicks: Pick<Clicks, "note">,
  projectId: string,
  linkId: string,
  otherwise: Partial<Visit> = {},
): void {
  const visit = { what: "click", at: now, platform: "desktop", source: "address" } as const;
  clicks.note(linkId, describeVisit({ projectId, ...visit, ...otherwise }));
}
