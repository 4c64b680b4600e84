import type { World } from "./world.ts";
import type { Deployment, Stage } from "./stage.ts";

/** What a stage's key may do, as a client reads it, and deployments that are like no other. */

export async function explainAccess(stage: Stage) {
  const { structured } = await stage.callTool("explain_access");
  const { kind, tools } = structured.access;
  const list = (wanted: string): readonly string[] =>
    tools.flatMap(({ tool, state }: { tool: string; state: string }) =>
      state === wanted ? [tool] : [],
    );
  return {
    kind,
    tools,
    granted: list("granted"),
    denied: list("denied"),
    unknown: list("unknown"),
  };
}

/** The world, but for what is said to one kind of request. */
export function unlike(world: World, pattern: RegExp, answer: Deployment): Deployment {
  return (request) => {
    const { pathname } = new URL(request.url);
    const isMeant = pattern.test(`${request.method} ${pathname}`);
    return isMeant ? answer(request) : world.fetch(request);
  };
}
