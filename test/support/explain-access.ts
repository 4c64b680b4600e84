import type { World } from "./world.ts";
import type { Deployment, Stage } from "./stage.ts";

/** What a stage's key may do, as a client reads it, and deployments that are like no other. */

export async function explainAccess(stage: Stage) {
  const { structured } = await stage.callTool("explain_access");
  return readAccess(structured.access);
}

/** Tool by tool, as the answer's lists tell it. */
export function readAccess({ kind, asks = [], ...told }: Told) {
  const { granted = [], denied = [], unknown = [], refused = [] } = told;
  const whys = new Map(
    refused.flatMap(({ tools, ...why }) => tools.map((tool) => [tool, why] as const)),
  );
  const described = [
    ...granted.map((tool) => ({ tool, state: "granted" })),
    ...denied.flatMap(({ tools, ...why }) => {
      return tools.map((tool) => ({ tool, state: "denied", ...why }));
    }),
    ...unknown.map((tool) => ({ tool, state: "unknown", ...whys.get(tool) })),
  ];
  const names = denied.flatMap(({ tools }) => tools);
  return { kind, tools: described, granted, denied: names, unknown, asks };
}

type Told = {
  readonly kind: string;
  readonly granted?: readonly string[];
  readonly denied?: readonly Group[];
  readonly unknown?: readonly string[];
  readonly refused?: readonly Group[];
  readonly asks?: readonly string[];
};

type Group = {
  readonly tools: readonly string[];
  readonly reason: string;
  readonly since?: string;
};

/** The world, but for what is said to one kind of request. */
export function unlike(world: World, pattern: RegExp, answer: Deployment): Deployment {
  return (request) => {
    const { pathname } = new URL(request.url);
    const isMeant = pattern.test(`${request.method} ${pathname}`);
    return isMeant ? answer(request) : world.fetch(request);
  };
}
