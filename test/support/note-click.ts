import type { Clicks } from "../../src/host/clicks.ts";
import { writeKind } from "../../src/stats/visit.ts";
import { now } from "./rows.ts";

const kind = writeKind("click", now, { platform: "desktop", source: "address" });

/** A click of a person at a desk, of whom nothing else is told. */
export function noteClick(clicks: Pick<Clicks, "note">, projectId: string, linkId: string): void {
  clicks.note({ projectId, linkId, kind, isClick: true });
}
