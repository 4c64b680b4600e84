import type { Revision } from "./run-suite.ts";

/** What the suite reports as missing because Waypost does not offer it. Nothing else is allowed. */
export type Absence = {
  /** Scenarios that only test this. */
  readonly scenarios: readonly string[];
  readonly why: string;
};

export const baseline: Readonly<Record<Revision, readonly Absence[]>> = {
  "2025-11-25": [
    {
      scenarios: ["completion-complete"],
      why: "Completions are not offered: an assistant finds ids with the listing tools.",
    },
    {
      scenarios: ["logging-set-level", "tools-call-with-logging"],
      why: "There is no logging over the protocol, which 2026-07-28 deprecates: logs go to stderr.",
    },
    {
      scenarios: ["resources-subscribe", "resources-unsubscribe"],
      why: "Resources cannot be watched: a remote server does not report its changes.",
    },
    {
      scenarios: ["server-sse-polling"],
      why: "Streams cannot be resumed (a warning): no event is kept once it is sent.",
    },
  ],
  "2026-07-28": [
    {
      scenarios: ["completion-complete"],
      why: "Completions are not offered: an assistant finds ids with the listing tools.",
    },
    {
      scenarios: ["http-custom-header-server-validation"],
      why: "No tool of Waypost needs a header of its own (x-mcp-header), so none can be wrong.",
    },
  ],
};
