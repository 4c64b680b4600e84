import { join } from "node:path";
import { parseArgs } from "node:util";
import { createBulk } from "../../src/bulk/bulk.ts";
import { readConfig, settingFlags } from "../../src/config.ts";
import type { Clock } from "../../src/contract/world.ts";
import { chooseTools, learnKey } from "../../src/commands/assistant.ts";
import { prepareDataFolder, stateFile } from "../../src/commands/data-folder.ts";
import { openDeployment } from "../../src/commands/deployment.ts";
import { random } from "../../src/commands/embedded.ts";
import { createLog, createReport } from "../../src/commands/log.ts";
import { openClient, sleep } from "../../src/commands/open-client.ts";
import { claimStdout } from "../../src/commands/output.ts";
import { describeLinkOrigin } from "../../src/commands/places.ts";
import { readApiKey } from "../../src/commands/secrets.ts";
import { createGate } from "../../src/mcp/approval/gate.ts";
import { createServer } from "../../src/mcp/server.ts";
import { serveOverStdio } from "../../src/mcp/stdio.ts";
import { createSurface } from "../../src/mcp/surface.ts";
import { openState } from "../../src/state/state.ts";

/**
 * `waypost stdio` in all but two things, for a test that kills it often: a job's rows follow one
 * another at once, and `--ahead` sets its clock forward, so that the lease of the process before
 * it is over and need not be waited for.
 */

const { ahead, ...flags } = parseArgs({
  options: { ...settingFlags, ahead: { type: "string" } },
}).values;
const config = readConfig(process.env, readTexts(flags));
const output = claimStdout();
const clock: Clock = {
  now: () => Date.now() + Number(ahead ?? 0),
  monotonic: () => performance.now(),
};
const toolbox = chooseTools(config);
const report = createReport(createLog(config));
const linkOrigin = describeLinkOrigin(config, config.port);
const deployment = await openDeployment({ config, linkOrigin, report });
prepareDataFolder(config.data);
const state = await openState(join(config.data, stateFile), { clock, random });
const open = () => Promise.resolve(state);
const bulk = createBulk({ openState: open, clock, random, sleep, spacing_ms: 0, report });
const gate = createGate({
  mode: config.mode,
  hasPin: false,
  openState: open,
  openPage: () => Promise.reject<string>(new Error("there are no pages here")),
  clock,
});
const key = readApiKey(config);
const life = new AbortController();
const surface = createSurface({
  client: openClient(deployment, { key, life: life.signal, openState: open, report }),
  bulk,
  origin: deployment.origin,
  key,
  scopes: config.scopes,
  known: await learnKey(config, deployment, key),
  isOffered: ({ tool }) => toolbox.find(tool) !== undefined,
  lookUp: () => Promise.resolve(undefined),
  onChange: () => undefined,
});
await serveOverStdio({
  input: process.stdin,
  output,
  stopped: new Promise(() => undefined),
  createServer: () => createServer({ toolbox, surface, gate, version: "0", report }),
  onRefused: report,
  onError: report,
});
await bulk.close();
await state.close();
await deployment.close();

/** Every flag of ours takes a text. */
function readTexts(values: object): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}
