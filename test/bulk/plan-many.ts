import { parseArgs } from "node:util";
import { createBulk } from "../../src/bulk/bulk.ts";
import type { PlanWanted } from "../../src/bulk/planner.ts";
import { prepareState } from "../../src/commands/assistant.ts";
import { openDeployment } from "../../src/commands/deployment.ts";
import { clock, random } from "../../src/commands/embedded.ts";
import { createLog, createReport } from "../../src/commands/log.ts";
import { openClient, sleep } from "../../src/commands/open-client.ts";
import { print } from "../../src/commands/output.ts";
import { readConfig } from "../../src/config.ts";

/** Plans very many links in a process of its own, and prints how many: its memory is the test. */

const { values } = parseArgs({
  options: { data: { type: "string" }, rows: { type: "string" }, source: { type: "string" } },
});
const { data = "", rows = "0", source } = values;
const config = readConfig(process.env, { data, log: "error" });
const report = createReport(createLog(config));
const deployment = await openDeployment({ config, linkOrigin: "http://localhost", report });
const state = prepareState(config);
const bulk = createBulk({ openState: state.open, clock, random, sleep, report });
const life = new AbortController();
const key = config.secrets.api_key;
const parts = { key, life: life.signal, openState: state.open, report };
const { call } = openClient(deployment, parts);
const owner = { key_print: "key", origin: deployment.origin, call };
const { plan } = await bulk.plan(describeWanted(), owner);
print(JSON.stringify({ counts: plan.counts, problems: plan.problems.length }));
await bulk.close();
await state.close();
await deployment.close();

function describeWanted(): PlanWanted {
  if (source === "csv") return { operation: "upsert", source: { csv: writeCsv(Number(rows)) } };
  const filters = [{ field: "clicks", condition: "gteq", value: 0 }] as const;
  return { operation: "update", filters, changes: { url: "https://x.example/new" } };
}

/** As a file is read: in chunks that begin and end anywhere. */
async function* writeCsv(count: number): AsyncGenerator<string> {
  yield "path,url,name,social_title,social_description\r\n";
  const description = "Many words about what is behind it. ".repeat(6);
  for (let row = 0; row < count; row += 1) {
    const address = `https://www.example.com/landing/page-${row}?from=here`;
    yield `campaign/spring-${row},${address},Spring ${row},"Title, ${row}",${description}`;
    yield "\r\n";
  }
}
