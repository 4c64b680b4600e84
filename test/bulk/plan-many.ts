import { parseArgs } from "node:util";
import type { PlanInput } from "../../src/bulk/plan/make-plan.ts";
import { print } from "../../src/commands/terminal/output.ts";
import { listRules } from "../../src/mcp/tools/bulk/rule-arguments.ts";
import { openDesk } from "./unpaced-bulk.ts";

/** Plans very many links in a separate process, whose memory a test limits, and prints counts. */

const { values } = parseArgs({
  options: { data: { type: "string" }, rows: { type: "string" }, source: { type: "string" } },
});
const { data = "", rows = "0", source } = values;
const desk = await openDesk({ data, key: process.env["WAYPOST_API_KEY"] });
const plan = await desk.bulk.plan(describeWanted(), desk.owner);
print(JSON.stringify({ counts: plan.counts, problems: plan.problems.length }));
await desk[Symbol.asyncDispose]();

function describeWanted(): PlanInput {
  const rules = listRules({
    replace: [{ field: "url", from: "https://", to: "http://", match: "text" }],
    add_query: { field: "url", values: { utm_source: "mail" } },
  });
  if (source === "csv") return { operation: "upsert", source: { csv: writeCsv(Number(rows)) } };
  const filters = [{ field: "clicks", condition: "gteq", value: 0 }] as const;
  return { operation: "update", filters, changes: {}, rules };
}

async function* writeCsv(count: number): AsyncGenerator<string> {
  yield "path,url,name,social_title,social_description\r\n";
  const description = "Many words about the destination. ".repeat(6);
  for (let row = 0; row < count; row += 1) {
    const address = `https://www.example.com/landing/page-${row}?from=here`;
    yield `campaign/spring-${row},${address},Spring ${row},"Title, ${row}",${description}`;
    yield "\r\n";
  }
}
