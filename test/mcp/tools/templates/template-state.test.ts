import { expect, test } from "vitest";
import type { Endpoint } from "../../../../src/contract/endpoint.ts";
import { contract } from "../../../../src/contract/index.ts";
import { ToolFailure } from "../../../../src/mcp/results/tool-failure.ts";
import {
  readState,
  type TemplateCall,
} from "../../../../src/mcp/tools/templates/template-state.ts";

/** Tests how a template is read before it is changed. */

test.each([429, 503])(
  "a draft that could not be read because of status %i is not a missing permission",
  async (status) => {
    const failure = { code: "overloaded", status, message: "Later", effect: "none" } as const;
    const ask = (endpoint: Endpoint) =>
      endpoint === contract.pageTemplate.save
        ? Promise.reject(new ToolFailure({ ...failure, retry: "later", next: "Wait." }))
        : Promise.resolve({ versions: [] });
    // Reading the template uses no other members.
    const asking = {
      ask,
      askFree: ask,
      keyContext: { mayAsk: () => true },
    } as unknown as TemplateCall;
    await expect(readState(asking)).rejects.toMatchObject({ failure: { status } });
  },
);
