import type { Revision } from "./run-suite.ts";

/** What the suite finds missing because it is not offered; nothing else may ever stand here. */
export type Absence = {
  /** Scenarios of the suite that are about this and nothing else. */
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
      why: "Resources cannot be watched: a deployment elsewhere tells nobody of its changes.",
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
      why: "No tool of ours asks for a header of its own (x-mcp-header), so none can be wrong.",
    },
  ],
};
