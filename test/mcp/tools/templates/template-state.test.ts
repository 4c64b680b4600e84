import { expect, test } from "vitest";
import type { Endpoint } from "../../../../src/contract/endpoint.ts";
import { contract } from "../../../../src/contract/index.ts";
import { ToolFailure } from "../../../../src/mcp/results/tool-failure.ts";
import { readState, type Asking } from "../../../../src/mcp/tools/templates/template-state.ts";

/** How a template is read before it is written. */

test.each([429, 503])(
  "a draft that could not be read (%i) is not blamed on the key",
  async (status) => {
    const failure = { code: "overloaded", status, message: "Later", effect: "none" } as const;
    const ask = (endpoint: Endpoint) =>
      endpoint === contract.pageTemplate.save
        ? Promise.reject(new ToolFailure({ ...failure, retry: "later", next: "Wait." }))
        : Promise.resolve({ versions: [] });
    // Nothing else of a call is used to read the template.
    const asking = { ask, askFree: ask, keyContext: { mayAsk: () => true } } as unknown as Asking;
    await expect(readState(asking)).rejects.toMatchObject({ failure: { status } });
  },
);
