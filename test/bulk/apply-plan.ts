import { parseArgs } from "node:util";
import { print } from "../../src/commands/terminal/output.ts";
import { openDesk } from "./unpaced-bulk.ts";

/** Applies a plan in a separate process, which a test kills, and reports when it starts. */

const text = { type: "string" } as const;
const { values } = parseArgs({
  options: { data: text, base_url: text, plan: text, ahead: text },
});
const { data = "", base_url, plan: id = "", ahead } = values;
const key = process.env["WAYPOST_API_KEY"];
const desk = await openDesk({ data, base_url, key, ahead_ms: Number(ahead) });
const plan = await desk.bulk.findPlan(id, desk.owner);
if (plan === undefined) throw new Error("the plan does not exist");
print("begun");
await desk.run(plan);
await desk[Symbol.asyncDispose]();
