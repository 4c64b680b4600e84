import { visitedLinks } from "../ground/ground.ts";
import { readResult, startStdio } from "../servers/stdio-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Every link of a project, named by a filter, compared and kept as a plan. */

export async function* measurePlanning({ build, findGround }: Subject): Rounds {
  const { file, visited } = await findGround();
  const [WAYPOST_API_KEY = ""] = visited.keys;
  const words = [build.command, "stdio", "--data", file.folder, "--log", "error"];
  await using server = await startStdio(words, { env: { WAYPOST_API_KEY } });
  const started = performance.now();
  const result = readResult(
    await server.ask("tools/call", {
      name: "plan_links",
      arguments: {
        operation: "update",
        filters: [{ field: "clicks", condition: "gteq", value: 0 }],
        changes: { social_title: "Planned" },
      },
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  const { plan } = result["structuredContent"] as { plan: { counts: { update: number } } };
  const missing = visitedLinks - plan.counts.update;
  yield [
    { what: `over ${visitedLinks} links`, unit: "s", value: seconds, target: { most: 60 } },
    { what: "links missing", unit: "links", value: missing, target: { most: 0 } },
    {
      what: "memory at its highest",
      unit: "MB",
      value: server.readPeak_mb(),
      target: { most: 300 },
    },
  ];
}
